import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import type { Logger } from '../logger.ts';
import { APPLICATION } from '../postgres/pool.ts';
import { connectSession } from './connections.ts';

const PAUSE_MS = 5_000;
/** Prefix of the session name that shows that a worker is alive; the worker's id follows it. */
const SESSION_PREFIX = `${APPLICATION} worker `;

interface LivenessOptions {
  url: string;
  worker_id: string;
  logger: Logger;
}

/**
 * Keeps a Postgres session open until `stop` is aborted; the session's name shows that this worker is alive. Every 5 s
 * it finds the workers that hold jobs but have no such session. A worker without a session in two successive checks
 * counts as dead: its jobs and their queues are unlocked. The library alone would wait four hours. Never rejects.
 */
export async function watchWorkerLiveness(
  { url, worker_id, logger }: LivenessOptions,
  stop: AbortSignal,
): Promise<void> {
  let session: Client | undefined;
  let missing: readonly string[] = [];
  while (!stop.aborted) {
    try {
      session ??= await connectSession(url, SESSION_PREFIX + worker_id, () => (session = undefined));
      const missed_before = missing;
      missing = await findMissing(session);
      const dead = missing.filter((id) => missed_before.includes(id));
      if (dead.length > 0) {
        await session.query('select graphile_worker.force_unlock_workers($1::text[])', [dead]);
        logger.warn({ workers: dead }, 'freed the jobs of workers that died');
      }
    } catch (error) {
      logger.debug({ err: error }, 'jobs: could not check for dead workers');
      // Not awaited: `end` may never resolve when the server is gone.
      session?.end().catch(() => undefined);
      session = undefined;
    }
    await sleep(PAUSE_MS, undefined, { signal: stop }).catch(() => undefined);
  }
  await session?.end().catch(() => undefined);
}

/** The ids of workers that hold jobs but have no session. */
async function findMissing(session: Client): Promise<string[]> {
  const { rows } = await session.query<{ locked_by: string }>(
    `select distinct j.locked_by from graphile_worker.jobs j
     where j.locked_by is not null
       and not exists (select from pg_stat_activity a where a.application_name = $1 || j.locked_by)`,
    [SESSION_PREFIX],
  );
  return rows.map(({ locked_by }) => locked_by);
}
