import { groupByEvent, type PlayerEvent } from '../../ingest/events/envelope.ts';
import type { LogRecord } from '../../platform/event-log/port.ts';
import { isUuid } from '../../platform/ids.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import type { Platform } from '../../wiring/platform.ts';
import { applyReceipts } from './callbacks/callback-queries.ts';
import type { Receipt } from './callbacks/callback.ts';

/** The events that report on a push, and the status that each reports. */
const STEPS: ReadonlyMap<string, Receipt['step']> = new Map([
  ['push_opened', 'opened'],
  ['push_clicked', 'clicked'],
]);

/**
 * Applies the events `push_opened` and `push_clicked` of the client SDK (spec part 6) to the pushes that their
 * `send_id` names, if the push went to the event's player. Idempotent, and independent of the order. Without such
 * events it costs no query.
 */
export async function applyPushFeedback(
  { postgres, clock }: Pick<Platform, 'postgres' | 'clock'>,
  records: readonly LogRecord[],
): Promise<void> {
  const byTenant = new Map<string, Receipt[]>();
  for (const { name, places } of groupByEvent(records)) {
    const step = STEPS.get(name.event);
    if (step === undefined) continue;
    const receipts = byTenant.get(name.tenant_id) ?? [];
    for (const place of places) {
      const receipt = receiptOf(JSON.parse(records[place]?.value ?? '') as PlayerEvent, step);
      if (receipt !== undefined) receipts.push(receipt);
    }
    if (receipts.length > 0) byTenant.set(name.tenant_id, receipts);
  }
  const now = new Date(clock.now_ms());
  for (const [tenant_id, receipts] of byTenant)
    await retryConflicts(() =>
      postgres.asTenant(tenant_id, (tx) => applyReceipts(tx, tenant_id, receipts, now)),
    );
}

function receiptOf(event: PlayerEvent, step: Receipt['step']): Receipt | undefined {
  const { project_id, player_id, occurred_at, received_at, properties } = event;
  const { send_id } = properties;
  if (typeof send_id !== 'string' || !isUuid(send_id)) return undefined;
  // A device's clock may be ahead, but a push was opened before its event was received. The update of the row corrects
  // times before the push was sent.
  return { project_id, player_id, send_id, step, at_ms: Math.min(occurred_at, received_at) };
}
