import { setTimeout as sleep } from 'node:timers/promises';
import type { Postgres, Tx } from '../../../../src/platform/postgres/port.ts';
import type { Random } from '../../../crash/random.ts';

// Actors run concurrently, but only one statement at a time: a seeded generator draws whose is next. A statement that
// waits for a lock leaves the turn to the others, until it has the lock.

/** How often the server is asked whether a statement waits for a lock. */
const LOOK_MS = 3;
const PATIENCE_MS = 20_000;
const WEIGHTS = [1, 4, 40];

/** A statement, a commit or another call that waits for its turn. */
interface Entry {
  what: string;
  /** Begins it; resolves when it has ended, however it ended. */
  perform: () => Promise<void>;
  /** The session that it runs in; undefined: any. */
  pid: number | undefined;
}

/** A statement of the driver: `handler` sends it, and one of `resolve` and `reject` settles it. */
interface Statement {
  handler: (statement: Statement) => void;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

/** Resolves `given` when `give` is called. */
function newSignal(): { given: Promise<void>; give: () => void } {
  let give = () => undefined as void;
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { given, give };
}

/** One of those that run at the same time. */
class Actor {
  readonly name: string;
  readonly pending: Entry[] = [];
  /** What it performs now; it waits for a lock if it has not ended when another one has its turn. */
  running: { entry: Entry; ended: Promise<void> } | undefined;
  is_over = false;
  /** How often it has its turn, compared with the others. */
  weight: number | undefined;
  #changed = newSignal();

  constructor(name: string) {
    this.name = name;
  }

  add(entry: Entry): void {
    this.pending.push(entry);
    this.touch();
  }

  touch(): void {
    this.#changed.give();
    this.#changed = newSignal();
  }

