import { textArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

/** Which of the currencies the tenant has; undefined when the tenant has no such project. */
export async function selectCurrencies(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  codes: readonly string[],
): Promise<Set<string> | undefined> {
  const [row] = await tx<{ codes: string[] | null }[]>`
    select (select array_agg(c.code) from currencies c
      where c.tenant_id = p.tenant_id and c.code = any(${textArray(codes)}::text::text[])) as codes
    from projects p where p.tenant_id = ${tenant_id} and p.project_id = ${project_id}`;
  return row === undefined ? undefined : new Set(row.codes);
}
