import { setTimeout as sleep } from 'node:timers/promises';
import { groupByEvent, type PlayerEvent } from '../../ingest/events/envelope.ts';
import { BoundedCache } from '../../platform/bounded-cache.ts';
import type { LogRecord } from '../../platform/event-log/port.ts';
import { isUuid, NIL_ID } from '../../platform/ids.ts';
import { limitTransaction } from '../../platform/postgres/limits.ts';
import type { Platform } from '../../platform/platform.ts';
import { applyReceipts } from './callbacks/callback-queries.ts';
import type { Receipt } from './callbacks/callback.ts';
import { insertReceipts, selectTenantsWithReceipts, takeReceipts } from './push-receipt-queries.ts';

/** Receipts per statement and per transaction. */
const MAX_RECEIPTS = 1_000;
/** Tenants that are looked at in one turn, and those whose receipts are written at the same time. */
const MAX_TENANTS = 1_000;
const MAX_RUNNING = 4;
/** The longest statement, and the longest wait for one lock; the back-off of a tenant after a failure. */
const LONGEST_MS = 5_000;
const LONGEST_LOCK_MS = 250;
const BACK_OFF_MS = 2_000;
/** The pause of a turn in which nothing ends. */
const PAUSE_MS = 50;

/** The events that report on a push, and the status that each reports. */
const STEPS: ReadonlyMap<string, Receipt['step']> = new Map([
  ['push_opened', 'opened'],
  ['push_clicked', 'clicked'],
]);

/**
 * Records what the events `push_opened` and `push_clicked` of the client SDK (spec part 6) report, for
 * {@link PushReceipts}; returns how many there were. It waits for nobody's messages. Without such events it costs no query.
 */
export async function recordPushFeedback(
  { postgres }: Pick<Platform, 'postgres'>,
  records: readonly LogRecord[],
): Promise<number> {
  const found: (Receipt & { tenant_id: string })[] = [];
  for (const { name, places } of groupByEvent(records)) {
    const step = STEPS.get(name.event);
    if (step === undefined) continue;
    for (const place of places) {
      const receipt = receiptOf(JSON.parse(records[place]?.value ?? '') as PlayerEvent, step);
      if (receipt !== undefined) found.push({ ...receipt, tenant_id: name.tenant_id });
    }
  }
  for (let from = 0; from < found.length; from += MAX_RECEIPTS) {
    await insertReceipts(postgres.service, found.slice(from, from + MAX_RECEIPTS));
  }
  return found.length;
}

/**
 * Writes recorded receipts to the pushes that their `send_id` names, if the push went to the event's player. Idempotent,
 * and independent of the order. Each tenant has a transaction of its own, and one whose messages are locked backs off,
 * while those of others go on.
 */
export class PushReceipts {
  readonly #deps: Pick<Platform, 'postgres' | 'clock' | 'logger'>;
  /** Tenants whose receipts are being written. */
  readonly #running = new Map<string, Promise<void>>();
  /** The tenant that was looked at last: the next turn begins behind it, so that busy tenants hold up no other. */
  #after = NIL_ID;
  /** Until when a tenant backs off, in milliseconds of the process's monotonic clock. */
  readonly #back_offs = new BoundedCache<string, number>({ max: MAX_TENANTS });

  constructor(deps: Pick<Platform, 'postgres' | 'clock' | 'logger'>) {
    this.#deps = deps;
  }

  /** Begins to write receipts of tenants that have some, then pauses; false when none has. */
  async turn(stop: AbortSignal): Promise<boolean> {
    const began_at = this.#after;
    const tenants = await selectTenantsWithReceipts(this.#deps.postgres.service, began_at, MAX_TENANTS);
    for (const tenant_id of tenants) {
      if (this.#running.size >= MAX_RUNNING) break;
      this.#after = tenant_id;
      const backs_off = (this.#back_offs.get(tenant_id) ?? 0) > performance.now();
      if (!backs_off && !this.#running.has(tenant_id)) this.#run(tenant_id);
    }
    // There are none behind it: the next turn begins with the first tenant again.
    if (this.#after === (tenants.at(-1) ?? began_at)) this.#after = NIL_ID;
    if (tenants.length === 0 && began_at !== NIL_ID) return true;
    if (tenants.length === 0 && this.#running.size === 0) return false;
    const pause = sleep(PAUSE_MS, undefined, { signal: stop }).catch(() => undefined);
    await Promise.race([...this.#running.values(), pause]);
    return true;
  }

  /** Resolves when what runs has ended. */
  async close(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  #run(tenant_id: string): void {
    const { postgres, clock, logger } = this.#deps;
    const now = new Date(clock.now_ms());
    const written = postgres.service
      .begin(async (tx) => {
        await limitTransaction(tx, LONGEST_MS, LONGEST_LOCK_MS);
        const receipts = await takeReceipts(tx, tenant_id, MAX_RECEIPTS);
        if (receipts.length > 0) await applyReceipts(tx, tenant_id, receipts, now);
      })
      .catch((error: unknown) => {
        this.#back_offs.set(tenant_id, performance.now() + BACK_OFF_MS);
        logger.warn(
          { err: error, tenant_id },
          'reports on pushes could not be written; they are tried again',
        );
      })
      .finally(() => this.#running.delete(tenant_id));
    this.#running.set(tenant_id, written);
  }
}

function receiptOf(event: PlayerEvent, step: Receipt['step']): Receipt | undefined {
  const { project_id, player_id, occurred_at, received_at, properties } = event;
  const { send_id } = properties;
  if (typeof send_id !== 'string' || !isUuid(send_id)) return undefined;
  // A device's clock may be ahead, but a push was opened before its event was received. The update of the row corrects
  // times before the push was sent.
  return { project_id, player_id, send_id, step, at_ms: Math.min(occurred_at, received_at) };
}
