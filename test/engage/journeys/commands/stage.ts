import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { journeyTriggers } from '../../../../src/engage/journeys/runs/event-entry.ts';
import { Matcher } from '../../../../src/engage/journeys/runs/matcher.ts';
import { JourneyRunner } from '../../../../src/engage/journeys/runs/runner.ts';
import {
  CANCEL_RUNS_TASK,
  RESUME_RUNS_TASK,
  runCancelJob,
  runResumeJob,
} from '../../../../src/engage/journeys/runs-job.ts';
import { writeResults, type AttemptResult } from '../../../../src/engage/webhooks/result-queries.ts';
import { retryConflicts } from '../../../../src/platform/postgres/retry.ts';
import { TriggerDecider } from '../../../../src/engage/triggers/decider.ts';
import { recordTriggerEvents } from '../../../../src/engage/triggers/record.ts';
import { Egress } from '../../../../src/platform/egress/egress.ts';
import type { EventLog, LogBatch } from '../../../../src/platform/event-log/port.ts';
import { openPostgresLog } from '../../../../src/platform/event-log/postgres-log.ts';
import { ALL_TOPICS, GROUPS, TOPICS } from '../../../../src/platform/event-log/topics.ts';
import type { NewJob } from '../../../../src/platform/jobs/port.ts';
import { createLogger } from '../../../../src/platform/logger.ts';
import { createMetrics } from '../../../../src/platform/metrics.ts';
import { migratePostgres } from '../../../../src/platform/postgres/migrate.ts';
import { connectPool, openPostgres } from '../../../../src/platform/postgres/pool.ts';
import { openWorkWatch } from '../../../../src/platform/postgres/work-watch.ts';
import type { Db, Postgres } from '../../../../src/platform/postgres/port.ts';
import { createMemoryRateLimiter } from '../../../../src/platform/rate-limit/memory.ts';
import type { Platform } from '../../../../src/platform/platform.ts';
import { call } from '../../../engines/http-client.ts';
import { startTestService, type TestService } from '../../../engines/service.ts';
import { until } from '../../../engines/until.ts';
import { openTestPostgres } from '../../../engines/wiring.ts';
import { messagingClient } from '../../messaging/messaging-client.ts';
import { Fragile, type CrashPoint } from './fragile.ts';
import type { Rules } from './model.ts';
import { SHAPES } from './shapes.ts';

type Json = Record<string, unknown>;
type Deps = ConstructorParameters<typeof JourneyRunner>[0];

const NO_PAUSE = AbortSignal.abort();
const NEVER = new AbortController().signal;
const PARTITIONS = 3;
/** What the webhooks of the journeys have in common; no one calls them. */
const CALL = { url: 'https://example.com/hook', timeout_ms: 10_000, retry: { max_attempts: 1 } };
const DAY_MS = 86_400_000;
/** Far more than what is due after a command takes. */
const MAX_TURNS = 500;

const noClickHouse = () => Promise.reject(new Error('no ClickHouse'));
const CLICKHOUSE = {
  query: noClickHouse,
  file: noClickHouse,
  command: noClickHouse,
  rewrite: noClickHouse,
  deleteRows: noClickHouse,
  insertLines: noClickHouse,
  max_questions: 1,
  ping: noClickHouse,
  close: () => Promise.resolve(),
};

/** Interrupted, it is done again. */
type Job = (deps: Deps) => Promise<void>;

async function run(deps: Deps, { task, payload }: NewJob): Promise<void> {
  if (task === RESUME_RUNS_TASK) await runResumeJob(deps, payload, NEVER);
  if (task === CANCEL_RUNS_TASK) await runCancelJob(deps, payload, NEVER);
}

/** What moves runs, as one process has it. */
interface Processors {
  hands: Fragile;
  runner: JourneyRunner;
  matcher: Matcher;
  decider: TriggerDecider;
  kinds: ReturnType<typeof journeyTriggers>[];
}

/** The readers of resolved events: each has its own position. */
const READERS = ['triggers', 'matcher'] as const;
type Reader = (typeof READERS)[number];

/**
 * The service with its API, its intake and its fold, on a clock that stands still until it is moved. What begins runs and
 * moves them is called by {@link Stage.settle} until nothing is left to do, and stops at the points that are drawn.
 */