  /** Resolves when it has something to perform, or is over. */
  async ready(): Promise<void> {
    while (this.pending.length === 0 && !this.is_over && this.running === undefined) {
      const late = sleep(PATIENCE_MS, true, { ref: false });
      const is_late = await Promise.race([this.#changed.given.then(() => false), late]);
      if (is_late) throw new Error(`${this.name} does nothing`);
    }
  }
}

/** What an actor has of the stepper. */
export interface Turns {
  /** Calls `act` when it is this actor's turn. */
  step: <T>(what: string, act: () => T | Promise<T>) => Promise<T>;
  /** The same Postgres, whose statements wait for this actor's turn. */
  postgres: Postgres;
}

/** Runs actors against each other, statement by statement, in an order that follows from the seed. */
export class Stepper {
  /** What was performed, in its order: `<actor>: <statement>`. */
  readonly trace: string[] = [];
  readonly #random: Random;
  readonly #postgres: Postgres;
  readonly #actors: Actor[] = [];
  readonly #outcomes: Promise<unknown>[] = [];

  constructor(random: Random, postgres: Postgres) {
    this.#random = random;
    this.#postgres = postgres;
  }

  /** Adds an actor. Its result is that of `work`. */
  actor<T>(name: string, work: (turns: Turns) => Promise<T>): Promise<T> {
    const actor = new Actor(name);
    this.#actors.push(actor);
    const turns: Turns = {
      step: (what, act) =>
        new Promise((resolve, reject) => {
          const perform = async () => {
            try {
              resolve(await act());
            } catch (error) {
              reject(error);
            }
          };
          actor.add({ what, perform, pid: undefined });
        }),
      postgres: steppedPostgres(this.#postgres, actor),
    };
    const outcome = work(turns).finally(() => {
      actor.is_over = true;
      actor.touch();
    });
    outcome.catch(() => undefined);
    this.#outcomes.push(outcome);
    return outcome;
  }

  /** Resolves when all actors are over; returns which of them failed. */
  async run(): Promise<string[]> {
    for (;;) {
      await this.#settle();
      const ready = this.#actors.filter(
        ({ pending, running }) => pending.length > 0 && running === undefined,
      );
      if (ready.length > 0) await this.#perform(this.#pick(ready));
      else if (this.#actors.every(({ is_over, running }) => is_over && running === undefined)) break;
      // All that are left wait for locks: Postgres ends a deadlock.
      else
        await Promise.race(
          this.#actors.flatMap(({ running }) => (running === undefined ? [] : [running.ended])),
        );
    }
    const outcomes = await Promise.allSettled(this.#outcomes);
    return outcomes.flatMap((outcome, i) => {
      if (outcome.status === 'fulfilled') return [];
      return [`${this.#actors[i]?.name ?? ''} failed: ${String(outcome.reason)}`];
    });
  }

  /** Who is fast differs between meetings, and now and then within one: else the others rarely overtake somebody. */
  #pick(ready: readonly Actor[]): Actor {
    for (const actor of ready) {
      const has_changed = actor.weight === undefined || this.#random.chance(0.05);
      if (has_changed) actor.weight = this.#random.pick(WEIGHTS);
    }
    let left = this.#random.next() * ready.reduce((sum, { weight = 1 }) => sum + weight, 0);
    return ready.find(({ weight = 1 }) => (left -= weight) < 0) ?? this.#random.pick(ready);
  }

  async #perform(actor: Actor): Promise<void> {
    const entry = actor.pending.shift();
    if (entry === undefined) return;
    this.trace.push(`${actor.name}: ${entry.what}`);
    const ended = entry.perform().then(() => {
      actor.running = undefined;
      actor.touch();
    });
    actor.running = { entry, ended };
    await this.#endedOrWaiting(actor);
  }

  /** Resolves when every actor has something to perform, is over, or waits for a lock. */
  async #settle(): Promise<void> {
    for (const actor of this.#actors) await this.#endedOrWaiting(actor);
    await Promise.all(this.#actors.map((actor) => actor.ready()));
  }

  async #endedOrWaiting(actor: Actor): Promise<void> {
    for (const late_ms = Date.now() + PATIENCE_MS; actor.running !== undefined;) {
      const { entry, ended } = actor.running;
      if (await Promise.race([ended.then(() => true), sleep(LOOK_MS, false)])) return;
      if (actor.running !== undefined && (await this.#waitsForLock(actor, entry))) return;
      if (Date.now() > late_ms) throw new Error(`${actor.name} does not end: ${entry.what}`);
    }
  }

  async #waitsForLock(actor: Actor, { pid }: Entry): Promise<boolean> {
    const waiting = await this.#postgres.service<{ pid: number }[]>`
      select l.pid from pg_locks l join pg_stat_activity a using (pid)
      where not l.granted and a.datname = current_database()`;
    const others = this.#actors.flatMap((other) => (other === actor ? [] : [other.running?.entry.pid]));
    return waiting.some((one) => (pid === undefined ? !others.includes(one.pid) : one.pid === pid));
  }
}

function steppedPostgres(postgres: Postgres, actor: Actor): Postgres {
  const inTransaction = (work: (tx: Tx) => Promise<unknown>) => (tx: Tx) => stepped(tx, actor, work);
  const service = new Proxy(
    steppedSql(postgres.service, actor, () => undefined),
    {
      get: (target, name) =>
        name === 'begin'
          ? (work: (tx: Tx) => Promise<unknown>) =>
              committed(actor, (under) => postgres.service.begin(under(inTransaction(work))))
          : (Reflect.get(target, name) as unknown),
    },
  );
  const asTenant = (tenant_id: string, work: (tx: Tx) => Promise<unknown>) =>
    committed(actor, (under) => postgres.asTenant(tenant_id, under(inTransaction(work))));
  return { ...postgres, service, asTenant } as Postgres;
}

type Work = (tx: Tx) => Promise<unknown>;

/** Runs a transaction whose commit has a turn of its own, which lasts until the transaction is over. */
async function committed(
  actor: Actor,
  begin: (under: (work: Work) => Work) => Promise<unknown>,
): Promise<unknown> {
  const over = newSignal();
  try {
    return await begin((work) => async (tx) => {
      const result = await work(tx);
      await new Promise<void>((proceed) => {
        const perform = () => {
          proceed();
          return over.given;
        };
        actor.add({ what: 'commit', perform, pid: undefined });
      });
      return result;
    });
  } finally {
    over.give();
  }
}

async function stepped(tx: Tx, actor: Actor, work: Work): Promise<unknown> {
  const [session] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
  let has_failed = false;
  const failure = () => (has_failed ? new Error('a statement of the transaction has failed') : undefined);
  try {
    return await work(steppedSql(tx, actor, failure, session?.pid, () => (has_failed = true)));
  } catch (error) {
    has_failed = true;
    throw error;
  }
}

/** Statements of `sql` wait for the actor's turn. Once `failure` gives an error, they are not sent. */
function steppedSql<S extends Tx>(
  sql: S,
  actor: Actor,
  failure: () => Error | undefined,
  pid?: number,
  onFailed: () => void = () => undefined,
): S {
  const wait = (made: unknown, text: string) => {
    if (!isStatement(made)) return made;
    const send = made.handler;
    made.handler = (statement) => {
      const perform = () =>
        new Promise<void>((ended) => {
          const { resolve, reject } = statement;
          const refuse = (error: unknown) => {
            onFailed();
            reject(error);
            ended();
          };
          const refused = failure();
          if (refused !== undefined) return refuse(refused);
          statement.resolve = (value) => {
            resolve(value);
            ended();
          };
          statement.reject = refuse;
          send(statement);
        });
      actor.add({ what: text, perform, pid });
    };
    return made;
  };
  return new Proxy(sql, {
    apply(target, self, args: unknown[]) {
      const made = Reflect.apply(target as unknown as (...all: unknown[]) => unknown, self, args);
      return wait(made, textOf(args[0]));
    },
  });
}

function textOf(strings: unknown): string {
  const text = Array.isArray(strings) ? strings.join('?') : '';
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, 60);
}

function isStatement(made: unknown): made is Statement {
  return made instanceof Promise && 'handler' in made;
}
