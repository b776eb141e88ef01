import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../../src/package-root.ts';
import { connectSession } from '../../../src/platform/jobs/connections.ts';
import { OWNER, PROCESSORS, type SessionLimits } from '../../../src/platform/postgres/limits.ts';
import {
  migratePostgres,
  MigrationBlocked,
  repeatWhileLocked,
} from '../../../src/platform/postgres/migrate.ts';
import { connectPool, openPostgres } from '../../../src/platform/postgres/pool.ts';
import type { Db, Tx } from '../../../src/platform/postgres/port.ts';
import { isDataError, isWriteConflict } from '../../../src/platform/postgres/retry.ts';
import { newId } from '../../../src/platform/ids.ts';
import { statementWaits } from '../../engines/lock-wait.ts';
import { until } from '../../engines/until.ts';
import { openTestPostgres } from '../../engines/wiring.ts';

let server: Awaited<ReturnType<typeof openTestPostgres>>;
let owner: Db;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'test-migrations-'));
  server = await openTestPostgres({ prepared: true });
  owner = connectPool(server.url);
  await migratePostgres(owner);
  await owner`create table shelves (id integer primary key)`;
});
afterAll(async () => {
  await owner?.end({ timeout: 5 });
  await server?.close();
  await rm(folder, { recursive: true, force: true });
});

const failureOf = (work: Promise<unknown>): Promise<Error & { code?: string }> =>
  work.then(
    () => {
      throw new Error('it succeeded');
    },
    (error: Error) => error,
  );

