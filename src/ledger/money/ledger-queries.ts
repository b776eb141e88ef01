import type { ProjectRef } from '../../tenants/project-ref.ts';
import { occurrenceOf, type LedgerRow, type MoneyEvent } from './ledger.ts';

/**
 * The columns of a {@link LedgerRow}, for a query in which `l` is the ledger and {@link JOIN_SURVIVOR} is joined to it.
 * Read with `.values()` and {@link toLedgerRow}: there are thousands of rows, and objects by column name cost twice as
 * much. The time of a rate is read as a number, because the driver misreads times before the year 50.
 */
export const LEDGER_COLUMNS = `l.reference, l.ordinal, l.event,
  coalesce(m.into_player_id, l.player_id), l.occurred_at, l.currency, l.amount, l.payout, l.base_amount, l.base_payout,
  l.rate::text, epoch_ms(l.rate_ts), l.rate_is_inverse, l.ingestion_id, l.event_index, l.log_partition, l.log_offset`;

/**
 * Joins to the ledger `l`, and to its project `p`, as `m` the survivor of its player, if it was merged: row by row through
 * the index.
 */
export const JOIN_SURVIVOR = `left join lateral (
  select m.into_player_id from player_merges m where m.tenant_id = p.tenant_id and m.project_id = p.project_id
    and m.player_id = l.player_id offset 0) m on true`;

/** A row of {@link LEDGER_COLUMNS} as the driver returns it. */
export type LedgerValues = [
  string,
  number,
  MoneyEvent,
  string,
  Date,
  string | null,
  string | null,
  string | null,
  bigint | null,
  bigint | null,
  string | null,
  bigint | null,
  boolean | null,
  string,
  number,
  number,
  bigint,
];

/** The row of a project, from the values of {@link LEDGER_COLUMNS}. */
export function toLedgerRow({ tenant_id, project_id }: ProjectRef, v: LedgerValues): LedgerRow {
  const [rate, rate_ts_ms, is_inverse] = [v[10], v[11], v[12]];
  const occurred_at_ms = v[4].getTime();
  return {
    tenant_id,
    project_id,
    reference: v[0],
    ordinal: v[1],
    event: v[2],
    occurrence: occurrenceOf(v[2], occurred_at_ms),
    player_id: v[3],
    occurred_at_ms,
    currency: v[5],
    amount: v[6] === null ? null : BigInt(v[6]),
    payout: v[7] === null ? null : BigInt(v[7]),
    base_amount: v[8],
    base_payout: v[9],
    rate:
      rate === null || rate_ts_ms === null || is_inverse === null
        ? null
        : { rate, ts_ms: Number(rate_ts_ms), is_inverse },
    ingestion_id: v[13],
    event_index: v[14],
    log_partition: v[15],
    log_offset: v[16],
  };
}
