import { setTimeout as sleep } from 'node:timers/promises';
import type { ConnectionOptions } from 'node:tls';
import { Kafka, logLevel, type Admin, type KafkaConfig, type LogEntry, type SASLOptions } from 'kafkajs';
import type { Logger } from '../logger.ts';
import { withinTime } from '../time-limit.ts';
import { misconfigurationOf } from './kafka-refusal.ts';
import { LogUnavailable } from './port.ts';

export const REQUEST_TIMEOUT_MS = 5_000;
const CONNECT_TIMEOUT_MS = 3_000;
const ADMIN_TIMEOUT_MS = 10_000;
const PASSING_PAUSE_MS = 100;

/** Sets every option, because kafkajs uses other defaults when NODE_ENV is "test". The pauses add up to about 2.5 s. */
export const RETRY = { retries: 5, initialRetryTime: 100, maxRetryTime: 1_000, multiplier: 2, factor: 0.2 };

/** How to connect to a Kafka cluster. */
export interface KafkaConnection {
  /** `host:port` of some brokers; the client finds the other brokers through them. */
  brokers: readonly string[];
  /** Absent: connections are not encrypted. */
  tls?: Pick<ConnectionOptions, 'ca' | 'cert' | 'key'> | undefined;
  /** Absent: no authentication. */
  sasl?: KafkaCredentials | undefined;
  logger: Logger;
}

/** User, password and SASL mechanism. */
export interface KafkaCredentials {
  mechanism: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512';
  username: string;
  password: string;
}

/**
 * A kafkajs client that logs to `logger`. Every consumer needs a client of its own: kafkajs keeps one map of committed
 * offsets per client and group, and each of two members of a group would clear the entries of the other.
 */
export function createKafka(connection: KafkaConnection): Kafka {
  return new Kafka(kafkaConfig(connection));
}

/** kafkajs's configuration for a connection. */
export function kafkaConfig({ brokers, tls, sasl, logger }: KafkaConnection) {
  return {
    brokers: [...brokers],
    ...(tls && { ssl: tls }),
    ...(sasl && { sasl: saslOptions(sasl) }),
    clientId: 'engagement',
    connectionTimeout: CONNECT_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    retry: RETRY,
    logLevel: logger.isLevelEnabled('debug') ? logLevel.INFO : logLevel.ERROR,
    logCreator: () => (entry) => writeLog(logger, entry),
  } satisfies KafkaConfig;
}

/** Converts to kafkajs's form, which has mechanisms in lower case. A new object, because kafkajs modifies it. */
function saslOptions({ mechanism, username, password }: KafkaCredentials): SASLOptions {
  if (mechanism === 'PLAIN') return { mechanism: 'plain', username, password };
  const hash = mechanism === 'SCRAM-SHA-256' ? 'scram-sha-256' : 'scram-sha-512';
  return { mechanism: hash, username, password };
}

/** Logs kafkajs's errors as warnings, because it retries most of them, and all other messages at level `debug`. */
function writeLog(logger: Logger, { level, namespace, log }: LogEntry): void {
  const { message, groupId, error, retryCount } = log;
  const fields = {
    part: `kafkajs ${namespace}`,
    group: groupId as unknown,
    error: error as unknown,
    retryCount,
  };
  if (level === logLevel.ERROR) logger.warn(fields, message);
  else logger.debug(fields, message);
}

/** Settles as `work` does, or rejects with LogUnavailable after `timeout_ms`; `work` then continues unobserved. */
export function withDeadline<T>(work: Promise<T>, timeout_ms: number, what: string): Promise<T> {
  const late = () => new LogUnavailable(`Kafka did not ${what} within ${Math.round(timeout_ms)} ms`);
  return withinTime(timeout_ms, work, late);
}

/** A connection, and the number of calls that use it now. */
interface SharedAdmin {
  opened: Promise<Admin>;
  calls: number;
}

/** One admin connection, opened on first use and again after any failure. */
export class KafkaAdmin {
  #connection: KafkaConnection;
  #timeout_ms: number;
  #admin: SharedAdmin | undefined;

  /** `timeout_ms`: how long one call of {@link run} takes at most. */
  constructor(connection: KafkaConnection, timeout_ms = ADMIN_TIMEOUT_MS) {
    this.#connection = connection;
    this.#timeout_ms = timeout_ms;
  }

  /**
   * Runs `work`, and repeats it while Kafka reports a temporary state (a leader or coordinator is being elected). All
   * attempts have one deadline together.
   * Rejects with LogUnavailable when Kafka fails or does not answer in time, and with its subclass LogMisconfigured
   * when the settings are the cause.
   */
  async run<T>(what: string, work: (admin: Admin) => Promise<T>): Promise<T> {
    const deadline_ms = performance.now() + this.#timeout_ms;
    for (;;) {
      const admin = (this.#admin ??= { opened: this.#connect(), calls: 0 });
      admin.calls++;
      try {
        return await withDeadline(admin.opened.then(work), deadline_ms - performance.now(), what);
      } catch (cause) {
        // The next attempt opens a new connection and reads the metadata again.
        if (this.#admin === admin) this.#admin = undefined;
        const misconfigured = misconfigurationOf(cause);
        if (misconfigured !== undefined) throw misconfigured;
        if (performance.now() + PASSING_PAUSE_MS >= deadline_ms || !isPassing(cause))
          throw new LogUnavailable(`Kafka did not ${what}`, { cause });
      } finally {
        admin.calls--;
        // Not closed while other calls use it: kafkajs would reject them with an error about missing metadata.
        if (this.#admin !== admin && admin.calls === 0) disconnectLater(admin.opened);
      }
      await sleep(PASSING_PAUSE_MS);
    }
  }

  async close(): Promise<void> {
    const admin = this.#admin;
    this.#admin = undefined;
    if (admin === undefined) return;
    await withDeadline(
      admin.opened.then((a) => a.disconnect()),
      REQUEST_TIMEOUT_MS,
      'disconnect',
    ).catch(() => undefined);
  }

  async #connect(): Promise<Admin> {
    const admin = createKafka(this.#connection).admin();
    await admin.connect();
    return admin;
  }
}

function isPassing(error: unknown): boolean {
  const { name, retriable } = error as { name?: string; retriable?: boolean };
  return name === 'KafkaJSProtocolError' && retriable === true;
}

function disconnectLater(admin: Promise<Admin>): void {
  admin.then((a) => a.disconnect()).catch(() => undefined);
}
