import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../../src/platform/ids.ts';
import { migratePostgres } from '../../../src/platform/postgres/migrate.ts';
import { connectPool, openPostgres } from '../../../src/platform/postgres/pool.ts';
import type { Db, Postgres, Tx } from '../../../src/platform/postgres/port.ts';
import { Random } from '../../crash/random.ts';
import { openTestPostgres } from '../../engines/wiring.ts';
import { runs, SEED } from '../../engines/effort.ts';
import { until } from '../../engines/until.ts';

// Two tenants take turns on the same few connections. No statement here filters by tenant: only the tenant setting of
// the connection's transaction keeps their rows apart.

const CHECKOUTS = runs(10_000);
/** More than there are connections, so turns wait for a connection and get one that was released just before. */
const AT_ONCE = 40;

interface Tenant {
  tenant_id: string;
  rows: number;
  /** The number of committed changes. */
  changes: number;
}

let server: Awaited<ReturnType<typeof openTestPostgres>>;
let owner: Db;
let postgres: Postgres;
let tenants: [Tenant, Tenant];

beforeAll(async () => {
  server = await openTestPostgres({ prepared: true });
  owner = connectPool(server.url, { max: 2 });
  await migratePostgres(owner);
  // The database is dropped after the test, so durability is not needed.
  await owner.unsafe(`alter database ${new URL(server.url).pathname.slice(1)} set synchronous_commit = off`);
  await owner`create table tallies (tenant_id uuid, id integer, n bigint not null default 0, primary key (tenant_id, id))`;
  await owner`call protect_tenant_table('tallies')`;
  await owner`create sequence tally_numbers`;
  await owner`grant usage on sequence tally_numbers to engagement_api`;
  const make = async (rows: number): Promise<Tenant> => {
    const tenant_id = newId();
    await owner`insert into tallies (tenant_id, id) select ${tenant_id}, i from generate_series(1, ${rows}::integer) i`;
    return { tenant_id, rows, changes: 0 };
  };
  tenants = [await make(6), await make(9)];
  postgres = openPostgres(server.url);
});
afterAll(async () => {
  await postgres?.close();
  await owner?.end({ timeout: 5 });
  await server?.close();
});

type Row = { tenant_id: string };
const all = (tx: Tx) => tx<Row[]>`select tenant_id from tallies`;
/** Changes one row, so that writers rarely wait for each other. */
const change = (tx: Tx, id: number) =>
  tx<Row[]>`update tallies set n = n + 1 where id = ${id} returning tenant_id`;

/** Thrown when a tenant sees a row of another tenant, or does not see one of its own. */
class Leak extends Error {
  override readonly name = 'Leak';
}

function mine(rows: readonly Row[], { tenant_id }: Tenant, count: number): void {
  if (rows.length !== count || rows.some((row) => row.tenant_id !== tenant_id)) {
    throw new Leak(`${tenant_id} got ${rows.length} rows: ${JSON.stringify(rows)}`);
  }
}

interface Turn {
  who: Tenant;
  other: Tenant;
  id: number;
}

/** The kinds of turns, each with its weight and, where it must fail, the expected error code. */
const TURNS: { often: number; fails?: string; take: (turn: Turn) => Promise<unknown> }[] = [
  {
    often: 40,
    take: async ({ who }) => mine(await postgres.readAsTenant(who.tenant_id, all), who, who.rows),
  },
  {
    often: 20,
    take: async ({ who }) =>
      mine(await postgres.asTenant(who.tenant_id, async (tx) => all(tx)), who, who.rows),
  },
  {
    often: 20,
    take: async ({ who, id }) => {
      mine(await postgres.asTenant(who.tenant_id, async (tx) => change(tx, id)), who, 1);
      who.changes++;
    },
  },
  {
    often: 5,
    fails: 'given up',
    take: ({ who, id }) =>
      postgres.asTenant(who.tenant_id, async (tx) => {
        mine(await change(tx, id), who, 1);
        throw Object.assign(new Error('for reasons of its own'), { code: 'given up' });
      }),
  },
  {
    often: 5,
    fails: '22012',
    take: ({ who, id }) =>
      postgres.asTenant(who.tenant_id, async (tx) => {
        await Promise.all([change(tx, id), tx`select 1 / ${0}::integer`, all(tx)]);
      }),
  },
  {
    often: 4,
    fails: '42501',
    take: ({ who, other }) =>
      postgres.asTenant(
        who.tenant_id,
        (tx) => tx`insert into tallies (tenant_id, id) values (${other.tenant_id}, 99)`,
      ),
  },
  {
    often: 4,
    fails: '22012',
    take: ({ who }) =>
      postgres.readAsTenant(who.tenant_id, (tx) => tx`select 1 / ${0}::integer as n from tallies`),
  },
  {
    often: 1,
    fails: '57014',
    take: ({ who, id }) =>
      postgres.asTenant(who.tenant_id, async (tx) => {
        await change(tx, id);
        await tx`set local statement_timeout = 1`;
        await tx`select pg_sleep(5)`;
      }),
  },
  {
    often: 1,
    take: ({ who }) =>
      postgres.asTenant(who.tenant_id, async (tx) => {
        mine(await all(tx), who, who.rows);
        await tx.unsafe('rollback');
        nobody(await tx.unsafe<Outside[]>(OUTSIDE));
      }),
  },
  {
    // A read is one statement: several are refused, so none of them runs without the tenant.
    often: 1,
    fails: '42601',
    take: ({ who }) =>
      postgres.readAsTenant(who.tenant_id, (tx) => tx.unsafe<Outside[]>(`select 1; ${OUTSIDE}`).simple()),
  },
  {
    often: 1,
    fails: '25006',
    take: ({ who }) => postgres.readAsTenant(who.tenant_id, (tx) => tx`select nextval('tally_numbers') as n`),
  },
];

