import { API_READS } from './limits.ts';
import { WaitingLine, type WaitingLimits } from '../waiting-line.ts';
import type { Db } from './port.ts';

/** A statement of the driver: `handler` sends it, and one of `resolve` and `reject` settles it, each exactly once. */
interface Statement {
  handler: (statement: Statement) => void;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

/**
 * Lets at most `max` statements of the pool run at once; further ones wait, and are rejected with TooBusy beyond the
 * limits. The driver alone would send a statement behind one that is waiting for a lock, on the same connection, and
 * would queue any number for any time.
 */
export function boundStatements(pool: Db, max: number, limits: WaitingLimits): Db {
  const line = new WaitingLine<void>('a connection to Postgres', limits);
  let running = 0;
  const leave = () => {
    if (!line.serve()) running--;
  };
  const start = (statement: Statement, send: Statement['handler']) => {
    const { resolve, reject } = statement;
    statement.resolve = (value) => {
      leave();
      resolve(value);
    };
    statement.reject = (error) => {
      leave();
      reject(error);
    };
    send(statement);
  };
  const bound = (made: unknown) => {
    if (!isStatement(made)) return made;
    const send = made.handler;
    made.handler = (statement) => {
      if (running < max) {
        running++;
        start(statement, send);
      } else {
        line.join().then(
          () => start(statement, send),
          (error: unknown) => statement.reject(error),
        );
      }
    };
    return made;
  };
  const unsafe = pool.unsafe.bind(pool);
  return new Proxy(pool, {
    apply: (target, self, args: unknown[]) =>
      bound(Reflect.apply(target as (...args: unknown[]) => unknown, self, args)),
    get: (target, name) =>
      name === 'unsafe'
        ? (...args: Parameters<typeof unsafe>) => bound(unsafe(...args))
        : (Reflect.get(target, name) as unknown),
  });
}

/**
 * A part of a pool for look-ups: at most `max` of its statements run at once, so that others always find a connection.
 */
export function shareOf(pool: Db, max: number): Db {
  return boundStatements(pool, max, API_READS.waiting);
}

/** Whether it is a statement, rather than a list of names or values for one. */
function isStatement(made: unknown): made is Statement {
  return made instanceof Promise && 'handler' in made;
}
