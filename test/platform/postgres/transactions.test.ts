import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  startEmbeddedPostgres,
  type EmbeddedServer,
} from '../../../src/platform/postgres/embedded-server.ts';
import { connectPool } from '../../../src/platform/postgres/pool.ts';
import type { Db, Tx } from '../../../src/platform/postgres/port.ts';
import { freePort } from '../../engines/free-port.ts';
import { until } from '../../engines/until.ts';

// The driver alone fails each of these tests: its rollback on a lost connection ends the process, and statements of a
// lost transaction run inside the next transaction on that connection. An unhandled rejection fails the file.

let dir: string;
let server: EmbeddedServer;
let owner: Db;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'test-transactions-'));
  server = await startEmbeddedPostgres({ dir, port: await freePort() });
  owner = connectPool(server.url, { max: 2 });
  await owner`create table notes (id integer generated always as identity, author text not null)`;
});
afterAll(async () => {
  await owner?.end({ timeout: 5 });
  await server?.stop();
  await rm(dir, { recursive: true, force: true });
});
beforeEach(async () => {
  await owner`truncate notes`;
});

const note = (tx: Tx, author: string) => tx`insert into notes (author) values (${author})`;
async function authors(): Promise<string[]> {
  const rows = await owner<{ author: string }[]>`select author from notes order by author`;
  return rows.map(({ author }) => author);
}

async function pidOf(tx: Tx): Promise<number> {
  const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
  return row?.pid ?? 0;
}
const endSession = (pid: number) => owner`select pg_terminate_backend(${pid}, 5000)`;

/** How a transaction ended: its code, or `done`. */
function outcomeOf(transaction: Promise<unknown>): Promise<string> {
  return transaction.then(
    () => 'done',
    (error: Error & { code?: string }) => error.code ?? error.message,
  );
}

async function withPool(max: number, work: (sql: Db) => Promise<void>): Promise<void> {
  const sql = connectPool(server.url, { max });
  try {
    await work(sql);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

describe('a transaction whose session is terminated', () => {
  test.each<[string, (tx: Tx, pid: number) => Promise<unknown>]>([
    [
      'while it waits for a statement',
      (tx, pid) => Promise.all([tx`select pg_sleep(20)`, sleep(50).then(() => endSession(pid))]),
    ],
    [
      'between statements',
      async (tx, pid) => {
        await endSession(pid);
        await note(tx, 'late');
      },
    ],
    ['before its commit', (_tx, pid) => endSession(pid)],
    [
      'before its rollback',
      async (_tx, pid) => {
        await endSession(pid);
        throw new Error('for reasons of its own');
      },
    ],
  ])('%s rejects as lost, leaves no rows, and does not affect later transactions', async (_when, work) => {
    await withPool(2, async (sql) => {
      for (let round = 0; round < 5; round++) {
        const lost = sql.begin(async (tx) => {
          await note(tx, 'lost');
          await work(tx, await pidOf(tx));
        });
        expect(await outcomeOf(lost)).toBe('CONNECTION_CLOSED');
        const next = Array.from({ length: 6 }, (_, i) => sql.begin((tx) => note(tx, `next ${i}`)));
        expect(await Promise.all(next.map(outcomeOf))).toEqual(next.map(() => 'done'));
      }
      expect(new Set(await authors())).toEqual(
        new Set(['0', '1', '2', '3', '4', '5'].map((i) => `next ${i}`)),
      );
      expect(await authors()).toHaveLength(30);
    });
  });

  test('runs no statement inside the transaction that follows it', async () => {
    await withPool(1, async (sql) => {
      let second: Promise<string> | undefined;
      let secondEnds = false;
      let secondBegan = false;
      let said = '';
      const first = sql.begin(async (tx) => {
        await note(tx, 'first');
        await endSession(await pidOf(tx));
        // The callback waits for something other than Postgres while the pool starts the next transaction.
        await until(() => secondBegan);
        said = await outcomeOf(Promise.resolve().then(() => note(tx, 'first, too late')));
        secondEnds = true;
      });
      const lost = outcomeOf(first).then((outcome) => {
        second = outcomeOf(
          sql.begin(async (tx) => {
            await note(tx, 'second');
            secondBegan = true;
            await until(() => secondEnds);
          }),
        );
        return outcome;
      });
      expect(await lost).toBe('CONNECTION_CLOSED');
      expect(await second).toBe('done');
      expect(said).toBe('CONNECTION_CLOSED');
      expect(await authors()).toEqual(['second']);
    });
  });
});

test('a statement issued after its transaction has ended is refused', async () => {
  await withPool(1, async (sql) => {
    let kept: Tx = sql;
    await sql.begin(async (tx) => {
      kept = tx;
      await note(tx, 'in time');
    });
    expect(() => note(kept, 'after the commit')).toThrow(/is over/);
    const failing = sql.begin((tx) => {
      kept = tx;
      return Promise.reject(new Error('undone'));
    });
    expect(await outcomeOf(failing)).toBe('undone');
    await sql.begin(async (tx) => {
      expect(() => note(kept, 'after the rollback')).toThrow(/is over/);
      await note(tx, 'its own');
    });
    expect(await authors()).toEqual(['in time', 'its own']);
  });
});

test('a failing statement rolls back, and the connection is kept', async () => {
  await withPool(1, async (sql) => {
    const pid = await sql.begin(pidOf);
    const failing = sql.begin(async (tx) => {
      await note(tx, 'undone');
      await Promise.all([tx`select 1 / ${0}::int`, note(tx, 'undone too')]);
    });
    expect(await outcomeOf(failing)).toBe('22012');
    const level = await sql.begin('isolation level repeatable read read only', async (tx) => {
      const [row] = await tx`show transaction_isolation`;
      return row?.['transaction_isolation'] as string;
    });
    expect(level).toBe('repeatable read');
    expect(await sql.begin(pidOf)).toBe(pid);
    expect(await authors()).toEqual([]);
  });
});

test('when Postgres restarts under load every transaction is either complete or absent', async () => {
  for (let round = 0; round < 3; round++) {
    await withPool(5, async (sql) => {
      let committed = 0;
      const transactions: Promise<string>[] = [];
      const startOne = () => {
        const i = transactions.length;
        const transaction = outcomeOf(
          sql.begin(async (tx) => {
            await note(tx, `${round}/${i}`);
            await tx`select pg_sleep(${0.01 * (i % 4)})`;
            await sleep(i % 3);
            await note(tx, `${round}/${i}`);
          }),
        ).then((outcome) => {
          if (outcome === 'done') committed++;
          return outcome;
        });
        transactions.push(transaction);
      };
      for (let i = 0; i < 80; i++) startOne();
      await until((saw) => saw(committed) > 10 + round);
      const { port } = server;
      // However fast the first ones are, some are under way when Postgres stops.
      const more = setInterval(startOne, 5);
      await server.stop().finally(() => clearInterval(more));
      const outcomes = await Promise.all(transactions);
      server = await startEmbeddedPostgres({ dir, port });
      await until(async (saw) => saw(await outcomeOf(sql.begin(pidOf))) === 'done');
      // The restart also closed the test's own connections.
      await until(async (saw) => saw(await outcomeOf(authors())) === 'done');
      const written = await authors();
      for (const [i, outcome] of outcomes.entries()) {
        const count = written.filter((author) => author === `${round}/${i}`).length;
        if (outcome === 'done') expect(count).toBe(2);
        else expect([0, 2]).toContain(count);
      }
      expect(outcomes).toContain('done');
      expect(outcomes.some((outcome) => outcome !== 'done')).toBe(true);
    });
  }
});
