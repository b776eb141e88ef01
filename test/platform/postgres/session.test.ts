import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectPool, openPostgres } from '../../../src/platform/postgres/pool.ts';
import { migratePostgres } from '../../../src/platform/postgres/migrate.ts';
import type { Db, Postgres, Session, Tx } from '../../../src/platform/postgres/port.ts';
import { waitForLocks } from '../../../src/platform/postgres/session.ts';
import type { TestPostgres } from '../../engines/shared-postgres.ts';
import { until } from '../../engines/until.ts';
import { openTestPostgres } from '../../engines/wiring.ts';

// Sessions that hold advisory locks without a transaction.

let server: TestPostgres;
let owner: Db;
let postgres: Postgres;
beforeAll(async () => {
  server = await openTestPostgres({ prepared: true, own: true });
  owner = connectPool(server.url);
  await migratePostgres(owner);
  await owner`create table notes (author text not null)`;
  await owner`grant all on notes to engagement_service`;
  postgres = openPostgres(server.url);
});
afterAll(async () => {
  await postgres?.close();
  await owner?.end({ timeout: 5 });
  await server?.close();
});

const LOCK = 4_711;
const tryLock = async ({ sql }: Session) => {
  const [row] = await sql<{ locked: boolean }[]>`select pg_try_advisory_lock(${LOCK}) as locked`;
  return row?.locked ?? false;
};
const pidOf = async (sql: Tx) => {
  const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
  return row?.pid ?? 0;
};
const endSession = (pid: number) => owner`select pg_terminate_backend(${pid}, 5000)`;
const notes = async () => (await owner<{ author: string }[]>`select author from notes`).map((n) => n.author);

test('a session holds its lock without a transaction, and releases it at its end, also after an error', async () => {
  for (const fails of [false, true]) {
    const ended = postgres.session(async (session) => {
      expect(await tryLock(session)).toBe(true);
      await session.begin((tx) => tx`select 1`);
      const pid = await pidOf(session.sql);
      const [state] = await owner`
        select state, backend_xid, backend_xmin, xact_start from pg_stat_activity where pid = ${pid}`;
      expect(state).toEqual({ state: 'idle', backend_xid: null, backend_xmin: null, xact_start: null });
      expect(await postgres.patientSession(tryLock)).toBe(false);
      if (fails) throw new Error('of its own');
    });
    await (fails ? expect(ended).rejects.toThrow('of its own') : ended);
    expect(await postgres.patientSession(tryLock)).toBe(true);
  }
});

test('after its connection was lost, a session commits nothing, and others get its lock', async () => {
  await owner`truncate notes`;
  await postgres.session(async (session) => {
    expect(await tryLock(session)).toBe(true);
    await endSession(await pidOf(session.sql));
    await until(() => postgres.patientSession(tryLock));
    const late = session.begin((tx) => tx`insert into notes values ('late')`);
    await expect(late).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
    await expect(Promise.resolve().then(() => session.sql`select 1`)).rejects.toThrow('lost');
  });
  await expect(
    postgres.session((session) =>
      session.begin(async (tx) => {
        await tx`insert into notes values ('half')`;
        await endSession(await pidOf(tx));
      }),
    ),
  ).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
  expect(await postgres.session(tryLock)).toBe(true);
  expect(await notes()).toEqual([]);
});

test('a wait for a lock ends when the other session ends, and holds no statement for long', async () => {
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  let waits = 0;
  let holding = Promise.resolve();
  await new Promise<void>((resolve, reject) => {
    holding = postgres.session(async (session) => {
      expect(await tryLock(session)).toBe(true);
      resolve();
      await released;
    });
    holding.catch(reject);
  });
  const waiting = postgres.session(({ sql }) =>
    waitForLocks((lock_timeout) => {
      waits += 1;
      return sql`
        with patience as materialized (select set_config('lock_timeout', ${lock_timeout}, true))
        select pg_advisory_lock(${LOCK}) from patience`;
    }),
  );
  await until((saw) => saw(waits) === 3);
  release();
  await Promise.all([holding, waiting]);
  expect(await postgres.session(tryLock)).toBe(true);
});
