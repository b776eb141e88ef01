import type { Role } from '../config.ts';
import { ApiError } from '../errors.ts';
import { withinTime } from '../platform/time-limit.ts';
import type { Platform } from '../platform/platform.ts';

/** The storage engines that `/readyz` asks. */
export type Engine = 'postgres' | 'clickhouse' | 'event_log';

type Engines = Pick<Platform, 'postgres' | 'clickhouse' | 'eventLog' | 'logger'>;

/** What each role cannot work without. Intake goes on with the API keys that it knows while Postgres is away. */
const NEEDS: Readonly<Record<Role, readonly Engine[]>> = {
  api: ['postgres', 'clickhouse', 'event_log'],
  intake: ['event_log'],
  'player-fold': ['postgres', 'event_log'],
  'analytics-sink': ['postgres', 'clickhouse', 'event_log'],
  'player-mirror': ['postgres', 'clickhouse', 'event_log'],
  'segment-refresh': ['postgres', 'clickhouse', 'event_log'],
  messenger: ['postgres', 'event_log'],
  'journey-runner': ['postgres', 'event_log'],
  'fx-restater': ['postgres'],
  'event-rewriter': ['postgres', 'clickhouse', 'event_log'],
  'webhook-deliverer': ['postgres'],
  'bonus-sender': ['postgres', 'event_log'],
  scheduler: ['postgres', 'clickhouse'],
};

const PING_TIMEOUT_MS = 3_000;
/** An answer serves everyone who asks within this time, so that probes cost the engines nothing. */
const CACHE_MS = 1_000;

type Answers = Partial<Record<Engine, 'ok' | 'failed'>>;

/** One round of questions; `ended_ms` is absent while it runs. */
interface Probe {
  answers: Promise<Answers>;
  ended_ms: number | undefined;
}

/** Whether this process can work: it has started, is not stopping, and the engines that its roles need answer. */
export class Readiness {
  readonly #engines: Engines;
  readonly #needed: readonly Engine[];
  #phase: 'starting' | 'running' | 'stopping' = 'starting';
  #probe: Probe | undefined;

  constructor(engines: Engines, roles: ReadonlySet<Role>) {
    this.#engines = engines;
    const needed = new Set([...roles].flatMap((role) => NEEDS[role]));
    this.#needed = (['postgres', 'clickhouse', 'event_log'] as const).filter((one) => needed.has(one));
  }

  /** Every part of the process has started. */
  started(): void {
    this.#phase = 'running';
  }

  /** The process is going to stop: load balancers send it no more requests. */
  stopping(): void {
    this.#phase = 'stopping';
  }

  /**
   * Returns the engines that answer. Rejects with SERVICE_UNAVAILABLE, whose details say what does not: `service`, or
   * an engine. An answer may be a second old.
   */
  async check(): Promise<Answers> {
    if (this.#phase !== 'running') {
      throw new ApiError('SERVICE_UNAVAILABLE', `not ready: the service is ${this.#phase}`, {
        details: { service: this.#phase },
      });
    }
    const answers = await this.#answers();
    const failed = this.#needed.filter((name) => answers[name] !== 'ok');
    if (failed.length > 0) {
      throw new ApiError('SERVICE_UNAVAILABLE', `not ready: ${failed.join(', ')}`, {
        details: { ...answers },
      });
    }
    return answers;
  }

  #answers(): Promise<Answers> {
    const last = this.#probe;
    if (last !== undefined && (last.ended_ms ?? Infinity) + CACHE_MS > performance.now()) return last.answers;
    const probe: Probe = { answers: this.#askAll(), ended_ms: undefined };
    this.#probe = probe;
    void probe.answers.then(() => (probe.ended_ms = performance.now()));
    return probe.answers;
  }

  async #askAll(): Promise<Answers> {
    const { postgres, clickhouse, eventLog, logger } = this.#engines;
    const pings = {
      postgres: () => postgres.ping(),
      clickhouse: () => clickhouse.ping(),
      event_log: () => eventLog.ping(),
    };
    const answers = this.#needed.map(async (name) => {
      try {
        await withinTime(PING_TIMEOUT_MS, pings[name]());
        return [name, 'ok'] as const;
      } catch (error) {
        logger.warn({ err: error, engine: name }, 'engine does not answer');
        return [name, 'failed'] as const;
      }
    });
    return Object.fromEntries(await Promise.all(answers));
  }
}
