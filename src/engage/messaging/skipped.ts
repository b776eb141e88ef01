import type { Metrics } from '../../platform/metrics.ts';
import type { Channel } from '../../tenants/config/channels.ts';

/** Counts messages that have this code, if it says that they were skipped. */
export function countSkipped(
  { messagesSkipped }: Pick<Metrics, 'messagesSkipped'>,
  channel: Channel,
  code: string | null,
  messages = 1,
): void {
  if (code?.startsWith('SKIPPED_') === true) messagesSkipped.inc({ channel, code }, messages);
}
