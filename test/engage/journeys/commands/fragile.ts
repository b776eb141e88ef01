import type { EventLog } from '../../../../src/platform/event-log/port.ts';
import { ConnectionLost } from '../../../../src/platform/postgres/exclusive-pool.ts';
import type { Db, Postgres, Tx } from '../../../../src/platform/postgres/port.ts';

/** Where the processors stop: after so many of their steps, by the end of the process or of one connection alone. */
export interface CrashPoint {
  after: number;
  kind: 'process' | 'connection';
}

/** A transaction's session on the server. */
interface Session {
  pid: number;
  is_lost: boolean;
}

/** A statement of the driver: `handler` sends it, and `reject` settles it. */
interface Statement {
  handler: (statement: Statement) => void;
  reject: (error: unknown) => void;
}

type Work = (tx: Tx) => Promise<unknown>;
type Open = (work: Work) => Promise<unknown>;

const KILL_MS = 5_000;

/**
 * Postgres and the log as a processor has them that stops at drawn points: before any statement, before and after any
 * commit, before any look at the log. At such a point the server ends the sessions of its transactions, so that they roll
 * back as they do when a process is killed. After the end of the process it gets nothing done any more, and another one
 * has to be made; after the end of a connection it goes on.
 */
export class Fragile {
  readonly postgres: Postgres;
  readonly eventLog: EventLog;
  readonly #kill: (pids: readonly number[]) => Promise<unknown>;
  readonly #points: CrashPoint[];
  readonly #sessions = new Set<Session>();
  #is_over = false;
  #killed: Promise<unknown> | undefined;
  /** How often a connection of it was lost. */
  losses = 0;

  /** The first of `points` is where it stops next; it is removed then. */
  constructor(given: { postgres: Postgres; eventLog: EventLog; admin: Db }, points: CrashPoint[]) {
    const { admin } = given;
    this.#kill = (pids) =>
      admin`
        select pg_terminate_backend(pid, ${KILL_MS})
        from unnest(${`{${pids.join(',')}}`}::text::integer[]) as s (pid)`;
    this.#points = points;
    this.postgres = this.#fragilePostgres(given.postgres);
    this.eventLog = this.#fragileLog(given.eventLog);
  }

  /** Whether its process has ended. */
  get is_over(): boolean {
    return this.#is_over;
  }

  /** Whether it stops here, which it begins to do at once; `session`: whose connection may end alone. */
  #stops(session: Session | undefined, may_live: boolean): boolean {
    const [point] = this.#points;
    if (point === undefined || point.after-- > 0) return false;
    this.#points.shift();
    const lost = [...this.#sessions].filter(
      (one) => point.kind === 'process' || !may_live || one === session,
    );
    if (point.kind === 'process' || !may_live) this.#is_over = true;
    else this.losses += 1;
    for (const one of lost) one.is_lost = true;
    this.#killed = this.#kill(lost.map(({ pid }) => pid)).catch(() => undefined);
    return true;
  }

  /** Rejects if it has stopped, or stops here. */
  async #pass(session?: Session, may_live = true): Promise<void> {
    const is_lost = this.#is_over || session?.is_lost === true || this.#stops(session, may_live);
    if (!is_lost) return;
    await this.#killed;
    throw new ConnectionLost('the connection to Postgres was lost', 'CONNECTION_CLOSED');
  }

  #fragilePostgres(postgres: Postgres): Postgres {
    const service = new Proxy(this.#fragileSql(postgres.service), {
      get: (target, name) =>
        name === 'begin'
          ? (work: Work) => this.#transaction((under) => postgres.service.begin(under), work)
          : (Reflect.get(target, name) as unknown),
    });
    const asTenant = (tenant_id: string, work: Work) =>
      this.#transaction((under) => postgres.asTenant(tenant_id, under), work);
    return { ...postgres, service, asTenant } as Postgres;
  }

  async #transaction(open: Open, work: Work): Promise<unknown> {
    const result = await open(async (tx) => {
      const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
      const session: Session = { pid: row?.pid ?? 0, is_lost: false };
      this.#sessions.add(session);
      try {
        const done = await work(this.#fragileSql(tx, session));
        await this.#pass(session);
        return done;
      } finally {
        // At its end the connection goes to another transaction, which must not be ended in place of this one. If this one
        // is being ended already, its connection is not used again, whatever `work` made of that.
        this.#sessions.delete(session);
        if (session.is_lost) await this.#pass(session);
      }
    });
    // The commit is done, and nobody hears of it.
    await this.#pass();
    return result;
  }

  #fragileSql<S extends Tx>(sql: S, session?: Session): S {
    return new Proxy(sql, {
      apply: (target, self, args: unknown[]) => {
        const made = Reflect.apply(target as unknown as (...all: unknown[]) => unknown, self, args);
        if (isStatement(made)) this.#break(made, session);
        return made;
      },
    });
  }

  #break(made: Statement, session: Session | undefined): void {
    const send = made.handler;
    made.handler = (statement) => {
      const is_lost = this.#is_over || session?.is_lost === true || this.#stops(session, true);
      // Without a point the statement is sent at once, so that the order of statements stays.
      if (!is_lost) send(statement);
      else this.#pass({ pid: 0, is_lost: true }).catch((error: unknown) => statement.reject(error));
    };
  }

  /** A log that does not answer is another matter than a processor that has stopped: here only the process ends. */
  #fragileLog(log: EventLog): EventLog {
    return Object.create(log, {
      endOffsets: {
        value: (topic: string) => this.#pass(undefined, false).then(() => log.endOffsets(topic)),
      },
      idOf: {
        value: (topic: string) => this.#pass(undefined, false).then(() => log.idOf(topic)),
      },
    }) as EventLog;
  }
}

function isStatement(made: unknown): made is Statement {
  return made instanceof Promise && 'handler' in made;
}
