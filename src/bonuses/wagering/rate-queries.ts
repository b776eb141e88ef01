import type { ExactRate, RateStep } from '../../ledger/money/conversion.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

/** A conversion at a time: between currencies whose smallest units have so many decimal places. */
export interface RateRequest {
  from: string;
  to: string;
  at_ms: number;
}

interface RateValues {
  i: number;
  from_scale: number;
  to_scale: number;
  direct: RateStep | null;
  into_base: RateStep | null;
  out_of_base: RateStep | null;
}

/**
 * The conversions, in the order of the requests: by the rate of the pair at the time, else across the base currency of
 * the tenant; undefined where no rate is known.
 */
export async function selectRates(
  tx: Tx,
  { tenant_id }: Pick<ProjectRef, 'tenant_id'>,
  requests: readonly RateRequest[],
): Promise<(ExactRate | undefined)[]> {
  if (requests.length === 0) return [];
  const rateAt = (from: string, to: string) => tx`(
    select json_build_object('rate', x.rate::text, 'is_inverse', x.rate_is_inverse)
    from rate_at(${tenant_id}::uuid, ${tx(from)}, ${tx(to)}, r.moment) x)`;
  const rows = await tx<RateValues[]>`
    select r.i::integer, f.scale as from_scale, u.scale as to_scale, ${rateAt('r.f', 'r.u')} as direct,
      ${rateAt('r.f', 'r.base')} as into_base, ${rateAt('r.base', 'r.u')} as out_of_base
    from (
      select i, f, u, 'epoch'::timestamptz + at_ms * interval '1 millisecond' as moment,
        (select t.base_currency from tenants t where t.tenant_id = ${tenant_id}) as base
      from ${rowsOf(tx, 'r', requests, {
        f: ['text', (r) => r.from],
        u: ['text', (r) => r.to],
        at_ms: 'bigint',
        i: 'ordinality',
      })}) r
    join currencies f on f.tenant_id = ${tenant_id} and f.code = r.f
    join currencies u on u.tenant_id = ${tenant_id} and u.code = r.u`;
  const found = new Map(rows.map((row) => [row.i - 1, row]));
  return requests.map((_request, i) => {
    const row = found.get(i);
    if (row === undefined) return undefined;
    const { from_scale, to_scale, direct, into_base, out_of_base } = row;
    const steps = direct !== null ? [direct] : across(into_base, out_of_base);
    return steps === undefined ? undefined : { from_scale, to_scale, steps };
  });
}

function across(into: RateStep | null, out: RateStep | null): RateStep[] | undefined {
  return into === null || out === null ? undefined : [into, out];
}