async function withPool(limits: Partial<SessionLimits>, work: (sql: Db) => Promise<void>): Promise<void> {
  const sql = connectPool(server.url, { max: 1, limits: { ...OWNER, ...limits } });
  try {
    await work(sql);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** Runs `work` while a transaction holds the lock that `lock` takes. */
async function whileLocked(lock: string, work: () => Promise<void>): Promise<void> {
  let release = () => undefined as void;
  let hold = () => undefined as void;
  const held = new Promise<void>((resolve) => (hold = resolve));
  const done = owner.begin(async (tx) => {
    await tx.unsafe(lock);
    hold();
    await new Promise<void>((resolve) => (release = resolve));
  });
  await held;
  try {
    await work();
  } finally {
    release();
    await done;
  }
}

describe('every pool of the service', () => {
  it('has limits of its own, which no setting of the database replaces', async () => {
    const alter = `alter database ${new URL(server.url).pathname.slice(1)}`;
    await owner.unsafe(`${alter} set statement_timeout = 0; ${alter} set lock_timeout = 0`);
    const postgres = openPostgres(server.url);
    const settings = async (tx: Tx) => {
      const [row] = await tx<{ all: string }[]>`
        select concat_ws(' ', current_setting('statement_timeout'), current_setting('lock_timeout'),
          current_setting('idle_in_transaction_session_timeout')) as all`;
      return row?.all;
    };
    const tenant_id = newId();
    try {
      const [read] = await postgres.readAsTenant(
        tenant_id,
        (tx) => tx<{ statement: string; lock: string }[]>`
          select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock`,
      );
      expect(read).toEqual({ statement: '10s', lock: '1s' });
      const [count] = await postgres.countAsTenant(
        tenant_id,
        (tx) => tx<{ statement: string; tenant: string; role: string }[]>`
          select current_setting('statement_timeout') as statement, current_setting('app.tenant_id') as tenant,
            current_user::text as role`,
      );
      expect(count).toEqual({ statement: '1min', tenant: tenant_id, role: 'engagement_api' });
      expect(await postgres.asTenant(tenant_id, settings)).toBe('10s 3s 1min');
      expect(await settings(postgres.service)).toBe('1min 10s 2min');
      expect(await settings(postgres.lookups)).toBe('10s 1s 10s');
      expect(await postgres.service.begin(settings)).toBe('1min 10s 2min');
      expect(await postgres.patientSession(({ sql }) => settings(sql))).toBe('5min 2min 2min');
    } finally {
      await postgres.close();
      await owner.unsafe(`${alter} reset all`);
    }
  });

  it('of the owner too: it waits as long as a migration says, whatever the database is configured with', async () => {
    const alter = `alter database ${new URL(server.url).pathname.slice(1)}`;
    await owner.unsafe(`${alter} set statement_timeout = '7s'; ${alter} set lock_timeout = '7s'`);
    const sql = connectPool(server.url, { max: 1 });
    const show = `select concat_ws(' ', current_setting('statement_timeout'), current_setting('lock_timeout'),
      current_setting('tcp_keepalives_idle')) as all`;
    try {
      expect([...(await sql.unsafe(show))]).toEqual([{ all: '0 0 10' }]);
      expect([...(await sql.begin((tx) => tx.unsafe(show)))]).toEqual([{ all: '0 0 10' }]);
    } finally {
      await sql.end({ timeout: 5 });
      await owner.unsafe(`${alter} reset all`);
    }
  });

  it('notices a dead machine after 25 s, also for the jobs', async () => {
    const client = await connectSession(server.url, 'engagement test', () => undefined);
    try {
      const { rows } = await client.query<{ idle: string }>(
        `select current_setting('tcp_keepalives_idle') as idle`,
      );
      expect(rows).toEqual([{ idle: '10' }]);
    } finally {
      await client.end();
    }
  });

  it('a statement that waits too long for a lock fails as neither a data error nor a conflict', async () => {
    await withPool({ lock_ms: 50 }, (sql) =>
      whileLocked('lock table shelves', async () => {
        const error = await failureOf(sql`select * from shelves`);
        expect(error.code).toBe('55P03');
        expect([isDataError(error), isWriteConflict(error)]).toEqual([false, false]);
      }),
    );
  });

  it('a transaction that pauses for too long is ended, and its connection is replaced', async () => {
    await withPool({ idle_in_transaction_ms: 50 }, async (sql) => {
      let pid = 0;
      const error = await failureOf(
        sql.begin(async (tx) => {
          pid = (await tx<{ pid: number }[]>`select pg_backend_pid() as pid`)[0]?.pid ?? 0;
          for (let is_there = true; is_there;) {
            is_there = (await owner`select from pg_stat_activity where pid = ${pid}`).length > 0;
          }
          await tx`select 1`;
        }),
      );
      expect(['CONNECTION_CLOSED', '25P03']).toContain(error.code);
      // On a busy machine this one may pause for too long as well.
      await until(async () =>
        sql
          .begin((tx) => tx`select 1 as one`)
          .then(
            (rows) => rows[0]?.['one'] === 1,
            () => false,
          ),
      );
    });
  });
});

describe('callers that find every connection in use', () => {
  const waiting = { max_waiting: 1, max_wait_ms: 300 };

  it.each<[string, (sql: Db) => Promise<unknown>]>([
    ['transactions', (sql) => sql.begin((tx) => tx`select * from shelves`)],
    ['statements', (sql) => sql`select * from shelves`.execute()],
    ['statements as text', (sql) => sql.unsafe('select * from shelves').execute()],
  ])('wait in bounded number and time: %s', async (_what, work) => {
    await withPool({ waiting }, async (sql) => {
      let first: Promise<unknown> | undefined;
      await whileLocked('lock table shelves', async () => {
        first = work(sql);
        await statementWaits(owner);
        const second = failureOf(work(sql));
        const refused = await failureOf(work(sql));
        expect([refused.code, refused.message]).toEqual([
          'TOO_BUSY',
          '1 callers wait for a connection to Postgres',
        ]);
        expect((await second).message).toBe('waited 300 ms for a connection to Postgres');
      });
      expect(await first).toEqual([]);
      // The second caller waits for the first, and on a busy machine perhaps for longer than callers may.
      await until(async (saw) => {
        const both = saw(await Promise.allSettled([work(sql), work(sql)]));
        return both.every(({ status }) => status === 'fulfilled');
      });
    });
  });

  it('are served in order of arrival', async () => {
    await withPool({ waiting: { max_waiting: 10, max_wait_ms: 30_000 } }, async (sql) => {
      const order: number[] = [];
      const numbers = [0, 1, 2, 3, 4, 5];
      await Promise.all(numbers.map(async (n) => sql`select ${n}::integer`.then(() => order.push(n))));
      expect(order).toEqual(numbers);
      await expect(sql`select 1 / 0`).rejects.toThrow('division by zero');
      expect(await sql`select ${sql.unsafe('1')} as one, ${1}::integer as two`).toEqual([{ one: 1, two: 1 }]);
    });
  });
});

describe('a migration that needs a table in use', () => {
  const path = () => relative(packageRoot, folder);
  const write = (name: string, sql: string) => writeFile(join(folder, name), sql);

  it('lets others use the table meanwhile, and is applied once the table is free', async () => {
    await write('001_books.sql', 'create table books (id integer)');
    await migratePostgres(owner, path());
    await write('002_titles.sql', 'alter table books add column title text');
    let migrating: Promise<void> | undefined;
    await whileLocked('lock table books in access share mode', async () => {
      migrating = migratePostgres(owner, path(), { attempts: 1_000, pause_ms: 10 });
      await statementWaits(owner);
      await withPool({ lock_ms: PROCESSORS.lock_ms }, async (sql) => {
        expect(await sql`select id from books`).toEqual([]);
      });
    });
    await migrating;
    expect(await owner`select title from books`).toEqual([]);
  });

  it('is tried again when it and another transaction waited for each other', async () => {
    let attempts = 0;
    await repeatWhileLocked('books', { attempts: 2, pause_ms: 0 }, async () => {
      attempts++;
      if (attempts === 1) throw Object.assign(new Error('deadlock detected'), { code: '40P01' });
    });
    expect(attempts).toBe(2);
  });

  it('gives up after its attempts, and says what to do', async () => {
    await write('003_authors.sql', 'alter table books add column author text');
    await whileLocked('lock table books in access share mode', async () => {
      const error = await failureOf(migratePostgres(owner, path(), { attempts: 2, pause_ms: 10 }));
      expect(error).toBeInstanceOf(MigrationBlocked);
      expect(error.message).toMatch(/found a table locked 2 times: end the transaction/);
    });
    await migratePostgres(owner, path());
  });
});
