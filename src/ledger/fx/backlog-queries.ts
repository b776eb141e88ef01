import type { Backlog } from '../../platform/backlog-gauge.ts';
import type { Tx } from '../../platform/postgres/port.ts';

const NONE: Backlog = { items: 0, oldest_ms: null };

/** Changed rates that fx-restater has not applied. */
export async function readRateChangesToApply(tx: Tx, most: number): Promise<Backlog> {
  const [row] = await tx<Backlog[]>`
    select count(*)::integer as items, epoch_ms(min(queued_at))::float8 as oldest_ms
    from (select queued_at from fx_rate_changes order by change_id limit ${most}) as waiting`;
  return row ?? NONE;
}

/** Ledger rows with an amount that has no rate. Their age is that of the event's ingestion, which is in its id. */
export async function readPendingConversions(tx: Tx, most: number): Promise<Backlog> {
  const [row] = await tx<{ items: number; oldest: string | null }[]>`
    select count(*)::integer as items, (array_agg(ingestion_id))[1] as oldest
    from (select ingestion_id from ledger
      where (amount is not null and base_amount is null) or (payout is not null and base_payout is null)
      order by ingestion_id limit ${most}) as waiting`;
  if (row === undefined || row.oldest === null) return NONE;
  return { items: row.items, oldest_ms: Number.parseInt(row.oldest.replace('-', '').slice(0, 12), 16) };
}
