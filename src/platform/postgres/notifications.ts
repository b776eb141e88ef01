import type { Db, Tx } from './port.ts';
import type { Logger } from '../logger.ts';

/** Messages between processes by NOTIFY: fast, and lost while a listener is disconnected. */
export interface Notifications {
  /**
   * Calls `onPayload` for each message on the channel, and `onReset` each time listening (re)starts: messages
   * may have been missed before it, so caches must be dropped there.
   */
  on(channel: string, onPayload: (payload: string) => void, onReset: () => void): Promise<void>;
  /** Sends with the transaction's commit when given one. */
  notify(sql: Tx, channel: string, payload: string): Promise<void>;
}

/** Listens over one connection of `sql`, kept and re-established by the driver. */
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
