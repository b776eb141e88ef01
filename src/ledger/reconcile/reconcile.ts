import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Tx } from '../../platform/postgres/port.ts';
import type { Platform } from '../../wiring/platform.ts';
import { NotCaughtUp, waitUntilCaughtUp } from '../../analytics/caught-up.ts';
import { ApiError } from '../../errors.ts';
import { compareSlice } from './compare.ts';
import {
  countEvents,
  endOfSlice,
  listProjects,
  readLedgerPage,
  readMirrored,
  readPlayers,
  type LedgerPosition,
  type Project,
  type Slice,
} from './queries.ts';
import { COUNTED_EVENTS, LedgerRecomputation } from './recompute.ts';
import { rebuildProject } from './repair.ts';
import { MAX_LISTED, type Difference, type ReconcileBody, type ReconcileReport } from './schema.ts';

type Engines = Pick<Platform, 'eventLog' | 'postgres' | 'clickhouse' | 'clock' | 'logger'>;

/** Players per slice: bounds memory. The whole ledger of a project is read once per slice. */
const SLICE_PLAYERS = 50_000;
const LEDGER_PAGE = 5_000;
/** A difference is reported when this many comparisons in a row find it; the processors catch up in between. */
const MAX_COMPARISONS = 3;
const RETRY_AFTER_S = 5;

/**
 * Compares the stores. With `repair` it then rebuilds the projects that differ in ClickHouse and compares again. Totals
 * that differ from their ledger rows are reported and never changed: they are not a copy, and the cause must be found.
 * Rejects like {@link compareAll}.
 */
export async function reconcile(engines: Engines, options: ReconcileBody): Promise<ReconcileReport> {
  const { report, differing } = await compareAll(engines, options);
  if (!options.repair || differing.length === 0) return report;
  for (const project of differing) await rebuildProject(engines, project);
  const after = await compareAll(engines, options);
  return { ...after.report, repaired_projects: differing.length };
}

interface Comparison {
  report: ReconcileReport;
  /** Projects whose data in ClickHouse differs from Postgres. */
  differing: Project[];
}

/**
 * Compares the data of every player: the totals with the ledger, the events in ClickHouse with the ledger, and the
 * mirrored players in ClickHouse with Postgres. Each slice is read from one snapshot of Postgres. ClickHouse lags
 * behind it, so a slice that differs is compared again, and only a difference found every time is reported. Rejects
 * with SERVICE_UNAVAILABLE when the processors do not catch up within `wait_ms`.
 */
async function compareAll(engines: Engines, options: ReconcileBody): Promise<Comparison> {
  const started_ms = engines.clock.now_ms();
  await catchUp(engines, options.wait_ms);
  const waited_ms = engines.clock.now_ms() - started_ms;
  const projects = await listProjects(engines.postgres.service, options.tenant_id);
  const differing = new Set<Project>();
  const report: ReconcileReport = {
    differences: 0,
    listed: [],
    tenants: new Set(projects.map(({ tenant_id }) => tenant_id)).size,
    projects: projects.length,
    players: 0,
    ledger_rows: 0,
    event_rows: 0,
    waited_ms,
    repaired_projects: 0,
    duration_ms: 0,
  };
  for (const project of projects) {
    for (let after: string | null = null, last = false; !last;) {
      const to = await endOfSlice(engines.postgres.service, project, after, SLICE_PLAYERS);
      const slice: Slice = { ...project, after, to };
      const { differences, players, ledger_rows, event_rows } = await compareRepeatedly(
        engines,
        slice,
        options.wait_ms,
      );
      report.differences += differences.length;
      if (differences.some(({ check }) => check !== 'ledger')) differing.add(project);
      report.listed.push(...differences.slice(0, MAX_LISTED - report.listed.length));
      report.players += players;
      report.ledger_rows += after === null ? ledger_rows : 0;
      report.event_rows += event_rows;
      after = to;
      last = to === null;
    }
  }
  report.duration_ms = engines.clock.now_ms() - started_ms;
  return { report, differing: [...differing] };
}

async function catchUp(engines: Engines, wait_ms: number): Promise<void> {
  try {
    await waitUntilCaughtUp(engines, wait_ms);
  } catch (cause) {
    if (!(cause instanceof NotCaughtUp)) throw cause;
    throw new ApiError('SERVICE_UNAVAILABLE', cause.message, { retry_after_s: RETRY_AFTER_S, cause });
  }
}

interface SliceComparison {
  differences: Difference[];
  players: number;
  ledger_rows: number;
  event_rows: number;
}

async function compareRepeatedly(engines: Engines, slice: Slice, wait_ms: number): Promise<SliceComparison> {
  let comparison = await compareOnce(engines, slice);
  for (let count = 1; count < MAX_COMPARISONS && comparison.differences.length > 0; count++) {
    const before = new Set(comparison.differences.map(keyOf));
    await catchUp(engines, wait_ms);
    comparison = await compareOnce(engines, slice);
    comparison.differences = comparison.differences.filter((difference) => before.has(keyOf(difference)));
  }
  return comparison;
}

function keyOf({ check, player_id, field }: Difference): string {
  return `${check} ${player_id} ${field}`;
}

async function compareOnce({ postgres, clickhouse }: Engines, slice: Slice): Promise<SliceComparison> {
  const { players, ledger } = await postgres.service.begin(
    'isolation level repeatable read read only',
    async (tx) => {
      const players = await readPlayers(tx, slice);
      return { players, ledger: await recompute(tx, slice) };
    },
  );
  const counted = await countEvents(clickhouse, slice, COUNTED_EVENTS);
  const mirrored = await readMirrored(clickhouse, slice);
  return {
    differences: compareSlice({ slice, players, ledger, counted, mirrored }),
    players: players.length,
    ledger_rows: ledger.rows,
    event_rows: counted.reduce((sum, { count }) => sum + Number(count), 0),
  };
}

/** Reads the whole ledger of the slice's project, page by page, for the players of the slice. */
async function recompute(tx: Tx, { after, to, ...project }: Slice): Promise<LedgerRecomputation> {
  const ledger = new LedgerRecomputation(
    (player_id) => (after === null || player_id > after) && (to === null || player_id <= to),
  );
  for (let position: LedgerPosition | undefined, full = true; full;) {
    const page = await readLedgerPage(tx, project satisfies Project, position, LEDGER_PAGE);
    for (const row of page) ledger.take(row);
    const last = page.at(-1);
    position = last && { reference: last.reference, event: last.event, occurrence: BigInt(last.occurrence) };
    full = page.length === LEDGER_PAGE;
    await yieldToEventLoop();
  }
  ledger.finish();
  return ledger;
}
