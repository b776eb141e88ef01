import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { newId } from '../platform/ids.ts';
import type { Platform } from '../platform/platform.ts';
import { MONEY_EVENTS } from '../ledger/money/ledger.ts';
import { runTableName } from './replacement-queries.ts';
import { differencesOfSum } from './compare.ts';
import type { Findings } from './findings.ts';
import type { ReconcileReport } from './schema.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';
import { LedgerRecomputation } from './recompute.ts';
import {
  countSummed,
  openSums,
  readChangedPlayers,
  readDifferingSums,
  readLedgerPage,
  readSnapshot,
  readTotalsPage,
  SESSION_START,
  storeSums,
  sumEvents,
  type DifferingSum,
  type HeldTotals,
  type LedgerPosition,
  type Sum,
} from './sums-queries.ts';

type Engines = Pick<Platform, 'postgres' | 'clickhouse' | 'clock'>;

/** The events whose number follows from Postgres: those with ledger rows, and session starts. */
const COUNTED_EVENTS: readonly string[] = [...MONEY_EVENTS, SESSION_START];
const LEDGER_PAGE = 5_000;
const TOTALS_PAGE = 10_000;
const DIFFERING_PAGE = 5_000;
/** Sums that are held in memory before they go to ClickHouse. */
const MAX_SUMS = 50_000;

/** What was read. */
export interface SumsRead extends Pick<ReconcileReport, 'unmatched' | 'unmatched_listed'> {
  players: number;
  ledger_rows: number;
  event_rows: number;
}

/**
 * Compares the totals with the ledger, and the events in ClickHouse with both. The ledger is read once, in its own
 * order, through all projects; the sums of all players are collected in a table of ClickHouse, whose name begins with
 * `run_id`. Nothing is read from one snapshot: what differs of a player that was written meanwhile is not reported,
 * except for events that ClickHouse lacks. `catchUp` waits until ClickHouse has what Postgres has.
 */
export async function compareSums(
  { postgres, clickhouse, clock }: Engines,
  tenant_id: string | undefined,
  projects: readonly ProjectRef[],
  catchUp: () => Promise<void>,
  findings: Findings,
): Promise<SumsRead> {
  const sql = postgres.service;
  const table = runTableName(newId(), 'sums');
  await openSums(clickhouse, table);
  let stored = 0;
  const store = (sums: readonly Sum[]) => storeSums(clickhouse, table, sums, `${table}:${stored++}`);
  const snapshot = await readSnapshot(sql);
  const players = await storeTotals({ postgres }, tenant_id, store);
  const ledger = new LedgerRecomputation(clock.now_ms());
  await storeLedger({ postgres }, tenant_id, ledger, store);
  await catchUp();
  await sumEvents(clickhouse, table, 'events', tenant_id);
  await sumEvents(clickhouse, table, 'events_by_player', tenant_id);
  await findDifferences({ postgres, clickhouse }, table, snapshot, projects, findings);
  return {
    players,
    ledger_rows: ledger.rows,
    event_rows: await countSummed(clickhouse, table, COUNTED_EVENTS),
    unmatched: ledger.unmatched.count,
    unmatched_listed: ledger.unmatched.listed,
  };
}

async function findDifferences(
  { postgres, clickhouse }: Pick<Engines, 'postgres' | 'clickhouse'>,
  table: string,
  snapshot: string,
  projects: readonly ProjectRef[],
  findings: Findings,
): Promise<void> {
  const [known, counted] = [new Set(projects.map(({ project_id }) => project_id)), new Set(COUNTED_EVENTS)];
  const isCounted = ({ event, field }: DifferingSum) =>
    counted.has(event) && (event !== SESSION_START || field === 'count');
  /** The event whose number differs, by table: that explains its amounts, which come next. */
  const explained = new Map<string | null, string>();
  for (let after: DifferingSum | undefined, full = true; full;) {
    const page = await readDifferingSums(clickhouse, table, COUNTED_EVENTS, after, DIFFERING_PAGE);
    const written = await readChangedPlayers(postgres.service, snapshot, page);
    const changed = new Map(written.map((one) => [`${one.project_id} ${one.player_id}`, one]));
    for (const sum of page) {
      if (!known.has(sum.project_id)) continue;
      const player = `${sum.project_id} ${sum.player_id}`;
      for (const one of differencesOfSum(sum, isCounted, changed.get(player))) {
        const event = `${player} ${sum.event}`;
        if (one.table !== null && sum.field === 'count') explained.set(one.table, event);
        else if (one.table !== null && explained.get(one.table) === event) continue;
        findings.add(one);
      }
    }
    after = page.at(-1);
    full = page.length === DIFFERING_PAGE;
  }
}

type Store = (sums: readonly Sum[]) => Promise<void>;

/** Stores the totals of every player; session starts have no ledger rows, so their number is expected from here. */
async function storeTotals(
  { postgres }: Pick<Engines, 'postgres'>,
  tenant_id: string | undefined,
  store: Store,
): Promise<number> {
  let players = 0;
  for (let after: HeldTotals | undefined, full = true; full;) {
    const page = await readTotalsPage(postgres.service, tenant_id, after, TOTALS_PAGE);
    await store(page.flatMap(sumsOf));
    players += page.length;
    after = page.at(-1);
    full = page.length === TOTALS_PAGE;
  }
  return players;
}

function sumsOf({ totals: { session_count = 0n, ...totals }, ...player }: HeldTotals): Sum[] {
  const sessions: Sum = {
    ...player,
    event: SESSION_START,
    field: 'count',
    source: 'ledger',
    value: session_count,
  };
  const held = Object.entries(totals).map(([field, value]): Sum => ({
    ...player,
    event: '',
    field,
    source: 'totals',
    value,
  }));
  return [sessions, ...held].filter(({ value }) => value !== 0n);
}

async function storeLedger(
  { postgres }: Pick<Engines, 'postgres'>,
  tenant_id: string | undefined,
  ledger: LedgerRecomputation,
  store: Store,
): Promise<void> {
  for (let after: LedgerPosition | undefined, more = true; more;) {
    const { rows, last } = await readLedgerPage(postgres.service, tenant_id, after, LEDGER_PAGE);
    for (const row of rows) ledger.take(row);
    if (ledger.size > MAX_SUMS) await store(ledger.drain());
    after = last;
    more = last !== undefined;
    await yieldToEventLoop();
  }
  ledger.finish();
  await store(ledger.drain());
}
