import { NotCaughtUp, waitUntilInClickHouse } from '../../analytics/caught-up.ts';
import { parseExact } from '../../platform/exact-json.ts';
import type { CronEntry } from '../../platform/jobs/port.ts';
import type { Platform } from '../../platform/platform.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { depositLimitOf } from '../fold/deposit-limit.ts';
import {
  endHistory,
  insertOldLimits,
  readLedgerPage,
  selectLimitEvents,
  selectToReadLimits,
  type LimitEvent,
} from './queries.ts';

/** Reads the withdrawals and limits that were there before these were kept by player. */
export const LICENCE_HISTORY_TASK = 'licence-history';

/** Rows of the ledger, or events, of one transaction. */
const PAGE = 2_000;
/** How long it is waited for ClickHouse; then the next run tries again. */
const SINK_WAIT_MS = 20_000;

/** Every minute: after an upgrade it goes on where it was, otherwise there is nothing to read. */
export const LICENCE_HISTORY_CRONTAB: readonly CronEntry[] = [
  {
    identifier: 'licence history due',
    match: '* * * * *',
    backfill_ms: 0,
    job: { task: LICENCE_HISTORY_TASK, payload: {}, max_attempts: 1, job_key: LICENCE_HISTORY_TASK },
  },
];

type HistoryDeps = Pick<Platform, 'postgres' | 'clickhouse' | 'eventLog' | 'clock'>;

/**
 * The task `licence-history`: reads the ledgers page by page, each in a transaction of its own, then the limits of each
 * project, which only ClickHouse has. Those of a project that it was stopped in are read again: each is kept once.
 */
export async function runLicenceHistoryJob(deps: HistoryDeps, stop: AbortSignal, page = PAGE): Promise<void> {
  const { service } = deps.postgres;
  while (await retryConflicts(() => service.begin((tx) => readLedgerPage(tx, page)))) stop.throwIfAborted();
  const projects = await selectToReadLimits(service);
  if (projects.length === 0) return;
  try {
    await waitUntilInClickHouse(deps, deps.clock.now_ms() + SINK_WAIT_MS, stop);
  } catch (error) {
    if (error instanceof NotCaughtUp) return;
    throw error;
  }
  for (const project of projects) {
    await readLimits(deps, project, page, stop);
    await service.begin((tx) => endHistory(tx, project));
  }
}

async function readLimits(
  { postgres: { service }, clickhouse }: HistoryDeps,
  project: ProjectRef,
  page: number,
  stop: AbortSignal,
): Promise<void> {
  for (let last: LimitEvent | undefined; ;) {
    stop.throwIfAborted();
    const events = await selectLimitEvents(clickhouse, project, last, page);
    const limits = events.flatMap(({ player_id, at_ms, properties }) => {
      const sent = parseExact(properties) as Record<string, unknown>;
      const limit = depositLimitOf('deposit_limit_set', sent, Number(at_ms));
      return limit === undefined ? [] : [{ ...project, player_id, ...limit }];
    });
    await retryConflicts(() => service.begin((tx) => insertOldLimits(tx, project, limits)));
    last = events.at(-1);
    if (events.length < page) return;
  }
}
