import { groupBy } from '../platform/group-by.ts';
import { retryConflicts } from '../platform/postgres/retry.ts';
import { RoundRobin } from '../platform/round-robin.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';
import type { Platform } from '../platform/platform.ts';
import { PROFILE, type PassingWindow } from './dependencies.ts';
import { insertDirtyPlayers } from './dirty-player-queries.ts';
import { dirtyPlayersOf, markEvents } from './dirty-players.ts';
import { passTime, type Passed } from './evaluated/changes.ts';
import { forgetEvaluated, noteSweep } from './evaluated/evaluated-queries.ts';
import { findPassedTotals } from './evaluated/passed-queries.ts';
import { planFor } from './evaluated/plans.ts';
import { bisect, refusalOf } from './refusal.ts';
import {
  findPassedWindows,
  markSwept,
  rejoinWindow,
  selectLateWindows,
  selectSweeps,
  quarantineWindow,
  type LateWindow,
  type PassedWindow,
  type SweepTask,
} from './sweep-queries.ts';

export type SweepDeps = Pick<Platform, 'postgres' | 'clickhouse' | 'clock' | 'logger'>;

/** Windows per statement. */
const MAX_WINDOWS = 50;
/** Windows to be swept alone that are read at once. */
const MAX_LATE = 100;
/** Players whose counts one transaction changes. */
const MAX_PLAYERS = 1_000;
/** Players whose counts one sweep changes; with more, they are evaluated instead. */
const MAX_PASSED = 50_000;
/** Projects that are swept at once. */
const MAX_RUNNING = 2;

/** A project to be swept, or one window of a project to be swept alone. */
export type Sweep = SweepTask | LateWindow;

/** The queue of projects and windows to be swept: one that is slow or fails does not delay another. */
export function sweepQueue({ logger }: Pick<SweepDeps, 'logger'>): RoundRobin<Sweep> {
  return new RoundRobin<Sweep>({
    keysOf: (sweep) => [
      sweep.tenant_id,
      sweep.project_id,
      'window' in sweep ? JSON.stringify(sweep.window) : '',
    ],
    max_running: [MAX_RUNNING, MAX_RUNNING, MAX_RUNNING, 1],
    onFailure: ({ project_id }, error) =>
      logger.warn({ err: error, project_id }, 'a sweep failed; it will be repeated'),
  });
}

/** The projects that were not swept for `every_ms`, and the windows to be swept alone that are due. */
export async function selectDueSweeps({ postgres, clock }: SweepDeps, every_ms: number): Promise<Sweep[]> {
  const now_ms = clock.now_ms();
  return [
    ...(await selectSweeps(postgres.service, new Date(now_ms - every_ms))),
    ...(await selectLateWindows(postgres.service, new Date(now_ms), MAX_LATE)),
  ];
}

/** Sweeps everything that is due once. A failure stops no other project, and is logged. */
export async function sweepWindows(deps: SweepDeps, every_ms: number): Promise<void> {
  const due = await selectDueSweeps(deps, every_ms);
  await sweepQueue(deps).offer(due, (sweep) => sweepOne(deps, sweep, every_ms));
}

/**
 * Finds what crossed the edge of a window of a realtime segment since the last sweep. Counted events are subtracted from the
 * totals of their players, who are marked dirty if a condition changes or if they have no row; the players of all other
 * events, messages and dates are marked. Time alone can change no other player's membership. The position moves after the
 * players are queued, so a crash repeats the sweep. A window whose statement is refused is swept alone from then on,
 * with pauses, until that succeeds. Projects without moving windows cost nothing.
 *
 * `offered` may have waited for its turn. So it is read again: a window that a segment got meanwhile is swept with the
 * others, and what was swept meanwhile is not swept again.
 */
export async function sweepOne(deps: SweepDeps, offered: Sweep, every_ms: number): Promise<boolean> {
  const { postgres, clock } = deps;
  const now_ms = clock.now_ms();
  const now = new Date(now_ms);
  const [sweep]: Sweep[] =
    'windows' in offered
      ? await selectSweeps(postgres.service, new Date(now_ms - every_ms), offered)
      : await selectLateWindows(postgres.service, now, 1, offered);
  if (sweep === undefined) return false;
  await noteSweep(postgres.service, sweep, now);
  if ('windows' in sweep) {
    const left = await passCounts(deps, sweep, now_ms);
    for (const { windows, forgets } of left) {
      for (let from = 0; from < windows.length; from += MAX_WINDOWS) {
        await sweepPart(deps, sweep, windows.slice(from, from + MAX_WINDOWS), now_ms, forgets);
      }
    }
    await markSwept(postgres.service, sweep, now);
    return false;
  }
  const is_swept = !sweep.is_used || (await sweepPart(deps, sweep, [sweep.window], now_ms, true));
  if (is_swept) await postgres.service.begin((tx) => rejoinWindow(tx, sweep, now));
  return false;
}

