import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../../src/config.ts';
import { openEmbeddedClickHouse } from '../../src/platform/clickhouse/embedded.ts';
import type { ClickHouse } from '../../src/platform/clickhouse/port.ts';
import { startEmbeddedPostgres } from '../../src/platform/postgres/embedded-server.ts';
import { connectPool } from '../../src/platform/postgres/pool.ts';
import { openDistributedPlatform } from '../../src/app/wiring/distributed.ts';
import { openEmbeddedPlatform } from '../../src/app/wiring/embedded.ts';
import type { Platform } from '../../src/platform/platform.ts';
import type { TestServers } from './global-setup.ts';
import { newInstallation } from './installation.ts';
import { closeLasting } from './lasting.ts';
import { startPostgres } from './postgres.ts';
import { copyPreparedPostgres, newDatabase, type TestPostgres } from './shared-postgres.ts';

/** The servers of the test project `distributed`; undefined when tests run on the embedded engines. */
async function sharedServers(): Promise<TestServers | undefined> {
  if (process.env['TEST_WIRING'] !== 'distributed') return undefined;
  // Imported here only, because the benchmarks use these files without vitest.
  const { inject } = await import('vitest');
  return inject('servers');
}

export interface PlatformOptions {
  /** The number of partitions of topics; absent: 2 on the servers, 1 on the embedded engines. */
  partitions?: number;
  /** A Redis that no other file uses, on the servers. */
  redis_url?: string;
  /**
   * A Postgres server that no other file uses, for tests that observe the sessions, locks or transactions of a whole
   * server.
   */
  own_postgres?: boolean;
}

/**
 * An empty platform: on the servers an installation of its own, otherwise the embedded engines with a database on the
 * shared Postgres.
 */
export async function openTestPlatform(
  config: Config,
  { partitions, redis_url, own_postgres = false }: PlatformOptions = {},
): Promise<Platform> {
  await closeLasting();
  const servers = await sharedServers();
  if (servers !== undefined) {
    const given = redis_url === undefined ? servers : { ...servers, redis_url };
    if (own_postgres) return openOnOwnPostgres(config, given, partitions);
    return openDistributedPlatform(config, await newInstallation(given, partitions));
  }
  return openEmbeddedPlatform(config, undefined, async ({ dir }) => {
    const postgres = await startTestPostgres({ dir, prepared: true, own: own_postgres });
    if (partitions !== undefined) await partitionTopics(postgres.url, partitions);
    return { url: postgres.url, stop: () => postgres.close() };
  });
}

/** Gives the topics of the embedded log, which keeps the partitions that its topics have, so many. */
async function partitionTopics(url: string, partitions: number): Promise<void> {
  const sql = connectPool(url);
  try {
    await sql`update event_log.topics set partitions = ${partitions}`;
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** An installation on the servers, except for a Postgres server of its own that is stopped after the platform. */
async function openOnOwnPostgres(
  config: Config,
  servers: TestServers,
  partitions: number | undefined,
): Promise<Platform> {
  const postgres = await startPostgres();
  try {
    const given = { ...withoutTemplate(servers), postgres_url: postgres.url };
    const platform = await openDistributedPlatform(config, await newInstallation(given, partitions));
    return {
      ...platform,
      close: async () => {
        try {
          await platform.close();
        } finally {
          await postgres.stop();
        }
      },
    };
  } catch (error) {
    await postgres.stop();
    throw error;
  }
}

function withoutTemplate({ postgres_template: _template, ...servers }: TestServers): TestServers {
  return servers;
}

/**
 * A Postgres for tests that need no other engine: empty, or with the schema when `prepared` and a prepared one exists.
 * Callers must still migrate; a migration of a prepared database does nothing. With `own`, no other file uses the
 * server.
 */
export async function openTestPostgres({ prepared = false, own = false } = {}): Promise<TestPostgres> {
  const servers = await sharedServers();
  if (servers !== undefined && own) {
    const postgres = await startPostgres();
    return { url: postgres.url, close: () => postgres.stop() };
  }
  if (servers !== undefined) {
    const { postgres_url } = await newInstallation(prepared ? servers : withoutTemplate(servers));
    return { url: postgres_url, close: () => Promise.resolve() };
  }
  const dir = await mkdtemp(join(tmpdir(), 'engagement-postgres-'));
  const postgres = await startTestPostgres({ dir, prepared, own });
  return {
    url: postgres.url,
    async close() {
      await postgres.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** An embedded ClickHouse on the folder `path`; closes the one that the files of this worker share. */
export async function openTestClickHouse(path: string): Promise<ClickHouse> {
  await closeLasting();
  return openEmbeddedClickHouse(path);
}

/** A database on the shared server; or a server on the folder `dir`, if `own` is set or no server is shared. */
async function startTestPostgres(options: {
  dir: string;
  prepared: boolean;
  own: boolean;
}): Promise<TestPostgres> {
  const { dir, prepared, own } = options;
  const database = own ? undefined : await newDatabase({ prepared });
  if (database !== undefined) return database;
  if (prepared) await copyPreparedPostgres(dir);
  const server = await startEmbeddedPostgres({ dir });
  return { url: server.url, close: () => server.stop() };
}
