import type { ProjectRef } from '../../tenants/project-ref.ts';
import { occurrenceOf, type LedgerRow, type MoneyEvent } from './ledger.ts';
import type { PendingQuery } from 'postgres';
import type { Tx } from '../../platform/postgres/port.ts';

/**
 * The columns of a {@link LedgerRow}, for a query in which `l` is the ledger and JOIN_SURVIVOR is joined to it.
 * Read with `.values()` and {@link toLedgerRow}: there are thousands of rows, and objects by column name cost twice as
 * much. The time of a rate is read as a number, because the driver misreads times before the year 50, and scales as texts,
 * because it returns no other arrays as such.
 */
export const LEDGER_COLUMNS = `l.reference, l.ordinal, l.event,
  coalesce(m.into_player_id, l.player_id), l.occurred_at, l.currency, l.amount, l.payout, l.base_amount, l.base_payout,
  l.rate::text, epoch_ms(l.rate_ts), l.rate_is_inverse, l.ingestion_id, l.event_index, l.log_partition, l.log_offset,
  l.movement_id, l.reason, l.bonus_stake, l.bonus_payout, l.base_bonus_stake, l.base_bonus_payout, l.detail_hash,
  case when l.rate is not null and l.event in ('deposit_confirmed', 'withdrawal_confirmed')
    then (select array[a.scale, b.scale]::text[] from currencies a join tenants o using (tenant_id)
      join currencies b on b.tenant_id = o.tenant_id and b.code = o.base_currency
      where a.tenant_id = p.tenant_id and a.code = l.currency) end,
  case when l.item_no is not null
    then (select array[i.item, i.item_group] from bet_items i
      where i.project_no = l.project_no and i.item_no = l.item_no) end as item`;

/** The number of values of {@link LEDGER_COLUMNS}. */
export const LEDGER_WIDTH = 26;

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
  string | null,
  string | null,
  string | null,
  string | null,
  bigint | null,
  bigint | null,
  number | null,
  [from_scale: string, to_scale: string] | null,
  [item: string, item_group: string] | null,
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
    occurrence: occurrenceOf(v[2], v[17], occurred_at_ms),
    player_id: v[3],
    occurred_at_ms,
    currency: v[5],
    movement_id: v[17],
    reason: v[18],
    amount: bigintOf(v[6]),
    payout: bigintOf(v[7]),
    bonus_stake: bigintOf(v[19]),
    bonus_payout: bigintOf(v[20]),
    base_amount: v[8],
    base_payout: v[9],
    base_bonus_stake: v[21],
    base_bonus_payout: v[22],
    detail_hash: v[23],
    item: v[25] === null ? null : { item: v[25][0], item_group: v[25][1] },
    scales: v[24] === null ? null : { from_scale: Number(v[24][0]), to_scale: Number(v[24][1]) },
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

function bigintOf(digits: string | null): bigint | null {
  return digits === null ? null : BigInt(digits);
}

/** What the ledger has of one money event. Amounts are whole numbers of the smallest unit, as digits. */
export interface TracedRow {
  player_id: string;
  currency: string | null;
  amount: string | null;
  payout: string | null;
  base_amount: string | null;
  base_payout: string | null;
  rate: string | null;
  rate_ts_ms: bigint | null;
  rate_is_inverse: boolean | null;
  ingestion_id: string;
  event_index: number;
}

/** The reference of a money event, and what tells it apart from others of this reference. */
interface ClaimRef extends ProjectRef {
  reference: string;
  event: MoneyEvent;
  occurrence: number;
  movement_id: string | null;
  currency: string | null;
}

const COLUMNS = `coalesce((select m.into_player_id from player_merges m
    where m.tenant_id = p.tenant_id and m.project_id = p.project_id and m.player_id = l.player_id), l.player_id) as player_id,
  l.currency, l.amount::text, l.payout::text, l.base_amount::text, l.base_payout::text, l.rate::text,
  epoch_ms(l.rate_ts) as rate_ts_ms, l.rate_is_inverse, l.ingestion_id, l.event_index`;

/** The row that this event has made, if it has. For the service role. */
export function findRowOfEvent(
  tx: Tx,
  { tenant_id, project_id, reference }: Pick<ClaimRef, keyof ProjectRef | 'reference'>,
  { ingestion_id, event_index }: { ingestion_id: string; event_index: number },
): PendingQuery<TracedRow[]> {
  return tx<TracedRow[]>`
    select ${tx.unsafe(COLUMNS)} from projects p join ledger l using (project_no)
    where p.tenant_id = ${tenant_id} and p.project_id = ${project_id} and l.reference = ${reference}
      and l.ingestion_id = ${ingestion_id} and l.event_index = ${event_index}
    limit 1`;
}

/**
 * The row that holds the claim, if any. Any event may have made the claim. `occurrence` is 0 for events that happen once; the
 * currency is a part of the key of a reversal.
 */
export function findClaimHolder(
  tx: Tx,
  { tenant_id, project_id, reference, event, occurrence, movement_id, currency }: ClaimRef,
): PendingQuery<TracedRow[]> {
  return tx<TracedRow[]>`
    select ${tx.unsafe(COLUMNS)} from projects p join ledger l using (project_no)
    where p.tenant_id = ${tenant_id} and p.project_id = ${project_id} and l.reference = ${reference}
      and l.event = ${event} and (${occurrence}::bigint = 0 or epoch_ms(l.occurred_at) = ${occurrence}::bigint)
      and l.movement_id is not distinct from ${movement_id}
      and (l.event not in ('deposit_reversed', 'withdrawal_reversed') or l.currency = ${currency})
    order by l.ordinal
    limit 1`;
}
