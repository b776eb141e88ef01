import type { Db, Tx } from './port.ts';
import type { Logger } from '../logger.ts';

/** Messages between processes by NOTIFY: fast, and lost while a listener is disconnected. */
export interface Notifications {
  /**
   * Calls `onPayload` for each message on the channel, and `onReset` each time listening starts or restarts. Messages
   * may have been missed before that, so `onReset` must drop caches.
   */
  on(channel: string, onPayload: (payload: string) => void, onReset: () => void): Promise<void>;
  /** Sends a message. If `sql` is a transaction, Postgres delivers the message when it commits. */
  notify(sql: Tx, channel: string, payload: string): Promise<void>;
}

/** Listens on one connection, which the driver of `sql` keeps open and re-establishes. */
export function openNotifications(sql: Db, logger: Logger): Notifications {
  return {
    async on(channel, onPayload, onReset) {
      await sql.listen(channel, onPayload, () => {
        logger.debug({ channel }, 'listening');
        onReset();
      });
    },
    async notify(target, channel, payload) {
      await target`select pg_notify(${channel}, ${payload})`;
    },
  };
}
