import { changeLine, headOf, type EventChange, type EventHead } from '../ingest/events/envelope.ts';
import { withoutErased } from '../players/erasure/events-queries.ts';
import { TOPICS } from '../platform/event-log/topics.ts';
import type { LogRecord } from '../platform/event-log/port.ts';
import type { Tx } from '../platform/postgres/port.ts';
import type { Platform } from '../platform/platform.ts';
import { readLedger } from '../ledger/fold/read-queries.ts';
import { claimOf, type Claim, type LedgerRow } from '../ledger/money/ledger.ts';
import { readBaseCurrencies, readSurvivors } from './queries.ts';
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
  const base = await readBaseCurrencies(postgres.service, projects);
  for (const [partition, end] of await eventLog.endOffsets(TOPICS.playerEvents)) {
    for await (const { records } of eventLog.read(TOPICS.playerEvents, partition, 0n, end, RECORDS_AT_ONCE)) {
      const lines = records.flatMap((record) => lineOf(record, base));
      if (lines.length === 0) continue;
      await check();
      const texts = await presentLines(postgres.service, lines, base);
      await clickhouse.insertLines(
        table,
        await withoutErased(postgres.service, texts),
        `${table}:${partition}:${records[0]?.offset}`,
      );
    }
  }
}

function lineOf({ value }: LogRecord, base: ReadonlyMap<string, string>): Line[] {
  const head = headOf(value);
  return head !== undefined && base.has(head.project_id) ? [{ text: value, head }] : [];
}

async function presentLines(
  sql: Tx,
  lines: readonly Line[],
  base: ReadonlyMap<string, string>,
): Promise<string[]> {
  const players = new Map(lines.map(({ head }) => [`${head.project_id} ${head.player_id}`, head]));
  const merges = await readSurvivors(sql, [...players.values()]);
  const survivors = new Map(
    merges.map((merge) => [`${merge.project_id} ${merge.player_id}`, merge.into_player_id]),
  );
  const claims = lines.map((line) => foreignClaim(line, base));
  const amounts = new Map<string, LedgerRow>();
  const wanted = claims.filter((claim) => claim !== undefined);
  for (const rows of (await readLedger(sql, wanted)).values()) {
    for (const row of rows) amounts.set(eventKey(row), row);
  }
  return lines.map(({ text, head }, i) => {
    const player_id = survivors.get(`${head.project_id} ${head.player_id}`);
    const claim = claims[i];
    const row = claim === undefined ? undefined : amounts.get(eventKey(claim));
    if (player_id === undefined && row === undefined && !hasExactNumbers(text)) return text;
    const change: EventChange = {
      ...(player_id === undefined ? {} : { player_id }),
      ...(row === undefined ? {} : { base_amount: row.base_amount, base_payout: row.base_payout }),
    };
    return changeLine(text, change);
  });
}

type EventKey = Pick<LedgerRow, 'ingestion_id' | 'event_index'>;

function eventKey({ ingestion_id, event_index }: EventKey): string {
  return `${ingestion_id} ${event_index}`;
}

type EventClaim = ProjectRef & Claim & EventKey;

/** The claim of an event in another currency than the base currency: later rates change only such amounts. */
function foreignClaim({ text, head }: Line, base: ReadonlyMap<string, string>): EventClaim | undefined {
  // Cheap for most events: they have no currency, or no money event.
  if (!text.includes('"currency":')) return undefined;
  const { tenant_id, project_id, event } = head;
  const row = JSON.parse(text) as EventKey & {
    occurred_at: number;
    properties: Record<string, unknown>;
  };
  const { ingestion_id, event_index } = row;
  const claim = claimOf(event, row.properties, row.occurred_at);
  if (claim === undefined || claim.currency === null || claim.currency === base.get(project_id))
    return undefined;
  return { tenant_id, project_id, ingestion_id, event_index, ...claim };
}
