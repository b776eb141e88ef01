import { JOIN_SURVIVOR } from '../../analytics/correction-queries.ts';
import type { PendingQuery, Row } from 'postgres';
import { definitionOf } from '../../ingest/events/catalogue.ts';
import type { ClickHouse } from '../../platform/clickhouse/port.ts';
import { textArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { LEDGER_COLUMNS, toLedgerRow, type LedgerValues } from '../../ledger/money/ledger-queries.ts';
import { BET_EVENTS, betKindOf, MONEY_EVENTS, type LedgerRow } from '../../ledger/money/ledger.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { EventOwner, TimelinePosition } from './queries.ts';

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

/** Earlier amounts in the JSON of a row: times in milliseconds since the epoch. */
export interface ShownAdjustment {
  adjusted_ms: number;
  base_amount: string | null;
  base_payout: string | null;
  base_bonus_stake: string | null;
  base_bonus_payout: string | null;
  rate: string | null;
  rate_ts_ms: number | null;
  rate_is_inverse: boolean | null;
}

/** Earlier amounts of a row that are shown, the newest ones. */
const MAX_ADJUSTMENTS = 20;

/**
 * All rows of the ledger of these events' references, since they count together, with the {@link ShownAdjustment}s as JSON of those
 * that the events have made; null of the others. For {@link toShownRow}.
 */
export function selectLedgerRows(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  events: readonly MoneyEventRow[],
): PendingQuery<Row[]> {
  const references = new Set(events.map(({ reference }) => reference));
  return tx`
    select r.adjustments, ${tx.unsafe(LEDGER_COLUMNS)}
    from (
      select project_no, tenant_id, project_id from projects
      where tenant_id = ${tenant_id} and project_id = ${project_id}) p
    cross join unnest(${textArray([...references])}::text::text[]) as f (reference)
    cross join lateral (
      select * from ledger l where l.project_no = p.project_no and l.reference = f.reference offset 0) l
    left join lateral (
      select (
        select coalesce(json_agg(json_build_object(
          'adjusted_ms', epoch_ms(a.adjusted_at), 'base_amount', a.base_amount::text, 'base_payout', a.base_payout::text,
          'base_bonus_stake', a.base_bonus_stake::text, 'base_bonus_payout', a.base_bonus_payout::text,
          'rate', a.rate::text, 'rate_ts_ms', epoch_ms(a.rate_ts), 'rate_is_inverse', a.rate_is_inverse)
          order by a.adjustment_id desc), '[]')::text
        from (
          select * from ledger_adjustments o
          where o.tenant_id = ${tenant_id} and o.project_id = ${project_id} and o.reference = l.reference
            and o.ordinal = l.ordinal
          order by o.adjustment_id desc limit ${MAX_ADJUSTMENTS}) a) as adjustments
      from ${rowsOf(tx, 'e', events, { reference: 'text', ingestion_id: 'uuid', event_index: 'integer' })}
      where e.reference = l.reference and e.ingestion_id = l.ingestion_id
        and e.event_index = l.event_index::integer limit 1) r on true
    ${tx.unsafe(JOIN_SURVIVOR)}`;
}

/** A row of {@link selectLedgerRows}: its columns have different names and stand in their order. */
export function toShownRow(
  project: ProjectRef,
  columns: Row,
): { row: LedgerRow; adjustments: string | null } {
  const [adjustments, ...values] = Object.values(columns) as [string | null, ...LedgerValues];
  return { row: toLedgerRow(project, values), adjustments };
}
