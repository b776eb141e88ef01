import { ApiError } from '../../errors.ts';
import { encodeAccepted, identityKey } from '../../ingest/events/envelope.ts';
import { LogUnavailable } from '../../platform/event-log/port.ts';
import { newId } from '../../platform/ids.ts';
import type { Platform } from '../../platform/platform.ts';
import { TOPICS } from '../../platform/event-log/topics.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

/** The event, and the visitor whose it is: no money and no exclusion. The first one makes a player without ids. */
const EVENT = 'custom_console_test';
const VISITOR = 'console-test';
const RETRY_AFTER_S = 1;

/**
 * Appends one event of a made-up visitor to the log, as intake does, so that somebody can see that events arrive and are
 * processed. Resolves with its place once it is durable. Rejects with INGESTION_UNAVAILABLE.
 */
export async function sendTestEvent(
  { eventLog, clock }: Pick<Platform, 'eventLog' | 'clock'>,
  { tenant_id, project_id }: ProjectRef,
  environment: string,
): Promise<{ ingestion_id: string; index: number }> {
  const event = { event: EVENT, anonymous_id: VISITOR, properties: { sent_from: 'console' } };
  const stamp = { ingestion_id: newId(), tenant_id, project_id, environment, received_at_ms: clock.now_ms() };
  const value = encodeAccepted(stamp, 0, JSON.stringify(event));
  try {
    await eventLog.append(TOPICS.events, [{ key: identityKey(project_id, event), value }]);
  } catch (cause) {
    if (!(cause instanceof LogUnavailable)) throw cause;
    const message = 'the event log takes no events now; try it again';
    throw new ApiError('INGESTION_UNAVAILABLE', message, { cause, retry_after_s: RETRY_AFTER_S });
  }
  return { ingestion_id: stamp.ingestion_id, index: 0 };
}
