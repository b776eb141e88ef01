import type { Config, Servers } from '../src/config.ts';
import { openDistributedPlatform } from '../src/app/wiring/distributed.ts';
import { openEmbeddedPlatform } from '../src/app/wiring/embedded.ts';
import type { Platform } from '../src/platform/platform.ts';

/** The platform a bench server runs on: embedded, or the servers given as JSON in BENCH_SERVERS. */
export function openBenchPlatform(config: Config): Promise<Platform> {
  const given = process.env['BENCH_SERVERS'];
  if (given === undefined) return openEmbeddedPlatform(config);
  return openDistributedPlatform(config, JSON.parse(given) as Servers);
}

/** The URL of the platform's Postgres, with user and password. */
export function postgresUrlOf({ postgres }: Platform): string {
  const { host, port, user, pass, database } = postgres.service.options;
  return `postgres://${user}:${String(pass)}@${host[0]}:${port[0]}/${database}`;
}
