import { setTimeout as sleep } from 'node:timers/promises';
import { readRateChanges, type RateChange } from '../../src/ledger/fx/restate-queries.ts';
import { applyRateChange } from '../../src/ledger/fx/restate.ts';
import { startPolling, type PollLoop } from '../../src/platform/poll-loop.ts';
import { isRefusal } from '../../src/platform/postgres/exclusive-pool.ts';
import { describeHolder, readHolders } from '../../src/platform/postgres/horizon.ts';
import type { Notifications } from '../../src/platform/postgres/notifications.ts';
import type { Postgres } from '../../src/platform/postgres/port.ts';
import { isPast } from '../../src/platform/postgres/horizon.ts';
import type { Platform } from '../../src/platform/platform.ts';

/** NOTIFY channel: a trigger in Postgres notifies it of every change of rates. */
const RATES_CHANNEL = 'fx_rates';
const MAX_CHANGES = 1_000;
const HORIZON_POLL_MS = 20;
/** A longer wait for the horizon is logged, again after each such time. */
const REPORT_EVERY_MS = 10_000;

type Engines = Pick<Platform, 'clock' | 'logger' | 'metrics'> & { postgres: Pick<Postgres, 'service'> };

/**
 * fx-restater: changed rates → ledger and totals. A change is applied after every transaction has ended that may have
 * read rates without it; every later transaction of the fold sees the change. Two concurrent restaters are safe: they
 * only do some work twice.
 */
export async function startFxRestater(platform: Platform, notifications: Notifications): Promise<PollLoop> {
  // A notification is lost while the connection is down: then polling finds the change, at most one pause later.
  const pauses = { idle_pause_ms: 5_000, longest_pause_ms: 10_000 };
  let loop: PollLoop | undefined;
  const wake = () => loop?.wake();
  await notifications.on(RATES_CHANNEL, wake, wake);
  loop = startPolling(
    { name: 'fx-restater', logger: platform.logger, ...pauses },
    async (stop) => (await restateOnce(platform, stop)) > 0,
  );
  return loop;
}

/**
 * Applies the pending changes, oldest first; returns how many were read, without those for which `stop` ended the wait.
 * The wait has no limit: applying a change too early would leave rows with the wrong rate. What it waits for is logged
 * every `report_every_ms`. When Postgres refuses a statement of a change, that tenant's changes stay queued, those of
 * the others are applied, and then it rejects with the first refusal.
 */
export async function restateOnce(
  engines: Engines,
  stop?: AbortSignal,
  report_every_ms = REPORT_EVERY_MS,
): Promise<number> {
  const { service: sql } = engines.postgres;
  const failures = new Map<string, unknown>();
  let read = 0;
  for (let after = 0n; ;) {
    const { changes, until_xid } = await readRateChanges(sql, after, MAX_CHANGES);
    if (
      changes.length === 0 ||
      !(await waitUntilPast(engines, until_xid, changes.length, stop, report_every_ms))
    )
      break;
    read += changes.length;
    for (const change of changes) {
      if (stop?.aborted === true) return read;
      if (!failures.has(change.tenant_id)) await tryToApply(engines, change, failures, stop);
    }
    after = changes.at(-1)?.change_id ?? after;
    if (changes.length < MAX_CHANGES) break;
  }
  for (const failure of failures.values()) throw failure;
  return read;
}

/** Applies a change; a refusal is logged and added to `failures`, by tenant. Other errors are thrown. */
async function tryToApply(
  engines: Engines,
  change: RateChange,
  failures: Map<string, unknown>,
  stop: AbortSignal | undefined,
): Promise<void> {
  try {
    await applyRateChange({ ...engines, sql: engines.postgres.service }, change, stop);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    const { tenant_id, change_id } = change;
    engines.logger.warn(
      { err: error, tenant_id, change_id: String(change_id) },
      'a changed rate could not be applied; the changes of this tenant stay queued',
    );
    failures.set(tenant_id, error);
  }
}

/** Waits until every transaction below `until_xid` has ended; false when `stop` ended the wait. */
async function waitUntilPast(
  engines: Engines,
  until_xid: string,
  changes: number,
  stop: AbortSignal | undefined,
  report_every_ms: number,
): Promise<boolean> {
  let report_ms = performance.now() + report_every_ms;
  while (!(await isPast(engines.postgres.service, until_xid))) {
    if (stop?.aborted === true) return false;
    if (performance.now() >= report_ms) {
      await reportWait(engines, changes);
      report_ms = performance.now() + report_every_ms;
    }
    await sleep(HORIZON_POLL_MS);
  }
  return true;
}

/** Names in the log what the changes wait for. */
async function reportWait({ postgres, logger }: Engines, changes: number): Promise<void> {
  try {
    const holders = await readHolders(postgres.service);
    const [oldest] = holders.toSorted((a, b) => (b.age_ms ?? 0) - (a.age_ms ?? 0));
    const holder = oldest === undefined ? {} : describeHolder(oldest, oldest.age_ms);
    logger.warn({ ...holder, changes }, 'changed rates wait for an old transaction to end');
  } catch (error) {
    logger.warn({ err: error, changes }, 'changed rates wait for an old transaction, which cannot be named');
  }
}
