import postgres from 'postgres';
import { isUuid } from '../ids.ts';
import { retryPauseMs } from '../retry-pause.ts';
import { parseTextArray, textArray } from './arrays.ts';
import { boundStatements } from './bounded-statements.ts';
import { ExclusivePool } from './exclusive-pool.ts';
import {
  API_COUNTS,
  API_READS,
  API_WRITES,
  limitOptions,
  OWNER,
  PATIENT,
  PROCESSORS,
  REQUESTS_WAITING,
  WATCHING,
  type SessionLimits,
} from './limits.ts';
import { PipelinedReader } from './pipelined-reader.ts';
import type { Db, Postgres, Tx } from './port.ts';
import { runSession } from './session.ts';
import { Transactions } from './transactions.ts';
import { exactJson, parseExact } from '../exact-json.ts';

/** The first word of our sessions' application_name. */
export const APPLICATION = 'engagement';

const POOL_SIZE = 10;
const COUNT_POOL_SIZE = 4;
/** Look-ups of memberships 2, projects 1, API keys 2, tenants 2, providers that call back 1. */
const LOOKUP_POOL_SIZE = 8;
const PING_POOL_SIZE = 1;
const WATCH_POOL_SIZE = 1;
const PATIENT_POOL_SIZE = 4;
/** Sessions of processors: four evaluations, two that are retried, one rewriter, one that empties an outbox. */
const SESSION_POOL_SIZE = 8;
const REQUEST_POOL_SIZE = 4;
const LONG_POOL_SIZE = 4;
const CONNECT_TIMEOUT_S = 10;
/** For every connection: the server ends a session after 25 s without its client's machine, and with it its locks. */
export const DEAD_PEER = '-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3';
const CONNECT_PAUSES = { first_ms: 10, longest_ms: 1_000, factor: 3 };
const IDLE_TIMEOUT_S = 300;
const CLOSE_TIMEOUT_S = 5;

/** `text[]`, the only array type that statements return. */
const TEXTS = {
  to: 1009,
  from: [1009],
  serialize: (texts: (string | null)[]) => textArray(texts),
  parse: parseTextArray,
};

/** `json` and `jsonb`: Postgres keeps numbers of any size, and so does what is read. */
const JSON_TYPES = { to: 114, from: [114, 3802], serialize: exactJson, parse: parseExact };

interface PoolOptions {
  /** Set when a connection opens; the migrations grant it to the URL's user. Absent: the URL's user itself. */
  role?: string;
  max?: number;
  /** Absent: those of the owner, which lift the limits that the database or the role may have. */
  limits?: SessionLimits;
  /**
   * For processors, whose statements look up thousands of keys: turns sequential scans off, so that Postgres uses the
   * index even where it made the plan while the table was empty.
   */
  for_key_batches?: boolean;
  /** Transactions can write nothing. */
  read_only?: boolean;
  /** Statements are planned once on each connection, and not for each value of their parameters. */
  keeps_plans?: boolean;
}

/**
 * A pool of connections. 64-bit integers are returned as `bigint`; `text[]` is the only array type that is returned as
 * an array. Transactions (`begin`) use `max` further connections of their own: see {@link Transactions}. Statements and
 * transactions that find every connection in use wait within the limits, beyond which they are rejected with TooBusy.
 */
export function connectPool(url: string, options: PoolOptions = {}): Db {
  const max = options.max ?? POOL_SIZE;
  const driver = connect(url, { ...options, max });
  const pool = boundStatements(driver, max, (options.limits ?? OWNER).waiting);
  const transactions = new Transactions(openPool(url, options, max));
  const end = driver.end.bind(driver);
  return Object.assign(pool, {
    begin(
      ...args: [work: (tx: Tx) => Promise<unknown>] | [settings: string, work: (tx: Tx) => Promise<unknown>]
    ) {
      const [settings, work] = args.length === 1 ? ['', args[0]] : args;
      return transactions.run(settings, work);
    },
    async end(how: { timeout?: number } = {}) {
      await Promise.all([transactions.close(how.timeout ?? CLOSE_TIMEOUT_S), end(how)]);
    },
  });
}

function openPool(url: string, options: PoolOptions, max: number): ExclusivePool {
  const { waiting } = options.limits ?? OWNER;
  return new ExclusivePool((onClosed) => connect(url, { ...options, max: 1 }, onClosed), max, waiting);
}

