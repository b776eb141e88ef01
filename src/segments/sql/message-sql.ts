import type { MessageStatus } from '../../analytics/message-status.ts';
import type { MessageCondition } from '../language/conditions.ts';
import { timesIn, type Window } from '../language/span.ts';
import type { Bindings } from './bindings.ts';
import { timesSql } from './comparison-sql.ts';
import { OWNER, playerIdsSql, SCOPE } from './owner-sql.ts';

/**
 * When a message reached a status, as an expression over `message_sends`; null while it has not. Because a callback can
 * be lost, a later status implies the earlier ones: a clicked message was also opened. A message that was never sent
 * has the time at which that was decided.
 */
export const REACHED_AT: Readonly<Record<MessageStatus, string>> = {
  sent: 'sent_at',
  delivered: 'coalesce(delivered_at, opened_at, clicked_at)',
  opened: 'coalesce(opened_at, clicked_at)',
  clicked: 'clicked_at',
  bounced: 'bounced_at',
  failed: `if(status = 'failed', enqueued_at, null)`,
  capped: `if(status = 'capped', enqueued_at, null)`,
};

/**
 * Whether the player has such a message. `of_players`: only the messages of the statement's players are read. `until`: only
 * those that had reached the status by this time.
 */
export function messageSql(
  condition: MessageCondition,
  bindings: Bindings,
  of_players: boolean,
  until?: string,
): string {
  const { channel, status, campaign_id, window } = condition;
  const conditions = [
    SCOPE,
    ...(of_players ? [`player_id in ${playerIdsSql(true)}`] : []),
    `channel = ${bindings.bind('String', channel)}`,
    ...(campaign_id === undefined ? [] : [`campaign_id = ${bindings.bind('UUID', campaign_id)}`]),
    ...within(REACHED_AT[status], window, bindings),
    ...(until === undefined ? [] : [`${REACHED_AT[status]} <= ${until}`]),
  ];
  return `p.player_id in (select ${OWNER} from message_sends final where ${conditions.join(' and ')})`;
}

function within(time: string, window: Window, bindings: Bindings): string[] {
  const bounds = timesSql(time, timesIn(window), bindings);
  return bounds.length > 0 ? bounds : [`${time} is not null`];
}