export class Stage {
  readonly sql: Db;
  readonly service: TestService;
  client: ReturnType<typeof messagingClient>;
  /** Who uses the API. */
  readonly user_id = 'owner-1';
  /** Where the processors stop next. */
  readonly points: CrashPoint[] = [];
  /** How often they have stopped. */
  crashes = 0;
  now_ms: number;
  readonly #log: EventLog;
  readonly #worker: Postgres;
  /** What is to be done once, and again if it was interrupted. */
  readonly #jobs: Job[];
  readonly #positions: Record<Reader, Map<number, bigint>> = { triggers: new Map(), matcher: new Map() };
  readonly #close: () => Promise<void>;
  #processors: Processors;
  #losses = 0;
  #message_nodes: Json = {};

  private constructor(given: {
    sql: Db;
    service: TestService;
    log: EventLog;
    worker: Postgres;
    jobs: Job[];
    clock: { now_ms: number };
    close: () => Promise<void>;
  }) {
    this.sql = given.sql;
    this.service = given.service;
    this.client = messagingClient(given.service);
    this.#log = given.log;
    this.#worker = given.worker;
    this.#jobs = given.jobs;
    this.#close = given.close;
    this.now_ms = given.clock.now_ms;
    Object.defineProperty(given.clock, 'now_ms', { get: () => this.now_ms });
    this.#processors = this.#start();
  }

  static async open(): Promise<Stage> {
    const engine = await openTestPostgres({ prepared: true });
    const sql = connectPool(engine.url);
    const worker = openPostgres(engine.url);
    await migratePostgres(sql);
    await migratePostgres(sql, 'pg-migrations/event-log');
    // A prepared database has its topics already, of one partition.
    await sql`update event_log.topics set partitions = ${PARTITIONS}`;
    const logger = createLogger('fatal');
    const clock = { now_ms: Date.now() };
    const log = await openPostgresLog({
      sql,
      clock: { now_ms: () => Date.now() },
      logger,
      partitions: PARTITIONS,
    });
    await log.ensureTopics(ALL_TOPICS);
    const jobs: Job[] = [];
    const roles = new Set(['api', 'intake', 'player-fold'] as const);
    const metrics = createMetrics();
    const service = await startTestService({ roles }, (config) => {
      const of_service = { now_ms: () => clock.now_ms };
      const postgres = openPostgres(engine.url);
      const platform: Platform = {
        clock: of_service,
        logger,
        metrics,
        clickhouse: CLICKHOUSE,
        eventLog: log,
        postgres,
        workWatch: openWorkWatch({ sql: postgres.watch, logger }),
        jobs: {
          add: (_tx, job) => Promise.resolve(void jobs.push((deps) => run(deps, job))),
          work: () => Promise.reject(new Error('the stage runs the jobs')),
        },
        rateLimiter: createMemoryRateLimiter({ clock: of_service }),
        egress: new Egress({ allow: config.egress_allow }),
        close: () => Promise.resolve(),
      };
      return Promise.resolve(platform);
    });
    const close = async () => {
      await service.close();
      await log.close();
      await service.platform.postgres.close();
      await worker.close();
      await sql.end({ timeout: 5 });
      await engine.close();
    };
    const stage = new Stage({ sql, service, log, worker, jobs, clock, close });
    await stage.#found();
    return stage;
  }

  close(): Promise<void> {
    return this.#close();
  }

  /** Begins another sequence: nothing is left of one that has failed. */
  async begin(): Promise<void> {
    this.points.length = 0;
    this.#jobs.length = 0;
    this.now_ms += DAY_MS;
    const session_token = (await this.service.service.auth?.dev_issuer?.issueSession(this.user_id)) ?? '';
    this.client = messagingClient(this.service, { ...this.service, session_token });
    await this.sql`
      update journeys set deleted_at = ${new Date(this.now_ms)}, is_held = false where deleted_at is null`;
    await this.settle();
  }