/** Windows that are still to be swept; `forgets`: the rows of the players whose events have crossed their edges are removed. */
interface LeftWindows {
  windows: readonly PassingWindow[];
  forgets: boolean;
}

/**
 * Subtracts what has left the windows of counted events from the totals of their players, and marks the players of whom a
 * condition has changed by it, or who have no row. Returns the windows that are left: those of all other events, messages and
 * dates, and those of counted events when ClickHouse refuses the statement, or very many players are concerned.
 */
async function passCounts(
  { postgres, clickhouse, logger }: SweepDeps,
  { tenant_id, project_id, swept_ms, windows }: SweepTask,
  now_ms: number,
): Promise<LeftWindows[]> {
  const project = { tenant_id, project_id };
  const plan = await planFor(postgres.service, project);
  const isCounted = ({ reads, property }: PassingWindow) =>
    property === undefined && reads !== PROFILE && plan?.counted.has(reads) === true;
  const counted = windows.filter(isCounted);
  const others = { windows: windows.filter((one) => !isCounted(one)), forgets: false };
  if (plan === undefined || counted.length === 0) return [others];
  const times = { since_ms: Number(swept_ms), now_ms };
  let passed: ReadonlyMap<string, Passed> | undefined;
  try {
    passed = await findPassedTotals(clickhouse, project, plan, times, MAX_PASSED);
  } catch (error) {
    const reason = refusalOf(error);
    if (reason === undefined) throw error;
    logger.warn({ project_id, reason }, 'counts cannot follow their windows; the players are evaluated');
  }
  if (passed === undefined) return [others, { windows: counted, forgets: true }];
  const players = [...passed].sort(([a], [b]) => (a < b ? -1 : 1));
  for (let from = 0; from < players.length; from += MAX_PLAYERS) {
    const part = new Map(players.slice(from, from + MAX_PLAYERS));
    await retryConflicts(() =>
      postgres.service.begin(async (tx) => {
        const changes = await passTime(tx, project, plan, part, times);
        const namesOf = (player_id: string) => part.get(player_id)?.names ?? [];
        await markEvents(tx, project, changes, namesOf, new Date(now_ms));
      }),
    );
  }
  return [others];
}

/** Sweeps some windows; false when some of them were refused. */
async function sweepPart(
  { postgres, clickhouse, logger }: SweepDeps,
  { tenant_id, project_id, swept_ms }: Sweep,
  windows: readonly PassingWindow[],
  now_ms: number,
  forgets: boolean,
): Promise<boolean> {
  const project = { tenant_id, project_id };
  const since_ms = Number(swept_ms);
  const now = new Date(now_ms);
  let is_whole = true;
  await bisect(
    windows,
    async (part) => {
      const passed = await findPassedWindows(clickhouse, project, part, since_ms, now_ms);
      const entries = entriesOf(project, passed);
      for (const entry of entries) {
        await retryConflicts(() =>
          postgres.service.begin(async (tx) => {
            // A row has the truths of fields at its evaluation: a date that crossed an edge makes them old.
            if (forgets || entry.reads.includes(PROFILE))
              await forgetEvaluated(tx, project, entry.player_ids);
            await insertDirtyPlayers(tx, [entry], now);
          }),
        );
      }
    },
    async (window, why) => {
      is_whole = false;
      const reason = `a passing window could not be swept: ${why}`.slice(0, 1_000);
      logger.warn({ project_id, window, reason }, 'a window could not be swept; it is swept alone');
      await postgres.service.begin((tx) =>
        quarantineWindow(tx, project, window, { swept_at: new Date(since_ms), now, reason }),
      );
    },
  );
  return is_whole;
}

function entriesOf(project: ProjectRef, passed: readonly PassedWindow[]) {
  return [...groupBy(passed, ({ reads }) => reads)].flatMap(([reads, of_reads]) =>
    dirtyPlayersOf(
      project,
      [reads],
      of_reads.map(({ player_id }) => player_id),
    ),
  );
}
