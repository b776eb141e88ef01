import type { Tx } from '../../../platform/postgres/port.ts';
import { rowsOf } from '../../../platform/postgres/rows.ts';
import { PROJECT_KEY, type ProjectRef } from '../../../tenants/project-ref.ts';

/** An amount as it was sent, whose worth in another currency is asked for. */
export interface SentAmount extends ProjectRef {
  currency: string;
  amount: bigint;
  /** The bonus template in whose currency; null: in the base currency. */
  template_id: string | null;
  /** The money event of which it is, as its ledger row has it; null: of none. */
  event: string | null;
  reference: string | null;
  /** When it was sent, if no ledger row says when the event happened. In milliseconds since the epoch. */
  sent_ms: number;
}

/** How an amount is to be converted. */
export interface AmountTarget {
  place: number;
  target: string;
  /** Decimal places; null: the tenant's catalogue does not have the currency. */
  from_scale: number | null;
  to_scale: number | null;
  /** The time whose rate counts, in milliseconds since the epoch. */
  at_ms: bigint;
}

/** Into which currency each amount is to be converted, and at which time's rate; `place` counts them from 0. */
export async function selectTargets(tx: Tx, sent: readonly SentAmount[]): Promise<AmountTarget[]> {
  return tx<AmountTarget[]>`
    select (a.number - 1)::integer as place, w.target, f.scale as from_scale, o.scale as to_scale,
      coalesce(epoch_ms(l.occurred_at), a.sent_ms) as at_ms
    from ${rowsOf(tx, 'a', sent, {
      ...PROJECT_KEY,
      currency: 'text',
      template_id: 'uuid',
      event: 'text',
      reference: 'text',
      sent_ms: 'bigint',
      number: 'ordinality',
    })}
    join tenants t on t.tenant_id = a.tenant_id
    left join lateral (
      select b.config ->> 'currency' as currency from bonus_templates b
      where b.template_id = a.template_id and b.tenant_id = a.tenant_id and b.project_id = a.project_id offset 0) b on true
    cross join lateral (select coalesce(b.currency, t.base_currency) as target) w
    left join currencies f on f.tenant_id = a.tenant_id and f.code = a.currency
    left join currencies o on o.tenant_id = a.tenant_id and o.code = w.target
    left join lateral (
      select l.occurred_at from projects p join ledger l on l.project_no = p.project_no
      where p.tenant_id = a.tenant_id and p.project_id = a.project_id and l.reference = a.reference
        and l.event::text = a.event and l.currency = a.currency
      order by l.ordinal desc limit 1) l on true`;
}
