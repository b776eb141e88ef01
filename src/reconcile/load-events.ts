import {
  changeLine,
  headOf,
  type EventChange,
  type EventHead,
  type EventMoney,
} from '../ingest/events/envelope.ts';
import { withoutErased } from '../players/erasure/events-queries.ts';
import { TOPICS } from '../platform/event-log/topics.ts';
import type { LogRecord } from '../platform/event-log/port.ts';
import type { Tx } from '../platform/postgres/port.ts';
import type { Platform } from '../platform/platform.ts';
import { referenceKey } from '../ledger/fold/fold-event.ts';
import { readLedger } from '../ledger/fold/read-queries.ts';
import { countsOf, eventMoneyOf } from '../ledger/money/counting.ts';
import { itemOf, placedItem, takenItem } from '../ledger/money/items.ts';
import { claimOf, moneyKindOf, type Claim, type Item, type LedgerRow } from '../ledger/money/ledger.ts';
import { readSurvivors } from './queries.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';
import { hasExactNumbers } from '../platform/exact-json.ts';

type Engines = Pick<Platform, 'eventLog' | 'postgres' | 'clickhouse'>;

const RECORDS_AT_ONCE = 20_000;

interface Line {
  text: string;
  head: EventHead;
}

/**
 * Reads the log once, up to its present end, and inserts the events of the projects into `table`: each with the player
 * and the base amounts that it has now. What changes later is queued for event-rewriter. `check` is called before each
 * insert.
 */
export async function loadEvents(
  { eventLog, postgres, clickhouse }: Engines,
  projects: readonly ProjectRef[],
  table: string,
  check: () => Promise<void>,
): Promise<void> {
  const wanted = new Set(projects.map(({ project_id }) => project_id));
  for (const [partition, end] of await eventLog.endOffsets(TOPICS.playerEvents)) {
    for await (const { records } of eventLog.read(TOPICS.playerEvents, partition, 0n, end, RECORDS_AT_ONCE)) {
      const lines = records.flatMap((record) => lineOf(record, wanted));
      if (lines.length === 0) continue;
      await check();
      const texts = await presentLines(postgres.service, lines);
      await clickhouse.insertLines(
        table,
        await withoutErased(postgres.service, texts),
        `${table}:${partition}:${records[0]?.offset}`,
      );
    }
  }
}

function lineOf({ value }: LogRecord, projects: ReadonlySet<string>): Line[] {
  const head = headOf(value);
  return head !== undefined && projects.has(head.project_id) ? [{ text: value, head }] : [];
}

async function presentLines(sql: Tx, lines: readonly Line[]): Promise<string[]> {
  const players = new Map(lines.map(({ head }) => [`${head.project_id} ${head.player_id}`, head]));
  const merges = await readSurvivors(sql, [...players.values()]);
  const survivors = new Map(
    merges.map((merge) => [`${merge.project_id} ${merge.player_id}`, merge.into_player_id]),
  );
  const claims = lines.map(claimOfLine);
  const money_of = new Map<string, EventMoney>();
  const placed_of = new Map<string, Item>();
  // Each reference once: its rows count together.
  const references = new Map(
    claims.flatMap((claim) =>
      claim === undefined ? [] : [[referenceKey(claim.project_id, claim.reference), claim] as const],
    ),
  );
  for (const rows of (await readLedger(sql, [...references.values()])).values()) {
    const counts = countsOf(rows);
    for (const row of rows) {
      money_of.set(eventKey(row), eventMoneyOf(row, counts.get(row)));
      const placed = placedItem(moneyKindOf(row.event), rows);
      if (placed !== undefined) placed_of.set(eventKey(row), placed);
    }
  }
  return lines.map(({ text, head }, i) => {
    const player_id = survivors.get(`${head.project_id} ${head.player_id}`);
    const claim = claims[i];
    const money = claim === undefined ? undefined : money_of.get(eventKey(claim));
    if (player_id === undefined && money === undefined && !hasExactNumbers(text)) return text;
    const change: EventChange = {
      ...(player_id === undefined ? {} : { player_id }),
      ...money,
      ...(claim === undefined ? {} : takenItem(claim.own_item, placed_of.get(eventKey(claim)))),
    };
    return changeLine(text, change);
  });
}

type EventKey = Pick<LedgerRow, 'ingestion_id' | 'event_index'>;

function eventKey({ ingestion_id, event_index }: EventKey): string {
  return `${ingestion_id} ${event_index}`;
}

type EventClaim = ProjectRef & Claim & EventKey & { own_item: Item };

/** The claim of a money event: later rates change its amounts, and later events what it counts. */
function claimOfLine({ text, head }: Line): EventClaim | undefined {
  const { tenant_id, project_id, event } = head;
  if (moneyKindOf(event) === undefined) return undefined;
  const row = JSON.parse(text) as EventKey & {
    occurred_at: number;
    properties: Record<string, unknown>;
  };
  const { ingestion_id, event_index } = row;
  const claim = claimOf(event, row.properties, row.occurred_at);
  const own_item = itemOf(event, row.properties);
  return claim && { tenant_id, project_id, ingestion_id, event_index, own_item, ...claim };
}