  /** A graph of this shape as the API takes it. */
  graphOf(shape: number): Json {
    const nodes = (SHAPES[shape] ?? []).map((node): Json => {
      if (node.type === 'wait_for_event') return { ...node, event: 'custom_answer' };
      if (node.type === 'send_message') return { ...node, ...this.#message_nodes };
      if (node.type === 'call_webhook') {
        const { awaits_answer, ...rest } = node;
        return { ...rest, ...CALL, wait_for_response: awaits_answer };
      }
      if (node.type !== 'update_player') return node;
      const { mark, ...rest } = node;
      return { ...rest, set: { traits: { [mark]: true } } };
    });
    return { start_node_id: nodes[0]?.['id'], nodes };
  }

  /** An active journey; returns its id. */
  async journey(shape: number, { re_entry, trigger, exits }: Rules): Promise<string> {
    const created = await this.client.api('POST', '/v1/journeys', {
      name: 'a journey',
      trigger: { kind: 'event', event: trigger },
      graph: this.graphOf(shape),
      settings: {
        ...(re_entry === 'always' ? {} : { re_entry: { mode: re_entry } }),
        ...(exits ? { exit_on: [{ event: 'custom_leave' }] } : {}),
      },
    });
    expect(created.status, JSON.stringify(created.error)).toBe(201);
    const journey_id = String(created.data['id']);
    await this.post(`/v1/journeys/${journey_id}/activate`);
    return journey_id;
  }

  /** Calls the API, which must answer 200 or 201; returns the data. */
  async post(path: string, body?: Json, method = 'POST'): Promise<Json> {
    const { status, data, error } = await this.client.api(method, path, body);
    expect([200, 201], `${path}: ${JSON.stringify(error)}`).toContain(status);
    return data;
  }

  /** Tells the service who somebody is; returns the player's id. */
  async identify(who: { anonymous_id?: string; external_id?: string }): Promise<string> {
    const data = await this.#send(`${this.service.base_url}/v1/players/identify`, who, 200);
    return String(data['player_id']);
  }

  /** Sends an event, and waits until the fold has it. */
  async event(event: string, anonymous_id: string): Promise<void> {
    await this.#send(`${this.service.ingest_url}/v1/events`, { event, anonymous_id, properties: {} }, 202);
    await until('the fold has it', async (saw) => {
      const lag = saw(await this.#log.lag(TOPICS.events, GROUPS.fold));
      return lag.every(({ next_offset, end_offset }) => next_offset >= end_offset);
    });
  }

  async #send(url: string, body: Json, status: number): Promise<Json> {
    const answer = await call<Json>(url, this.service.api_key, { body });
    expect(answer.status, answer.text).toBe(status);
    return answer.data;
  }

  /** Has the result of a webhook's last attempt written; without an error it was delivered. */
  async answer(run_id: string, node_id: string, error: string | undefined): Promise<void> {
    const [row] = await this.sql<
      Pick<AttemptResult, 'event_id' | 'player_id' | 'subscription_id' | 'seq' | 'attempts'>[]
    >`
      select event_id, player_id, subscription_id, seq, attempts from webhook_deliveries
      where run_id = ${run_id} and node_id = ${node_id}`;
    if (row === undefined) throw new Error(`run ${run_id} has not called ${node_id}`);
    const { tenant_id, project_id } = this.service;
    const result: AttemptResult = {
      ...row,
      tenant_id,
      project_id,
      run_id,
      wait_for_response: true,
      save_as: null,
      status: error === undefined ? 'delivered' : 'failed',
      next_at: new Date(this.now_ms),
      is_void: false,
      was_not_sent: false,
      last_status: error === undefined ? 200 : 410,
      last_error: error ?? null,
      last_reason: null,
      response: null,
      saved: null,
    };
    this.#jobs.push(({ postgres, clock }) =>
      retryConflicts(() =>
        postgres.service.begin((tx) => writeResults(tx, [result], new Date(clock.now_ms()))),
      ),
    );
  }

  /** The readers of the log forget their last `records` of each partition: they are delivered again. */
  rewind(records: bigint): void {
    for (const reader of READERS) {
      for (const [partition, at] of this.#positions[reader]) {
        this.#positions[reader].set(partition, at > records ? at - records : 0n);
      }
    }
  }

