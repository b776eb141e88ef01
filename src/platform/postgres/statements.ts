import type { PendingQuery, Row } from 'postgres';
import type { ExclusivePool } from './exclusive-pool.ts';
import { API_READS } from './limits.ts';
import type { Db, Driver, Tx } from './port.ts';
import { transact } from './transactions.ts';

type Statement = PendingQuery<Row[]>;

/**
 * A pool as a driver: statements and transactions each have a connection of their own until they end. `builder` builds
 * statements, which are sent on the pool, and listens on a connection of its own.
 */
export function openDb(pool: ExclusivePool, builder: Driver, close_s: number): Db {
  const own = {
    unsafe: (...args: Parameters<Driver['unsafe']>) =>
      sentOn(pool, builder.unsafe(...args), (sql) => sql.unsafe(...args)),
    begin: (...args: [work: Work] | [settings: string, work: Work]) => {
      const [settings, work] = args.length === 1 ? ['', args[0]] : args;
      return transact(pool, settings, work);
    },
    async reserve() {
      const connection = await pool.acquire();
      const { sql } = connection;
      // The driver can reserve only a connection that is already open: it loses the request while it opens one.
      const reserved = await sql`select 1`
        .then(() => sql.reserve())
        .catch((error: unknown) => {
          pool.discard(connection, true, Promise.resolve());
          throw error;
        });
      const release = reserved.release.bind(reserved);
      return Object.assign(reserved, {
        release() {
          release();
          pool.release(connection);
        },
      });
    },
    share: (max: number) => openDb(pool.share(max, API_READS.waiting), builder, close_s),
    end: ({ timeout = close_s } = {}) => Promise.all([pool.close(timeout), builder.end({ timeout })]),
  };
  return new Proxy(builder, {
    apply(target, self, args: unknown[]) {
      const build = (sql: Driver): unknown =>
        Reflect.apply(sql as (...args: unknown[]) => unknown, self, args);
      const made = build(target);
      // Otherwise it is a list of names or values for a statement.
      return made instanceof Promise
        ? sentOn(pool, made as Statement, (sql) => build(sql) as Statement)
        : made;
    },
    get: (target, name) => Reflect.get(name in own ? own : target, name) as unknown,
  }) as Db;
}

type Work = (tx: Tx) => Promise<unknown>;

/**
 * Makes `made` a statement that is sent on a connection of the pool, as `send` makes it anew, once someone waits for it
 * or executes it. Until then it may be used as a part of another statement.
 */
function sentOn(pool: ExclusivePool, made: Statement, send: (sql: Driver) => Statement): Statement {
  let has_values = false;
  let asked: Promise<unknown> | undefined;
  const ask = () =>
    (asked ??= pool.ask((sql) => {
      const sent = send(sql);
      const answer = (has_values ? sent.values() : sent).execute();
      return { answer, settled: answer.then(noop, noop) };
    }));
  for (const name of ['then', 'catch', 'finally'] as const) {
    const settle = (...handlers: unknown[]): unknown =>
      Reflect.apply(Promise.prototype[name], ask(), handlers);
    void Object.defineProperty(made, name, { value: settle });
  }
  const execute = () => {
    void ask();
    return made;
  };
  const values = () => {
    has_values = true;
    return made;
  };
  return Object.assign(made, { execute, values }) as Statement;
}

const noop = () => undefined;