/** A driver with `max` connections; it calls `onClosed` each time one of them closes. */
function connect(url: string, options: PoolOptions & { max: number }, onClosed?: () => void): Db {
  return postgres(url, {
    max: options.max,
    connect_timeout: CONNECT_TIMEOUT_S,
    idle_timeout: IDLE_TIMEOUT_S,
    // A connection of one caller at a time is used as long as it lives: the driver must not replace it meanwhile.
    ...(onClosed === undefined ? { backoff: connectPauseS } : { max_lifetime: null }),
    onnotice: () => undefined,
    onclose: () => onClosed?.(),
    types: { bigint: postgres.BigInt, texts: TEXTS, json: JSON_TYPES },
    // If true, the driver queries the types on each new connection without awaiting the query: when the connection was
    // lost during that query, the process ended.
    fetch_types: false,
    connection: {
      application_name: `${APPLICATION} ${options.role ?? 'owner'}`,
      TimeZone: 'UTC',
      ...settingsOf(options),
    },
  });
}

/**
 * The pause in seconds before a shared connection is tried again. The driver's own pauses grow to 20 s, in which nobody
 * notices that Postgres is back.
 */
function connectPauseS(failures_before: number): number {
  return retryPauseMs(CONNECT_PAUSES, { attempt: failures_before + 1 }) / 1_000;
}

/** Opens the pools behind {@link Postgres}, which connect on first use; the schema must have been migrated. */
export function openPostgres(url: string): Postgres {
  const role = 'engagement_api';
  const transactions = new Transactions(openPool(url, { role, limits: API_WRITES }, POOL_SIZE));
  const reader = new PipelinedReader(openPool(url, { role, limits: API_READS, read_only: true }, POOL_SIZE), {
    bound_by: 'statement',
  });
  const counter = new PipelinedReader(
    openPool(url, { role, limits: API_COUNTS, read_only: true }, COUNT_POOL_SIZE),
    { bound_by: 'transaction' },
  );
  const looking_up = { role: 'engagement_service', limits: API_READS } as const;
  const lookups = connectPool(url, { ...looking_up, max: LOOKUP_POOL_SIZE });
  const pings = connectPool(url, { ...looking_up, max: PING_POOL_SIZE });
  const processing = { role: 'engagement_service', for_key_batches: true } as const;
  const service = connectPool(url, { ...processing, limits: PROCESSORS });
  const watching = { ...processing, limits: WATCHING, read_only: true, keeps_plans: true };
  const watch = connectPool(url, { ...watching, max: WATCH_POOL_SIZE });
  const sessions = openPool(url, { ...processing, limits: PROCESSORS }, SESSION_POOL_SIZE);
  const patient_sessions = openPool(url, { ...processing, limits: PATIENT }, PATIENT_POOL_SIZE);
  const request_sessions = openPool(
    url,
    { ...processing, limits: { ...PATIENT, waiting: REQUESTS_WAITING } },
    REQUEST_POOL_SIZE,
  );
  const long_sessions = openPool(url, { ...processing, limits: PATIENT }, LONG_POOL_SIZE);
  return {
    service,
    lookups,
    watch,
    session: (work) => runSession(sessions, work),
    patientSession: (work) => runSession(patient_sessions, work),
    requestSession: (work) => runSession(request_sessions, work),
    longSession: (work) => runSession(long_sessions, work),
    asTenant<T>(tenant_id: string, work: (tx: Tx) => Promise<T>): Promise<T> {
      if (!isUuid(tenant_id)) throw new TypeError('tenant_id must be a UUID');
      return transactions.run('', (tx) => {
        // Not awaited, so that it is sent together with the first statement of `work`. If it fails, postgres.js rolls
        // back.
        void tx`select set_config('app.tenant_id', ${tenant_id}, true)`.execute();
        return work(tx);
      });
    },
    async ping() {
      await pings`select 1`;
    },
    async readAsTenant(tenant_id, statement) {
      if (!isUuid(tenant_id)) throw new TypeError('tenant_id must be a UUID');
      return reader.read(tenant_id, statement);
    },
    async countAsTenant(tenant_id, statement, settings, signal) {
      if (!isUuid(tenant_id)) throw new TypeError('tenant_id must be a UUID');
      return counter.read(tenant_id, statement, settings, signal);
    },
    async close() {
      const pools = [
        transactions,
        reader,
        counter,
        sessions,
        patient_sessions,
        request_sessions,
        long_sessions,
      ];
      await Promise.all([
        ...pools.map((pool) => pool.close(CLOSE_TIMEOUT_S)),
        ...[service, lookups, pings, watch].map((pool) => pool.end({ timeout: CLOSE_TIMEOUT_S })),
      ]);
    },
  };
}

function settingsOf(options: PoolOptions): { options: string } {
  const { role, for_key_batches, read_only, keeps_plans, limits = OWNER } = options;
  const settings = [
    ...(role === undefined ? [] : [`-c role=${role}`]),
    ...(for_key_batches === true ? ['-c enable_seqscan=off'] : []),
    ...(read_only === true ? ['-c default_transaction_read_only=on'] : []),
    ...(keeps_plans === true ? ['-c plan_cache_mode=force_generic_plan'] : []),
    DEAD_PEER,
    ...limitOptions(limits),
  ];
  return { options: settings.join(' ') };
}
