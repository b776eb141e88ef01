import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../../src/config.ts';
import { startEmbeddedPostgres } from '../../src/platform/postgres/embedded-server.ts';
import { openDistributedPlatform } from '../../src/wiring/distributed.ts';
import { openEmbeddedPlatform } from '../../src/wiring/embedded.ts';
import type { Platform } from '../../src/wiring/platform.ts';
import type { TestServers } from './global-setup.ts';
import { newInstallation } from './installation.ts';
import { copyPreparedPostgres } from './prepared-postgres.ts';

/** The servers of the project `distributed`; undefined where tests run on the embedded engines. */
async function sharedServers(): Promise<TestServers | undefined> {
  if (process.env['TEST_WIRING'] !== 'distributed') return undefined;
  // Only here, because the benchmarks use these files without vitest.
  const { inject } = await import('vitest');
  return inject('servers');
}

/**
 * A platform with nothing on it: the embedded engines on `config.data_dir`, or an installation on the servers, whose
 * topics have this many partitions.
 */
export async function openTestPlatform(
  config: Config,
  { partitions }: { partitions?: number } = {},
): Promise<Platform> {
  const servers = await sharedServers();
  if (servers !== undefined) {
    return openDistributedPlatform(config, await newInstallation(servers, partitions));
  }
  await copyPreparedPostgres(join(config.data_dir, 'postgres'));
  return openEmbeddedPlatform(config);
}

/**
 * A Postgres for tests that need no other engine: empty, or `prepared` with the schema, where somebody made one. Whoever
 * takes that migrates as well, which does nothing then.
 */
export async function openTestPostgres({ prepared = false } = {}): Promise<{
  url: string;
  close(): Promise<void>;
}> {
  const servers = await sharedServers();
  if (servers !== undefined) {
    const { postgres_url } = await newInstallation(servers);
    return { url: postgres_url, close: () => Promise.resolve() };
  }
  const dir = await mkdtemp(join(tmpdir(), 'engagement-postgres-'));
  if (prepared) await copyPreparedPostgres(dir);
  const server = await startEmbeddedPostgres({ dir });
  return {
    url: server.url,
    async close() {
      await server.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
