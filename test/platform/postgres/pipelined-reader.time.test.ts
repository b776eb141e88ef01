import { setTimeout as sleep } from 'node:timers/promises';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../../src/platform/ids.ts';
import {
  startEmbeddedPostgres,
  type EmbeddedServer,
} from '../../../src/platform/postgres/embedded-server.ts';
import { migratePostgres } from '../../../src/platform/postgres/migrate.ts';
import { connectPool, openPostgres } from '../../../src/platform/postgres/pool.ts';
import type { Db, Postgres } from '../../../src/platform/postgres/port.ts';
import { copyPreparedPostgres } from '../../engines/shared-postgres.ts';
import { freePort } from '../../engines/free-port.ts';
import { until } from '../../engines/until.ts';

/** A read under way when its connection is lost must resolve or reject within this time. */
const BOUND_MS = 10_000;

let dir: string;
let server: EmbeddedServer;
let owner: Db;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'test-pipelined-reader-'));
  await copyPreparedPostgres(dir);
  server = await startEmbeddedPostgres({ dir, port: await freePort() });
  owner = connectPool(server.url, { max: 1 });
  await migratePostgres(owner);
});
afterAll(async () => {
  await owner?.end({ timeout: 5 });
  await server?.stop();
  await rm(dir, { recursive: true, force: true });
});

/** Runs a statement that no connection has prepared yet, so Postgres describes it first; `shape` may repeat. */
function read(postgres: Postgres, shape: string, slow_s = 0): Promise<{ n: number; tenant: string }[]> {
  const tenant_id = newId();
  return postgres
    .readAsTenant<{ n: number; tenant: string }>(
      tenant_id,
      (tx) => tx`
      select ${7}::int as n, current_setting('app.tenant_id') as tenant, ${tx.unsafe(`'${shape}'`)} as shape
      from pg_sleep(${slow_s})`,
    )
    .then((rows) => {
      expect(rows).toMatchObject([{ n: 7, tenant: tenant_id }]);
      return rows;
    });
}

/** The outcomes of the reads; fails when one of them does not settle in time. */
async function settled(reads: Promise<unknown>[], what: string): Promise<PromiseSettledResult<unknown>[]> {
  const timer = new AbortController();
  const late = sleep(BOUND_MS, 'late' as const, { signal: timer.signal }).catch(() => 'late' as const);
  const outcomes = await Promise.race([Promise.allSettled(reads), late]);
  timer.abort();
  if (outcomes === 'late') throw new Error(`${what}: some reads have not ended`);
  return outcomes;
}

async function terminateApiSessions(): Promise<void> {
  await owner`
    select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'engagement engagement_api'`;
}

async function apiSessions(): Promise<number> {
  const [row] = await owner<{ sessions: bigint }[]>`
    select count(*) as sessions from pg_stat_activity where application_name = 'engagement engagement_api'`;
  return Number(row?.sessions);
}

async function expectReadsToWork(postgres: Postgres, what: string): Promise<void> {
  await until(
    `${what}: reads work again`,
    async (saw) => {
      const [outcome] = saw(await settled([read(postgres, what)], what));
      return outcome?.status === 'fulfilled';
    },
    BOUND_MS,
  );
  // As many reads as use every connection of the pool, not just the first.
  for (const outcome of await settled(
    Array.from({ length: 40 }, () => read(postgres, what)),
    what,
  )) {
    expect(outcome.status).toBe('fulfilled');
  }
}

test('reads whose sessions are terminated settle, and later reads work', async () => {
  const postgres = openPostgres(server.url);
  try {
    for (let round = 0; round < 40; round++) {
      const what = `ended ${round}`;
      const reads = Array.from({ length: 25 }, (_, i) => read(postgres, `${what} ${i % 3}`, 0.005 * (i % 4)));
      const all = settled(reads, what);
      await sleep((round * 7) % 40);
      await terminateApiSessions();
      for (const outcome of await all) {
        if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(Error);
      }
      await expectReadsToWork(postgres, what);
    }
  } finally {
    await postgres.close();
  }
});

test('reads under way on new connections settle when Postgres restarts, and later reads work', async () => {
  for (let round = 0; round < 5; round++) {
    const what = `restart ${round}`;
    const postgres = openPostgres(server.url);
    try {
      const reads = Array.from({ length: 25 }, (_, i) => read(postgres, `${what} ${i % 5}`, 0.2 * (i % 2)));
      const all = settled(reads, what);
      await sleep(round * 15);
      const { port } = server;
      await server.stop();
      const refused = settled(
        Array.from({ length: 25 }, () => read(postgres, what)),
        what,
      );
      await all;
      for (const outcome of await refused) expect(outcome.status).toBe('rejected');
      server = await startEmbeddedPostgres({ dir, port });
      await expectReadsToWork(postgres, what);
    } finally {
      await postgres.close();
    }
  }
});

test('a statement that fails, in Postgres or before it is sent, rejects and does not affect later reads', async () => {
  const postgres = openPostgres(server.url);
  try {
    for (let round = 0; round < 12; round++) {
      const tenant_id = newId();
      const failing = [
        postgres.readAsTenant(tenant_id, (tx) => tx`select 1 / ${0}::int as n, ${round}::int as round`),
        postgres.readAsTenant(tenant_id, (tx) => tx`select ${undefined as unknown as string} as n`),
        postgres.readAsTenant(tenant_id, (tx) => tx`insert into tenants default values returning tenant_id`),
      ];
      const good = Array.from({ length: 15 }, () => read(postgres, 'beside failures'));
      const outcomes = await settled([...failing, ...good], `failures ${round}`);
      const statuses = outcomes.map(({ status }) => status);
      expect(statuses).toEqual([...failing.map(() => 'rejected'), ...good.map(() => 'fulfilled')]);
    }
  } finally {
    await postgres.close();
  }
});

test('reads wait for a connection, the number of connections is limited, and none outlives the pool', async () => {
  await until(async (saw) => saw(await apiSessions()) === 0);
  const postgres = openPostgres(server.url);
  try {
    const all = settled(
      Array.from({ length: 60 }, () => read(postgres, 'many', 0.02)),
      'many',
    );
    await sleep(30);
    expect(await apiSessions()).toBeLessThanOrEqual(10);
    for (const outcome of await all) expect(outcome.status).toBe('fulfilled');
    await expect(postgres.readAsTenant('no uuid', (tx) => tx`select 1`)).rejects.toThrow(TypeError);
  } finally {
    await postgres.close();
  }
  await expect(read(postgres, 'closed')).rejects.toThrow();
  await until(async (saw) => saw(await apiSessions()) === 0);
});
