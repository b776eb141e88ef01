import type { LedgerRow, MoneyEvent } from './ledger.ts';

/**
 * The columns of a {@link LedgerRow}, for a query in which `l` is the ledger and {@link JOIN_SURVIVOR} is joined to it.
 * Read with `.values()` and {@link toLedgerRow}: there are thousands of rows, and objects by column name cost twice as
 * much. The time of a rate is read as a number, because the driver misreads times before the year 50.
 */
export const LEDGER_COLUMNS = `l.tenant_id, l.project_id, l.reference, l.event, l.occurrence,
  coalesce(m.into_player_id, l.player_id), l.occurred_at, l.currency, l.amount, l.payout, l.base_amount, l.base_payout,
  l.rate::text, epoch_ms(l.rate_ts), l.rate_is_inverse, l.ingestion_id, l.event_index, l.log_partition, l.log_offset`;

/** Joins to the ledger `l` as `m` the survivor of its player, if it was merged: row by row through the index. */
export const JOIN_SURVIVOR = `left join lateral (
  select m.into_player_id from player_merges m where m.tenant_id = l.tenant_id and m.project_id = l.project_id
    and m.player_id = l.player_id offset 0) m on true`;

/** A row of {@link LEDGER_COLUMNS} as the driver returns it. */
export type LedgerValues = [
  string,
  string,
  string,
  MoneyEvent,
  bigint,
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

export function toLedgerRow(v: LedgerValues): LedgerRow {
  const [rate, rate_ts_ms, is_inverse] = [v[12], v[13], v[14]];
  return {
    tenant_id: v[0],
    project_id: v[1],
    reference: v[2],
    event: v[3],
    occurrence: Number(v[4]),
    player_id: v[5],
    occurred_at_ms: v[6].getTime(),
    currency: v[7],
    amount: v[8] === null ? null : BigInt(v[8]),
    payout: v[9] === null ? null : BigInt(v[9]),
    base_amount: v[10],
    base_payout: v[11],
    rate:
      rate === null || rate_ts_ms === null || is_inverse === null
        ? null
        : { rate, ts_ms: Number(rate_ts_ms), is_inverse },
    ingestion_id: v[15],
    event_index: v[16],
    log_partition: v[17],
    log_offset: v[18],
  };
}
