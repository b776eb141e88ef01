import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../src/platform/clock.ts';
import { LogUnavailable, type EventLog } from '../../src/platform/event-log/port.ts';
import { openPostgresLog } from '../../src/platform/event-log/postgres-log.ts';
import type { Logger } from '../../src/platform/logger.ts';
import { connectPool } from '../../src/platform/postgres/pool.ts';

/**
 * Opens the embedded log of a child process. Retries, because the log belongs to one process at a time, and the server
 * may not have noticed yet that the previous process was killed.
 */
export async function openChildLog(url: string, deps: { clock: Clock; logger: Logger }): Promise<EventLog> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await openPostgresLog({ sql: connectPool(url), ...deps });
    } catch (error) {
      if (!(error instanceof LogUnavailable) || attempt === 50) throw error;
      await sleep(100);
    }
  }
}
