import { readConfig, ConfigError, type Config } from './config.ts';
import { greet } from './app/greeting.ts';
import { DataFolderInUse } from './platform/postgres/embedded-server.ts';
import { FolderUnreachable } from './platform/postgres/server-user.ts';
import { startService, type Service } from './app/service.ts';
import { openDistributedPlatform } from './wiring/distributed.ts';
import { openEmbeddedPlatform } from './wiring/embedded.ts';
import type { Platform } from './wiring/platform.ts';

const CLOSE_TIMEOUT_MS = 30_000;

/** The only place that knows whether the engines run here or on servers. */
function openPlatform(config: Config, stopping: AbortSignal): Promise<Platform> {
  return config.servers === undefined
    ? openEmbeddedPlatform(config, stopping)
    : openDistributedPlatform(config, config.servers, stopping);
}

async function main(): Promise<void> {
  const config = readConfig();
  const stopping = new AbortController();
  let platform: Platform | undefined;
  let service: Service | undefined;
  const stop = (signal: NodeJS.Signals) => {
    // npm passes on a Ctrl-C that the terminal has sent already.
    if (stopping.signal.aborted) return;
    stopping.abort();
    platform?.logger.info({ signal }, 'stopping');
    setTimeout(() => process.exit(1), CLOSE_TIMEOUT_MS).unref();
    void service?.close().then(() => process.exit(0));
  };
  // Before anything is opened: what a start has opened when a signal comes must not stay behind.
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  try {
    const opened = await openPlatform(config, stopping.signal);
    platform = opened;
    service = await startService(config, opened, {
      stopping: stopping.signal,
      announce: (listening) => greet(config, opened, listening),
    });
    const { base_url, ingest_url, health_url } = service;
    opened.logger.info({ base_url, ingest_url, health_url, roles: [...config.roles] }, 'ready');
  } catch (error) {
    // Whoever was interrupted has closed what it had opened.
    if (stopping.signal.aborted) process.exit(0);
    throw error;
  }
}

/** For these the message says all there is to do. */
function isPlain(error: unknown): error is Error {
  return error instanceof DataFolderInUse || error instanceof FolderUnreachable;
}

main().catch((error: unknown) => {
  if (error instanceof ConfigError) console.error(`configuration: ${error.message}`);
  else console.error(isPlain(error) ? error.message : error);
  process.exit(1);
});
