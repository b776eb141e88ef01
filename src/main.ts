import { readConfig, ConfigError, type Config } from './config.ts';
import { greet } from './greeting.ts';
import { startService } from './service.ts';
import { openDistributedPlatform } from './wiring/distributed.ts';
import { openEmbeddedPlatform } from './wiring/embedded.ts';
import type { Platform } from './wiring/platform.ts';

const CLOSE_TIMEOUT_MS = 30_000;

/** The only place that knows whether the engines run here or on servers. */
function openPlatform(config: Config): Promise<Platform> {
  return config.servers === undefined
    ? openEmbeddedPlatform(config)
    : openDistributedPlatform(config, config.servers);
}

async function main(): Promise<void> {
  const config = readConfig();
  const platform = await openPlatform(config);
  const service = await startService(config, platform);
  await greet(config, platform, service);

  let closing = false;
  const stop = (signal: NodeJS.Signals) => {
    if (closing) return;
    closing = true;
    platform.logger.info({ signal }, 'stopping');
    setTimeout(() => process.exit(1), CLOSE_TIMEOUT_MS).unref();
    void service.close().then(() => process.exit(0));
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
}

main().catch((error: unknown) => {
  console.error(error instanceof ConfigError ? `configuration: ${error.message}` : error);
  process.exit(1);
});
