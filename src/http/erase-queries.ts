import type { Tx } from '../platform/postgres/port.ts';

/** Removes the tenant's stored answers that name one of these ids: they may show the record of a person. */
export async function removeAnswersNaming(
  tx: Tx,
  tenant_id: string,
  ids: readonly string[],
): Promise<number> {
  const { count } = await tx`
    delete from idempotency_keys k
    where k.tenant_id = ${tenant_id}
      and exists (select from jsonb_array_elements_text(${JSON.stringify(ids)}::text::jsonb) as i (id)
        where position(i.id in k.response) > 0)`;
  return count;
}
