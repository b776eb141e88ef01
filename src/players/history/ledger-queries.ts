import type { PendingQuery } from 'postgres';
import { definitionOf } from '../../ingest/events/catalogue.ts';
import type { ClickHouse } from '../../platform/clickhouse/port.ts';
import { textArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { betKindOf, MONEY_EVENTS, type MoneyEvent } from '../../ledger/money/ledger.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { EventOwner, TimelinePosition } from './queries.ts';

const BET_EVENTS = MONEY_EVENTS.filter((event) => betKindOf(event) !== undefined);
/** Transactions that failed may have no transaction_id, and then have no row in the ledger. */
const MAY_LACK_REFERENCE = MONEY_EVENTS.filter(
  (event) =>
    betKindOf(event) === undefined && definitionOf(event)?.required.includes('transaction_id') !== true,
);

/** A money event of a player: where its row of the ledger is. */
export interface MoneyEventRow {
  occurred_ms: string;
  ingestion_id: string;
  event_index: number;
  /** transaction_id or bet_id. */
  reference: string;
}

/**
 * A page of a player's events that have a row in the ledger, the newest first. ClickHouse has the events of each player
 * together, in the order of time, so that the ledger needs no index by player, which every bet would pay for: by 54 bytes
 * per row and three tenths of its insertion. The properties of a page alone are parsed.
 */
export async function findMoneyEvents(
  clickhouse: ClickHouse,
  { tenant_id, project_id, event_player_ids }: EventOwner,
  after: TimelinePosition | undefined,
  limit: number,
): Promise<MoneyEventRow[]> {
  const [occurred_ms, ingestion_id, event_index] = after ?? [];
  const beyond =
    after === undefined
      ? ''
      : `and (occurred_at, ingestion_id, event_index) <
          (fromUnixTimestamp64Milli({occurred_ms:Int64}, 'UTC'), {ingestion_id:UUID}, {event_index:UInt16})`;
  return clickhouse.query<MoneyEventRow>(
    `select toString(toUnixTimestamp64Milli(occurred_at)) as occurred_ms, ingestion_id, event_index,
      JSONExtractString(properties, if(event in ({bet_events:Array(String)}), 'bet_id', 'transaction_id')) as reference
    from (
      select event, occurred_at, ingestion_id, event_index, properties
      from events_by_player
      where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}
        and player_id in ({event_player_ids:Array(UUID)}) and event in ({events:Array(String)})
        and (event not in ({unsure:Array(String)}) or JSONExtractString(properties, 'transaction_id') != '')
        ${beyond}
      order by occurred_at desc, ingestion_id desc, event_index desc, revision desc
      limit 1 by ingestion_id, event_index
      limit {limit:UInt32}
    )
    order by occurred_at desc, ingestion_id desc, event_index desc`,
    {
      tenant_id,
      project_id,
      event_player_ids,
      events: MONEY_EVENTS,
      bet_events: BET_EVENTS,
      unsure: MAY_LACK_REFERENCE,
      limit,
      occurred_ms,
      ingestion_id,
      event_index,
    },
  );
}

/** A row of the ledger as text: amounts are digits, rates decimal digits, adjustments JSON. */
export interface ShownLedgerRow {
  ingestion_id: string;
  event_index: number;
  event: MoneyEvent;
  reference: string;
  occurred_at: Date;
  currency: string | null;
  amount: string | null;
  payout: string | null;
  base_amount: string | null;
  base_payout: string | null;
  rate: string | null;
  /** Milliseconds since the epoch, because the driver misreads times before the year 50. */
  rate_ts_ms: bigint | null;
  rate_is_inverse: boolean | null;
  adjustments: string;
}

/** Earlier amounts in the JSON of a row: times in milliseconds since the epoch. */
export interface ShownAdjustment {
  adjusted_ms: number;
  base_amount: string | null;
  base_payout: string | null;
  rate: string | null;
  rate_ts_ms: number | null;
  rate_is_inverse: boolean | null;
}

/** Earlier amounts of a row that are shown, the newest ones. */
const MAX_ADJUSTMENTS = 20;

/** The rows of the ledger that these events have made; those of one reference are read once. */
export function selectLedgerRows(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  events: readonly MoneyEventRow[],
): PendingQuery<ShownLedgerRow[]> {
  const references = new Set(events.map(({ reference }) => reference));
  return tx<ShownLedgerRow[]>`
    select l.ingestion_id, l.event_index::integer, l.event::text as event, l.reference, l.occurred_at, l.currency,
      l.amount::text, l.payout::text, l.base_amount::text, l.base_payout::text, l.rate::text,
      epoch_ms(l.rate_ts) as rate_ts_ms, l.rate_is_inverse, (
        select coalesce(json_agg(json_build_object(
          'adjusted_ms', epoch_ms(a.adjusted_at), 'base_amount', a.base_amount::text, 'base_payout', a.base_payout::text,
          'rate', a.rate::text, 'rate_ts_ms', epoch_ms(a.rate_ts), 'rate_is_inverse', a.rate_is_inverse)
          order by a.adjustment_id desc), '[]')::text
        from (
          select * from ledger_adjustments o
          where o.tenant_id = ${tenant_id} and o.project_id = ${project_id} and o.reference = l.reference
            and o.ordinal = l.ordinal
          order by o.adjustment_id desc limit ${MAX_ADJUSTMENTS}) a) as adjustments
    from (select project_no from projects where tenant_id = ${tenant_id} and project_id = ${project_id}) p
    cross join unnest(${textArray([...references])}::text::text[]) as f (reference)
    cross join lateral (
      select * from ledger l where l.project_no = p.project_no and l.reference = f.reference offset 0) l
    join ${rowsOf(tx, 'r', events, { reference: 'text', ingestion_id: 'uuid', event_index: 'integer' })}
      on r.reference = l.reference and r.ingestion_id = l.ingestion_id and r.event_index = l.event_index::integer`;
}
