import { setTimeout as sleep } from 'node:timers/promises';
import { isPast, readRateChanges } from '../../src/fx/restate-queries.ts';
import { applyRateChange } from '../../src/fx/restate.ts';
import type { Notifications } from '../../src/platform/postgres/notifications.ts';
import type { Postgres } from '../../src/platform/postgres/port.ts';
import type { Platform } from '../../src/wiring/platform.ts';

/** Postgres says on this channel that rates changed, whoever changed them. */
const RATES_CHANNEL = 'fx_rates';
const MAX_CHANGES = 1_000;
/** A message may be lost while the connection is: this is how late its change is seen then. */
const IDLE_PAUSE_MS = 2_000;
const HORIZON_POLL_MS = 20;
const LONGEST_PAUSE_MS = 10_000;

type Engines = Pick<Platform, 'clock' | 'logger' | 'metrics'> & { postgres: Pick<Postgres, 'service'> };

/** A running restater. */
export interface FxRestater {
  close(): Promise<void>;
}

/**
 * fx-restater: changed rates → ledger and totals. A change is worked on once every transaction has ended that
 * may have read rates without it; from then on whoever folds sees it. Two restaters side by side only do work twice.
 */
export async function startFxRestater(platform: Platform, notifications: Notifications): Promise<FxRestater> {
  const stop = new AbortController();
  let wake = new AbortController();
  const onMessage = () => wake.abort();
  await notifications.on(RATES_CHANNEL, onMessage, onMessage);

  async function run(): Promise<void> {
    let pause_ms = IDLE_PAUSE_MS;
    while (!stop.signal.aborted) {
      wake = new AbortController();
      try {
        const worked = await restateOnce(platform, stop.signal);
        pause_ms = IDLE_PAUSE_MS;
        if (worked > 0) continue;
      } catch (error) {
        pause_ms = Math.min(pause_ms * 2, LONGEST_PAUSE_MS);
        platform.logger.warn({ err: error, pause_ms }, 'restating failed; it tries again');
      }
      const signal = AbortSignal.any([stop.signal, wake.signal]);
      await sleep(pause_ms, undefined, { signal }).catch(() => undefined);
    }
  }

  const done = run();
  return {
    async close() {
      stop.abort();
      await done;
    },
  };
}

/** Works through the changes that are there; returns how many. */
export async function restateOnce(engines: Engines, stop?: AbortSignal): Promise<number> {
  const { service: sql } = engines.postgres;
  const { changes, until_xid } = await readRateChanges(sql, MAX_CHANGES);
  if (changes.length === 0) return 0;
  while (!(await isPast(sql, until_xid))) {
    if (stop?.aborted === true) return 0;
    await sleep(HORIZON_POLL_MS);
  }
  for (const change of changes) {
    if (stop?.aborted === true) break;
    await applyRateChange({ ...engines, sql }, change);
  }
  return changes.length;
}
