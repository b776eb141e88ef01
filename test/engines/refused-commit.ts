import type { Db, Tx } from '../../src/platform/postgres/port.ts';
import { WriteConflict } from '../../src/platform/postgres/retry.ts';

/** A pool of which some commits are refused. */
export interface RefusingPool {
  db: Db;
  /** How many commits were refused. */
  refused(): number;
}

/**
 * The pool, but while `isRefused` holds of a transaction that has done all its work, that transaction is rolled back
 * with a write conflict instead of being committed, as after the loss of a race. `isRefused` sees what it has written.
 */
export function refusingCommits(db: Db, isRefused: (tx: Tx) => Promise<boolean>): RefusingPool {
  let refused = 0;
  const begin = (...given: unknown[]) => {
    const work = given.at(-1) as (tx: Tx) => Promise<unknown>;
    const refusing = async (tx: Tx) => {
      const result = await work(tx);
      if (!(await isRefused(tx))) return result;
      refused++;
      throw new WriteConflict('the commit is refused');
    };
    return (db.begin as (...all: unknown[]) => Promise<unknown>)(...given.slice(0, -1), refusing);
  };
  const refusing = new Proxy(db, {
    get: (target, name, receiver) =>
      name === 'begin' ? begin : (Reflect.get(target, name, receiver) as unknown),
  });
  return { db: refusing, refused: () => refused };
}
