import { headOf, type PlayerEvent } from '../../ingest/events/envelope.ts';
import type { LogRecord } from '../../platform/event-log/port.ts';
import { isUuid } from '../../platform/ids.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import type { Platform } from '../../wiring/platform.ts';
import { applyReceipts } from './callbacks/callback-queries.ts';
import type { Receipt } from './callbacks/callback.ts';

/** The events that report on a push, and the step of the message that each stands for. */
const STEPS: ReadonlyMap<string, Receipt['step']> = new Map([
  ['push_opened', 'opened'],
  ['push_clicked', 'clicked'],
]);

/**
 * Applies what the client SDK told of pushes by the events `push_opened` and `push_clicked` (spec part 6), as far as their
 * `send_id` names a push to the event's own player. In whatever order, and however often, it comes to the same. Where no
 * event tells of a push, nothing is asked.
 */
export async function applyPushFeedback(
  { postgres, clock }: Pick<Platform, 'postgres' | 'clock'>,
  records: readonly LogRecord[],
): Promise<void> {
  const byTenant = new Map<string, Receipt[]>();
  for (const { value } of records) {
    const step = STEPS.get(headOf(value)?.event ?? '');
    if (step === undefined) continue;
    const event = JSON.parse(value) as PlayerEvent;
    const receipt = receiptOf(event, step);
    if (receipt === undefined) continue;
    const receipts = byTenant.get(event.tenant_id);
    if (receipts === undefined) byTenant.set(event.tenant_id, [receipt]);
    else receipts.push(receipt);
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
  // A device's clock may be ahead; nothing was opened after we were told of it. That it was not opened before it was sent
  // either, the message's row says.
  return { project_id, player_id, send_id, step, at_ms: Math.min(occurred_at, received_at) };
}
