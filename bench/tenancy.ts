import { newId } from '../src/platform/ids.ts';
import { migratePostgres } from '../src/platform/postgres/migrate.ts';
import { connectPool } from '../src/platform/postgres/pool.ts';
import type { Db, Tx } from '../src/platform/postgres/port.ts';
import { listPlayers, selectPlayer } from '../src/players/profile/queries.ts';
import { openTestPostgres } from '../test/engines/wiring.ts';
import { alternate, median, ratios, result, timed, type Result, type Sample } from './measure.ts';
import { seedPlayers } from './seed-queries.ts';

const PLAYERS = 200_000;
const ROUNDS = 11;
const LISTS = 300;
const GETS = 1_000;
const PAGE = 50;

interface Scope {
  tenant_id: string;
  project_id: string;
}

/** A statement to compare; `n` is the number of its run. */
type Statement = (tx: Tx, n: number) => PromiseLike<unknown[]>;

/**
 * Row-level security on ÷ off: the same statements, which name the tenant, in the same kind of transaction on the same
 * rows, by a role to which the policies apply and by the server's user, who bypasses them.
 */
export async function benchTenancy(players = PLAYERS, rounds = ROUNDS): Promise<Result[]> {
  const server = await openTestPostgres();
  const bound = connectPool(server.url, { role: 'engagement_api', max: 1 });
  const free = connectPool(server.url, { max: 1 });
  try {
    await migratePostgres(free);
    const scope = { tenant_id: newId(), project_id: newId() };
    const ids = await seedPlayers(server.url, scope, players);
    // A second tenant, whose rows the policies must hide.
    await seedPlayers(server.url, { tenant_id: newId(), project_id: newId() }, players);
    const list: Statement = (tx) => listPlayers(tx, scope, { limit: PAGE }, undefined);
    const get: Statement = (tx, n) => selectPlayer(tx, { ...scope, player_id: ids[n % ids.length] ?? '' });
    return [await compare(`list of ${PAGE}`, list, LISTS), await compare('get of a player', get, GETS)];

    async function compare(what: string, statement: Statement, items: number): Promise<Result> {
      await expectSame(bound, free, scope, statement);
      const pairs = await alternate(
        rounds,
        () => run(bound, scope, statement, items),
        () => run(free, scope, statement, items),
      );
      const micros = (side: 'a' | 'b') =>
        median(pairs.map((pair) => timePerItem(pair[side]) * 1_000)).toFixed(0);
      const note = `${micros('a')} against ${micros('b')} µs per transaction; 2 tenants with ${players} players each`;
      const target = { at_most: 1.05 };
      return result(`row-level security on ÷ off, ${what}`, ratios(pairs, timePerItem), target, note);
    }
  } finally {
    await Promise.all([bound.end({ timeout: 5 }), free.end({ timeout: 5 })]);
    await server.close();
  }
}

const timePerItem = ({ wall_ms, items }: Sample): number => wall_ms / items;

function run(sql: Db, scope: Scope, statement: Statement, items: number): Promise<Sample> {
  return timed(async () => {
    for (let n = 0; n < items; n++) await inTransaction(sql, scope, statement, n);
    return items;
  });
}

function inTransaction(sql: Db, { tenant_id }: Scope, statement: Statement, n: number): Promise<unknown[]> {
  return sql.begin(async (tx) => {
    void tx`select set_config('app.tenant_id', ${tenant_id}, true)`.execute();
    return statement(tx, n);
  });
}

/** Throws unless both roles see the same rows of the tenant, and only the bound role sees none of another tenant. */
async function expectSame(bound: Db, free: Db, scope: Scope, statement: Statement): Promise<void> {
  const [ours, theirs] = [
    await inTransaction(bound, scope, statement, 0),
    await inTransaction(free, scope, statement, 0),
  ];
  const text = (rows: unknown[]) =>
    JSON.stringify(rows, (_key, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value));
  if (ours.length === 0 || text(ours) !== text(theirs)) throw new Error('the roles see different rows');
  const stranger = await inTransaction(bound, { ...scope, tenant_id: newId() }, statement, 0);
  const owner = await inTransaction(free, { ...scope, tenant_id: newId() }, statement, 0);
  if (stranger.length > 0 || owner.length === 0)
    throw new Error('row-level security is not what is compared');
}