/** What a connection sees outside of a transaction. */
interface Outside {
  tenant: string | null;
  rows: number;
}
const OUTSIDE = `select current_setting('app.tenant_id', true) as tenant, (select count(*) from tallies)::integer as rows`;

function nobody(found: readonly Outside[]): void {
  const [first] = found;
  if (found.length !== 1 || (first?.tenant ?? '') !== '' || first?.rows !== 0) {
    throw new Leak(`outside of a transaction: ${JSON.stringify(found)}`);
  }
}

const LOT = TURNS.flatMap((turn) => Array.from({ length: turn.often }, () => turn));

/** Takes `count` turns, alternating between the tenants, {@link AT_ONCE} of them at a time. */
async function takeTurns(count: number, random: Random, onTurn: (outcome: string, fails?: string) => void) {
  let taken = 0;
  const player = async () => {
    while (taken < count) {
      const [who, other] = taken++ % 2 === 0 ? tenants : [tenants[1], tenants[0]];
      const turn = random.pick(LOT);
      const outcome = await turn.take({ who, other, id: random.integer(1, who.rows) }).then(
        () => 'done',
        (error: Error & { code?: string }) => error.code ?? `${error.name}: ${error.message}`,
      );
      onTurn(outcome, turn.fails);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, player));
}

async function expectChangesKept(): Promise<void> {
  const rows = await owner<{ tenant_id: string; changes: bigint; rows: bigint }[]>`
    select tenant_id, sum(n)::bigint as changes, count(*) as rows from tallies group by 1`;
  for (const { tenant_id, changes, rows: count } of tenants) {
    const found = rows.find((row) => row.tenant_id === tenant_id);
    expect([found?.changes, found?.rows]).toEqual([BigInt(changes), BigInt(count)]);
  }
}

test('turns of two tenants on the same connections, valid and failing ones, leak no row', async () => {
  const seen = new Map<string, number>();
  const wrong: string[] = [];
  await takeTurns(CHECKOUTS, new Random(SEED), (outcome, fails = 'done') => {
    seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
    if (outcome !== fails) wrong.push(`${outcome} instead of ${fails}`);
  });
  expect(wrong.slice(0, 5)).toEqual([]);
  expect([...seen.keys()].sort()).toEqual(['22012', '25006', '42501', '42601', '57014', 'done', 'given up']);
  expect([...seen.values()].reduce((sum, count) => sum + count, 0)).toBe(CHECKOUTS);
  await expectChangesKept();
}, 600_000);

test('cancelled statements and terminated sessions do not let a connection serve the wrong tenant', async () => {
  const over = new AbortController();
  const random = new Random(SEED + 1);
  const disturb = async () => {
    while (!over.signal.aborted) {
      const [row] = await owner<{ pid: number }[]>`
        select pid from pg_stat_activity
        where datname = current_database() and application_name = 'engagement engagement_api'
        offset ${random.integer(0, 19)} limit 1`;
      if (row === undefined) continue;
      // The connection may serve another turn by the time the cancellation arrives.
      if (random.chance(0.25)) await owner`select pg_terminate_backend(${row.pid})`;
      else await owner`select pg_cancel_backend(${row.pid})`;
    }
  };
  const disturbance = disturb();
  const codes = new Set<string>();
  await takeTurns(3_000, random, (outcome) => codes.add(outcome));
  over.abort();
  await disturbance;
  // Only the expected outcomes and those of a cancelled statement or a terminated session may occur, and no leak.
  const disturbed = ['57014', '57P01', 'CONNECTION_CLOSED', 'CONNECTION_DESTROYED', 'ECONNRESET', 'EPIPE'];
  const allowed = new Set(['done', 'given up', '22012', '25006', '42501', '42601', '25P02', ...disturbed]);
  expect([...codes].filter((code) => !allowed.has(code)).join('; ')).toBe('');
  expect([...codes]).toEqual(expect.arrayContaining(['done', '57014']));
  const rows = await owner<{ rows: bigint }[]>`select count(*) as rows from tallies`;
  expect(rows[0]?.rows).toBe(BigInt(tenants[0].rows + tenants[1].rows));
  // A terminated session may end a moment later. From then on every connection must work again.
  await until('500 turns without a lost connection', async () => {
    const unexpected: string[] = [];
    await takeTurns(500, random, (outcome, fails = 'done') => {
      if (outcome !== fails) unexpected.push(outcome);
    });
    expect(unexpected.filter((outcome) => !disturbed.includes(outcome)).join('; ')).toBe('');
    return unexpected.length === 0;
  });
}, 120_000);
