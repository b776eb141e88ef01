import { setTimeout as sleep } from 'node:timers/promises';
import {
  lagTo,
  captureHighWatermark,
  type Lag,
  type HighWatermark,
} from '../platform/event-log/high-watermark.ts';
import { OFFSET_STORES, type OffsetStore } from '../platform/event-log/position-queries.ts';
import type { Platform } from '../platform/platform.ts';
import { hasRecounts, newestCorrection, pendingWork } from './correction-queries.ts';
import { isEpochCurrent } from './epoch.ts';
import { isMirrorBehind, newestChange, readMirrorPosition } from './mirror-queries.ts';
import { MIRRORS } from './mirrors.ts';
import { newestStage, waitsUpTo } from './stage-queries.ts';

const POLL_MS = 50;
/** The fold lags tens of milliseconds; a caller that waits only for the fold holds work up meanwhile. */
const FOLD_POLL_MS = 5;

/** The processors did not catch up in time; `message` names the processor and its open work. */
export class NotCaughtUp extends Error {
  override readonly name = 'NotCaughtUp';
}

type Engines = Pick<Platform, 'eventLog' | 'postgres' | 'clock'>;

/**
 * Resolves when every event that was on the log at the call is folded, restated by the rates known then, and in
 * ClickHouse, when the changed players, messages and runs of journeys are mirrored, and when the feedback events of those
 * messages are in ClickHouse. Rejects with {@link NotCaughtUp} when that takes longer than `wait_ms`.
 */
export async function waitUntilCaughtUp(engines: Engines, wait_ms: number): Promise<void> {
  const deadline_ms = engines.clock.now_ms() + wait_ms;
  await waitUntilInClickHouse(engines, deadline_ms);
  const { service } = engines.postgres;
  await poll(engines, { deadline_ms }, async () =>
    (await pendingWork(service)).rate_changes > 0n ? 'fx-restater has rate changes to apply' : undefined,
  );
  const until_correction = await newestCorrection(service);
  await poll(engines, { deadline_ms }, async () => {
    const { corrections, merges } = await pendingWork(service, until_correction);
    return corrections + merges > 0n ? 'event-rewriter has events to correct' : undefined;
  });
  await poll(engines, { deadline_ms }, async () =>
    (await isEpochCurrent(engines)) ? undefined : 'player-mirror has to begin a new epoch of the database',
  );
  for (const mirror of MIRRORS) {
    const until_xid = await newestChange(service, mirror);
    await poll(engines, { deadline_ms }, async () => {
      const position = await readMirrorPosition(service, mirror.name);
      return (await isMirrorBehind(service, mirror, position, until_xid))
        ? `${mirror.processor} has ${mirror.rows} to copy`
        : undefined;
    });
  }
  const until_stage = await newestStage(service);
  if (until_stage !== undefined)
    await poll(engines, { deadline_ms }, async () =>
      (await waitsUpTo(service, until_stage)) ? 'send-mirror has events of messages to publish' : undefined,
    );
  await consumerReaches(engines, OFFSET_STORES.sink, 'applied', { deadline_ms });
}

/**
 * Resolves when the history of a tenant, or of all of them, is counted in ClickHouse, which an upgrade asks for. Rejects with
 * {@link NotCaughtUp} when that takes longer than `wait_ms`.
 */
export async function waitUntilCounted(
  engines: Engines,
  tenant_id: string | undefined,
  wait_ms: number,
): Promise<void> {
  await poll(engines, { deadline_ms: engines.clock.now_ms() + wait_ms }, async () =>
    (await hasRecounts(engines.postgres.service, tenant_id))
      ? 'event-rewriter has to count events from before an upgrade'
      : undefined,
  );
}

/**
 * Resolves when every event that was on the log at the call is folded and in ClickHouse. Rejects with
 * {@link NotCaughtUp} at the deadline, and rejects when `stop` is aborted.
 */
export async function waitUntilInClickHouse(
  engines: Engines,
  deadline_ms: number,
  stop?: AbortSignal,
): Promise<void> {
  await consumerReaches(engines, OFFSET_STORES.fold, 'emitted', { deadline_ms, stop });
  await consumerReaches(engines, OFFSET_STORES.sink, 'applied', { deadline_ms, stop });
}

/**
 * Resolves when every event that was accepted before the call is folded: changes that players asked for, such as a
 * self-exclusion, are in Postgres. Rejects with {@link NotCaughtUp} after `wait_ms`, and when `stop` is aborted.
 */
export async function waitUntilFolded(engines: Engines, wait_ms: number, stop?: AbortSignal): Promise<void> {
  const deadline_ms = engines.clock.now_ms() + wait_ms;
  await consumerReaches(engines, OFFSET_STORES.fold, 'applied', { deadline_ms, stop, poll_ms: FOLD_POLL_MS });
}

/** Waits until the consumer has passed the present end of its topic. */
async function consumerReaches(
  engines: Engines,
  store: OffsetStore,
  goal: 'applied' | 'emitted',
  patience: Patience,
): Promise<void> {
  const mark = await captureHighWatermark(
    { eventLog: engines.eventLog, sql: engines.postgres.service },
    store,
  );
  await poll(engines, patience, async () => {
    const { records, reason } = await lagOf(engines, store, mark, goal);
    if (reason !== undefined) return reason;
    const behind = [...records.values()].reduce((sum, one) => sum + one, 0n);
    return behind > 0n ? `${store.group} is ${behind} records behind` : undefined;
  });
}

/**
 * How far a consumer is behind these ends ({@link lagTo}). `emitted`: records count once what follows from them was
 * emitted, too.
 */
export async function lagOf(
  { eventLog, postgres }: Pick<Engines, 'eventLog' | 'postgres'>,
  store: OffsetStore,
  mark: HighWatermark,
  goal: 'applied' | 'emitted',
): Promise<Lag> {
  const log = { eventLog, sql: postgres.service };
  if (goal === 'applied') return lagTo(log, store, mark);
  const lag = await eventLog.lag(store.topic, store.group);
  const committed = new Map(lag.map(({ partition, next_offset }) => [partition, next_offset]));
  return lagTo(log, store, mark, committed);
}

interface Patience {
  deadline_ms: number;
  stop?: AbortSignal | undefined;
  poll_ms?: number;
}

/** Calls `probe` until it resolves to undefined; otherwise it resolves to a description of the open work. */
async function poll(
  { clock }: Pick<Engines, 'clock'>,
  { deadline_ms, stop, poll_ms = POLL_MS }: Patience,
  probe: () => Promise<string | undefined>,
): Promise<void> {
  for (;;) {
    stop?.throwIfAborted();
    const missing = await probe();
    if (missing === undefined) return;
    if (clock.now_ms() >= deadline_ms) {
      throw new NotCaughtUp(`the processors did not catch up in time: ${missing}`);
    }
    await sleep(poll_ms, undefined, { signal: stop });
  }
}
