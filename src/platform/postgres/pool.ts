import postgres from 'postgres';
import { isUuid } from '../ids.ts';
import { retryPauseMs } from '../retry-pause.ts';
import { parseTextArray, textArray } from './arrays.ts';
import { ExclusivePool, IDLE_TIMEOUT_S } from './exclusive-pool.ts';
import {
  API_COUNTS,
  API_READS,
  API_WRITES,
  limitSettings,
  OWNER,
  PATIENT,
  PROCESSORS,
  REQUESTS_WAITING,
  setAll,
  WATCHING,
  type SessionLimits,
} from './limits.ts';
import { readPipelined } from './pipelined-reader.ts';
import type { Db, Driver, Postgres, Tx } from './port.ts';
import { runSession } from './session.ts';
import { openDb } from './statements.ts';
import { transact } from './transactions.ts';
import { exactJson, parseExact } from '../exact-json.ts';

/** The first word of our sessions' application_name. */
export const APPLICATION = 'engagement';

const POOL_SIZE = 10;
/**
 * Connections of requests, and how many each purpose takes of them at most: fewer than all, and more than requests of one
 * endpoint run at once, so a slow endpoint or purpose leaves some to the others.
 */
const API_POOL = { max: 8, reads: 7, writes: 7, counts: 3 };
/** Each kind of look-up takes one or two. */
const LOOKUP_POOL_SIZE = 4;
/**
 * Connections of processors and jobs. Sessions wait for other systems, and use statements and transactions (`work`)
 * meanwhile: so they leave two to these, which wait for nobody. `of_processors`: five evaluations of segments, and one for
 * what publishes or rewrites. `waiting`: sessions that wait long; jobs leave three of them to requests, of which a tenant
 * has two at most, and requests leave two to jobs.
 */
const SERVICE_POOL = {
  max: 13,
  work: 8,
  sessions: 11,
  of_processors: 6,
  waiting: 6,
  of_jobs: 3,
  of_requests: 4,
};
const CONNECT_TIMEOUT_S = 10;
/** For every connection: the server ends a session after 25 s without its client's machine, and with it its locks. */
export const DEAD_PEER = '-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3';
const CONNECT_PAUSES = { first_ms: 10, longest_ms: 1_000, factor: 3 };
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
 * an array. Statements and transactions each have a connection of their own until they end; those that find every
 * connection in use wait within the limits, beyond which they are rejected with TooBusy.
 */
export function connectPool(url: string, options: PoolOptions = {}): Db {
  return dbOf(openPool(url, options), url, options);
}

function openPool(url: string, options: PoolOptions): ExclusivePool {
  const { max = POOL_SIZE, limits = OWNER } = options;
  return new ExclusivePool((onClosed) => connect(url, options, onClosed), max, limits.waiting);
}

function dbOf(pool: ExclusivePool, url: string, options: PoolOptions): Db {
  return openDb(pool, connect(url, options), CLOSE_TIMEOUT_S);
}

/** A driver with one connection; it calls `onClosed` each time that closes. */
function connect(url: string, options: PoolOptions, onClosed?: () => void): Driver {
  return postgres(url, {
    max: 1,
    connect_timeout: CONNECT_TIMEOUT_S,
    idle_timeout: IDLE_TIMEOUT_S,
    // A connection of one caller at a time is used as long as it lives: the driver must not replace it meanwhile.
    max_lifetime: null,
    backoff: connectPauseS,
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
 * The pause in seconds before a connection is tried again, such as the one that listens. The driver's own pauses grow to
 * 20 s, in which nobody notices that Postgres is back.
 */
function connectPauseS(failures_before: number): number {
  return retryPauseMs(CONNECT_PAUSES, { attempt: failures_before + 1 }) / 1_000;
}

/** Opens the pools behind {@link Postgres}, which connect on first use; the schema must have been migrated. */
export function openPostgres(url: string): Postgres {
  const api = openPool(url, {
    role: 'engagement_api',
    max: API_POOL.max,
    limits: API_READS,
    read_only: true,
  });
  const writes = api.share(API_POOL.writes, API_WRITES.waiting);
  const reads = api.share(API_POOL.reads, API_READS.waiting);
  const counts = api.share(API_POOL.counts, API_COUNTS.waiting);
  const looking_up = { role: 'engagement_service', max: LOOKUP_POOL_SIZE, limits: API_READS };
  const lookups = connectPool(url, looking_up);
  const pings = lookups.share(1);
  const processing = { role: 'engagement_service', for_key_batches: true, limits: PROCESSORS };
  const watching = { ...processing, limits: WATCHING, read_only: true, keeps_plans: true, max: 1 };
  const watch = connectPool(url, watching);
  const processors = openPool(url, { ...processing, max: SERVICE_POOL.max });
  const service = dbOf(processors.share(SERVICE_POOL.work, PROCESSORS.waiting), url, processing);
  const sessions = processors.share(SERVICE_POOL.sessions, PATIENT.waiting);
  const own_sessions = sessions.share(SERVICE_POOL.of_processors, PROCESSORS.waiting);
  const waiting_sessions = sessions.share(SERVICE_POOL.waiting, PATIENT.waiting);
  const patient_sessions = waiting_sessions.share(SERVICE_POOL.of_jobs, PATIENT.waiting);
  const request_sessions = waiting_sessions.share(SERVICE_POOL.of_requests, REQUESTS_WAITING);
  return {
    service,
    lookups,
    watch,
    session: (work) => runSession(own_sessions, PROCESSORS, work),
    patientSession: (work) => runSession(patient_sessions, PATIENT, work),
    requestSession: (work) => runSession(request_sessions, PATIENT, work),
    asTenant<T>(tenant_id: string, work: (tx: Tx) => Promise<T>): Promise<T> {
      if (!isUuid(tenant_id)) throw new TypeError('tenant_id must be a UUID');
      return transact(writes, 'read write', (tx) => {
        // Not awaited, so that it is sent together with the first statement of `work`. If it fails, postgres.js rolls
        // back.
        void setAll(tx, [['app.tenant_id', tenant_id], ...limitSettings(API_WRITES)], true).execute();
        return work(tx);
      });
    },
    async ping() {
      await pings`select 1`;
    },
    async readAsTenant(tenant_id, statement) {
      if (!isUuid(tenant_id)) throw new TypeError('tenant_id must be a UUID');
      return readPipelined(reads, tenant_id, statement);
    },
    async countAsTenant(tenant_id, statement, settings, signal) {
      if (!isUuid(tenant_id)) throw new TypeError('tenant_id must be a UUID');
      const limits = Object.fromEntries(limitSettings(API_COUNTS));
      return readPipelined(counts, tenant_id, statement, { ...limits, ...settings }, signal);
    },
    async close() {
      const others = [service, lookups, watch].map((pool) => pool.end({ timeout: CLOSE_TIMEOUT_S }));
      await Promise.all([api.close(CLOSE_TIMEOUT_S), ...others]);
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
    ...limitSettings(limits).map(([name, value]) => `-c ${name}=${value}`),
  ];
  return { options: settings.join(' ') };
}
