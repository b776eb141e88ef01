import type { Platform } from '../wiring/platform.ts';
import { findPassedWindows } from './evaluation-queries.ts';
import { insertDirtyPlayers, markSwept, selectSweeps, type SweepTask } from './dirty-player-queries.ts';
import { dirtyPlayersOf } from './dirty-players.ts';

export type SweepDeps = Pick<Platform, 'postgres' | 'clickhouse' | 'clock' | 'logger'>;

/**
 * Finds the players with an event, a message or a date that crossed the edge of a window of a realtime segment since
 * the last sweep, and marks them dirty: time alone can change no other player's membership. One transaction queues the
 * players and moves the project's sweep position, so a crash repeats the sweep. A failure stops no other project.
 * Projects without moving windows cost nothing.
 */
export async function sweepWindows(deps: SweepDeps, every_ms: number): Promise<void> {
  const { postgres, clock, logger } = deps;
  const until = new Date(clock.now_ms() - every_ms);
  for (const task of await selectSweeps(postgres.service, until)) {
    await sweepProject(deps, task).catch((error: unknown) =>
      logger.warn({ err: error, project_id: task.project_id }, 'a sweep failed; it will be repeated'),
    );
  }
}

async function sweepProject({ postgres, clickhouse, clock }: SweepDeps, task: SweepTask): Promise<void> {
  const { tenant_id, project_id, windows, swept_ms } = task;
  const project = { tenant_id, project_id };
  const now_ms = clock.now_ms();
  const passed = await findPassedWindows(clickhouse, project, windows, Number(swept_ms), now_ms);
  const players = new Map<string, string[]>();
  for (const { reads, player_id } of passed) {
    const of_reads = players.get(reads);
    if (of_reads === undefined) players.set(reads, [player_id]);
    else of_reads.push(player_id);
  }
  const entries = [...players].flatMap(([reads, player_ids]) => dirtyPlayersOf(project, [reads], player_ids));
  await postgres.service.begin(async (tx) => {
    const now = new Date(now_ms);
    if (await markSwept(tx, task, now)) await insertDirtyPlayers(tx, entries, now);
  });
}