  /** Lets everything happen that is to happen now, whatever stops on the way. `first`: which reader is ahead. */
  async settle(first: Reader = 'triggers'): Promise<void> {
    for (;;) {
      try {
        await this.#work(first);
        if (!this.#hasStopped()) return;
      } catch (error) {
        if (!this.#hasStopped()) throw error;
      }
      await this.#takeOver();
    }
  }

  #hasStopped(): boolean {
    const { hands } = this.#processors;
    return hands.is_over || hands.losses > this.#losses;
  }

  /** What follows a stop: a process that has lost a connection goes on, and another one follows one that has ended. */
  async #takeOver(): Promise<void> {
    this.crashes += 1;
    const { hands, decider } = this.#processors;
    await decider.close();
    if (hands.is_over) this.#processors = this.#start();
    else this.#processors.decider = new TriggerDecider(this.#depsOf(hands), this.#processors.kinds);
    this.#losses = this.#processors.hands.losses;
    // The claims of a decider last a minute.
    await this.sql`update trigger_events set claimed_until = null where decided_at is null`;
  }

  async #work(first: Reader): Promise<void> {
    for (let turns = 0; turns < MAX_TURNS; turns++) {
      await this.#runJobs();
      const second = first === 'triggers' ? 'matcher' : 'triggers';
      for (const reader of [first, second] as const) await this.#read(reader);
      const { runner, matcher } = this.#processors;
      while (await matcher.check());
      if (!(await this.#isDue())) return;
      await runner.turn(NO_PAUSE);
      this.#check();
    }
    throw new Error('runs never end');
  }

  /** Some errors are caught where they occur. */
  #check(): void {
    if (this.#hasStopped()) throw new Error('the processors have stopped');
  }

  async #isDue(): Promise<boolean> {
    const due = await this.sql`
      select from journey_timers where due_at <= ${new Date(this.now_ms)} limit 1`;
    return due.length > 0;
  }

  async #runJobs(): Promise<void> {
    for (let job = this.#jobs[0]; job !== undefined; job = this.#jobs[0]) {
      const deps = this.#depsOf(this.#processors.hands);
      await job(deps);
      this.#check();
      this.#jobs.shift();
    }
  }

  /** Hands what is new on the log to one of the readers. */
  async #read(reader: Reader): Promise<void> {
    const positions = this.#positions[reader];
    for (const [partition, end] of await this.#log.endOffsets(TOPICS.playerEvents)) {
      const from = positions.get(partition) ?? 0n;
      for await (const batch of this.#log.read(TOPICS.playerEvents, partition, from, end)) {
        await this.#handle(reader, batch);
        this.#check();
        positions.set(partition, (batch.records.at(-1)?.offset ?? -1n) + 1n);
      }
    }
    if (reader === 'triggers') await this.#decide();
  }

  async #handle(reader: Reader, batch: LogBatch): Promise<void> {
    const { hands, matcher, kinds } = this.#processors;
    if (reader === 'matcher') await matcher.handle(batch);
    else await recordTriggerEvents(this.#depsOf(hands), kinds, batch);
  }

  async #decide(): Promise<void> {
    for (let turns = 0; turns < MAX_TURNS; turns++) {
      const waiting = await this.sql`select from trigger_events where decided_at is null limit 1`;
      if (waiting.length === 0) return;
      await this.#processors.decider.turn(NEVER);
      this.#check();
    }
    throw new Error('events stay undecided');
  }

  #start(): Processors {
    const hands = new Fragile({ postgres: this.#worker, eventLog: this.#log, admin: this.sql }, this.points);
    const deps = this.#depsOf(hands);
    const kinds = [journeyTriggers(deps)];
    return {
      hands,
      kinds,
      runner: new JourneyRunner(deps),
      matcher: new Matcher(deps),
      decider: new TriggerDecider(deps, kinds),
    };
  }

  #depsOf({ postgres, eventLog }: Fragile): Deps {
    const { clock, metrics, logger } = this.service.platform;
    return {
      postgres,
      eventLog,
      clock,
      metrics,
      logger,
      clickhouse: CLICKHOUSE,
      erasure_key: Buffer.alloc(32),
    };
  }

  async #found(): Promise<void> {
    await this.post('/v1/webhook-secrets', {});
    const [template_id, provider_id] = [await this.client.template(), await this.client.provider()];
    this.#message_nodes = { template_id, provider_id };
  }
}

/** A name that nobody else has. */
export const newName = (): string => randomUUID();
