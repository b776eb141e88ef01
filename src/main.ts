import { readConfig, ConfigError, type Config } from './config.ts';
import { startService, type Service } from './app/service.ts';
import { LogMisconfigured } from './platform/event-log/port.ts';
import { StartupError } from './platform/startup-error.ts';
import type { Platform } from './wiring/platform.ts';

const CLOSE_TIMEOUT_MS = 30_000;

/**
 * The only place that knows whether the engines run here or on servers. It imports only what it opens: the engines
 * that run here take memory as soon as they are loaded, and the image does not have them.
 */
async function openPlatform(config: Config, stopping: AbortSignal): Promise<Platform> {
  if (config.servers === undefined) {
    const { openEmbeddedPlatform } = await import('./wiring/embedded.ts');
    return openEmbeddedPlatform(config, stopping);
  }
  const { openDistributedPlatform } = await import('./wiring/distributed.ts');
  return openDistributedPlatform(config, config.servers, stopping);
}

/** Nobody is greeted by a service that takes its sessions from an identity provider. */
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
      announce: (listening) => announce(config, opened, listening),
    });
    const { base_url, ingest_url, health_url } = service;
    opened.logger.info({ base_url, ingest_url, health_url, roles: [...config.roles] }, 'ready');
  } catch (error) {
    // Whoever was interrupted has closed what it had opened.
    if (stopping.signal.aborted) process.exit(0);
    throw error;
  }
}

main().catch((error: unknown) => {
  if (error instanceof ConfigError) console.error(`configuration: ${error.message}`);
  // For these the message says all there is to do.
  else if (error instanceof StartupError || error instanceof LogMisconfigured) console.error(error.message);
  else console.error(error);
  process.exit(1);
});
