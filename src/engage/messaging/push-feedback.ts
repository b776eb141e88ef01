import { groupByEvent, type PlayerEvent } from '../../ingest/events/envelope.ts';
import type { LogRecord } from '../../platform/event-log/port.ts';
import { isUuid } from '../../platform/ids.ts';
import { limitTransaction } from '../../platform/postgres/limits.ts';
import type { Platform } from '../../platform/platform.ts';
import { applyReceipts, type Receipt } from './callbacks/callback-queries.ts';
import { insertReceipts, takeReceipts } from './push-receipt-queries.ts';

/** Receipts per statement and per transaction. */
const MAX_RECEIPTS = 1_000;
/** The longest statement, and the longest wait for one lock. */
const LONGEST_MS = 5_000;
const LONGEST_LOCK_MS = 250;

/** The events that report on a push, and the status that each reports. */
const STEPS: ReadonlyMap<string, Receipt['step']> = new Map([
  ['push_opened', 'opened'],
  ['push_clicked', 'clicked'],
]);

/**
 * Records what the events `push_opened` and `push_clicked` of the client SDK (spec part 6) report, for
 * {@link writeReceipts}; returns how many there were. It waits for nobody's messages. Without such events it costs no query.
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
 * Writes the next recorded receipts of a tenant to the pushes that their `send_id` names, if the push went to the event's
 * player; false when none waits. Idempotent, and independent of the order. Rejects when messages are locked for long.
 */
export async function writeReceipts(
  { postgres, clock }: Pick<Platform, 'postgres' | 'clock'>,
  tenant_id: string,
): Promise<boolean> {
  return postgres.service.begin(async (tx) => {
    await limitTransaction(tx, LONGEST_MS, LONGEST_LOCK_MS);
    const receipts = await takeReceipts(tx, tenant_id, MAX_RECEIPTS);
    if (receipts.length > 0) await applyReceipts(tx, tenant_id, receipts, new Date(clock.now_ms()));
    return receipts.length > 0;
  });
}

function receiptOf(event: PlayerEvent, step: Receipt['step']): Receipt | undefined {
  const { project_id, player_id, occurred_at, received_at, properties } = event;
  const { send_id } = properties;
  if (typeof send_id !== 'string' || !isUuid(send_id)) return undefined;
  // A device's clock may be ahead, but a push was opened before its event was received. The update of the row corrects
  // times before the push was sent.
  return { project_id, player_id, send_id, step, at_ms: Math.min(occurred_at, received_at) };
}
