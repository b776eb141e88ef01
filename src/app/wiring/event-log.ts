import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ConfigError, type Config } from '../../config.ts';
import { systemClock } from '../../platform/clock.ts';
import { openKafkaLog } from '../../platform/event-log/kafka-log.ts';
import type { EventLog } from '../../platform/event-log/port.ts';
import { openPostgresLog } from '../../platform/event-log/postgres-log.ts';
import { createLogger } from '../../platform/logger.ts';
import { startEmbeddedPostgres } from '../../platform/postgres/embedded-server.ts';
import { connectPool } from '../../platform/postgres/pool.ts';
import { kafkaLogOptions } from './kafka-options.ts';
import { ShutdownStack } from './shutdown-stack.ts';

/**
 * Opens the event log without the other engines, so that it can be read when they are lost. `postgres_url` is where the
 * consumers' positions are. The embedded log is in a
 * data folder that exists and that no running service uses; otherwise it rejects with ConfigError or DataFolderInUse.
 */
export async function openEventLog(
  config: Config,
): Promise<Pick<EventLog, 'close'> & { log: EventLog; postgres_url: string }> {
  const logger = createLogger(config.log_level);
  if (config.servers !== undefined) {
    const log = openKafkaLog(await kafkaLogOptions(config.servers, logger));
    return { log, postgres_url: config.servers.postgres_url, close: () => log.close() };
  }
  const dir = resolve(config.data_dir, 'postgres');
  const exists = await stat(join(dir, 'cluster')).then(
    () => true,
    () => false,
  );
  if (!exists) throw new ConfigError(`DATA_DIR: there is no database in ${dir}`);
  const shutdown = new ShutdownStack(logger);
  try {
    const server = await startEmbeddedPostgres({ dir });
    shutdown.add('postgres server', () => server.stop());
    const sql = connectPool(server.url);
    shutdown.add('log connections', () => sql.end({ timeout: 5 }));
    const log = await openPostgresLog({ sql, clock: systemClock, logger });
    shutdown.add('event log', () => log.close());
    return { log, postgres_url: server.url, close: () => shutdown.close() };
  } catch (error) {
    await shutdown.close();
    throw error;
  }
}
