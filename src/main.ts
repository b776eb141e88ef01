import { readConfig, ConfigError, type Config } from './config.ts';
import { startService, type Service } from './app/service.ts';
import { LogMisconfigured } from './platform/event-log/port.ts';
import { StartupError } from './platform/startup-error.ts';
import { isOldRelease, timeZoneRelease } from './platform/time-zone.ts';
import type { Platform } from './platform/platform.ts';

const CLOSE_TIMEOUT_MS = 30_000;

/**
 * Opens the embedded engines or the connections to servers; no other code depends on which. Imports only what it opens:
 * the embedded engines take memory as soon as they are loaded, and the container image does not have them.
 */
async function openPlatform(config: Config, stopping: AbortSignal): Promise<Platform> {
  if (config.servers === undefined) {
    const { openEmbeddedPlatform } = await import('./app/wiring/embedded.ts');
    return openEmbeddedPlatform(config, stopping);
  }
  const { openDistributedPlatform } = await import('./app/wiring/distributed.ts');
  return openDistributedPlatform(config, config.servers, stopping);
}

/** Prints the greeting, but only with the development issuer: with an identity provider there is no demo. */
async function announce(config: Config, platform: Platform, service: Service): Promise<void> {
  if (service.auth?.dev_issuer === undefined) return;
  const { greet } = await import('./app/greeting.ts');
  await greet(config, platform, service);
}

async function main(): Promise<void> {
  const config = readConfig();
  const stopping = new AbortController();
  let platform: Platform | undefined;
  let service: Service | undefined;
  const stop = (signal: NodeJS.Signals) => {
    // On Ctrl-C the signal comes twice: from the terminal and from npm.
    if (stopping.signal.aborted) return;
    stopping.abort();
    platform?.logger.info({ signal }, 'stopping');
    setTimeout(() => process.exit(1), config.drain_ms + CLOSE_TIMEOUT_MS).unref();
    void service?.close().then(() => process.exit(0));
  };
  // Before anything is opened: a signal during the start must close what was opened so far.
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  try {
    const opened = await openPlatform(config, stopping.signal);
    platform = opened;
    service = await startService(config, opened, {
      stopping: stopping.signal,
      announce: (listening) => announce(config, opened, listening),
    });
    const { base_url, ingest_url, ops_url } = service;
    opened.logger.info({ base_url, ingest_url, ops_url, roles: [...config.roles] }, 'ready');
    const release = timeZoneRelease();
    if (isOldRelease(release, opened.clock.now_ms())) {
      opened.logger.warn({ release }, 'the rules of time zones may be older than a year: update the service');
    }
  } catch (error) {
    // The interrupted start has closed what it had opened.
    if (stopping.signal.aborted) process.exit(0);
    throw error;
  }
}

main().catch((error: unknown) => {
  if (error instanceof ConfigError) console.error(`configuration: ${error.message}`);
  // The messages of these errors are sufficient for the operator; a stack trace would not help.
  else if (error instanceof StartupError || error instanceof LogMisconfigured) console.error(error.message);
  else console.error(error);
  process.exit(1);
});
