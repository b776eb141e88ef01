import { randomUUID } from 'node:crypto';
import { PLAYER_DEPENDENTS } from '../../../../src/app/player-dependents.ts';
import { readJourney } from '../../../../src/engage/journeys/graph/read-journey.ts';
import { enter } from '../../../../src/engage/journeys/runs/entry.ts';
import { Matcher } from '../../../../src/engage/journeys/runs/matcher.ts';
import { JourneyRunner, type RunnerDeps } from '../../../../src/engage/journeys/runs/runner.ts';
import { encodePlayerEvent, playerKey } from '../../../../src/ingest/events/envelope.ts';
import { openPostgresLog } from '../../../../src/platform/event-log/postgres-log.ts';
import type { EventLog, LogBatch } from '../../../../src/platform/event-log/port.ts';
import { ALL_TOPICS, TOPICS } from '../../../../src/platform/event-log/topics.ts';
import { createLogger } from '../../../../src/platform/logger.ts';
import { createMetrics } from '../../../../src/platform/metrics.ts';
import { migratePostgres } from '../../../../src/platform/postgres/migrate.ts';
import { connectPool, openPostgres } from '../../../../src/platform/postgres/pool.ts';
import type { Db, Postgres } from '../../../../src/platform/postgres/port.ts';
import { retryConflicts } from '../../../../src/platform/postgres/retry.ts';
import { mergePlayer } from '../../../../src/players/identity/merge-queries.ts';
import { openTestPostgres } from '../../../engines/wiring.ts';
import type { Turns } from './stepper.ts';

type Json = Record<string, unknown>;
export type WrittenNode = Json & { id: string; type: string };

/** A journey of one version. */
export interface Journey {
  journey_id: string;
  written: { trigger: Json; graph: { start_node_id: string; nodes: WrittenNode[] }; settings: Json };
}

/** What the world has of the platform, with every statement at once or at an actor's turn. */
export interface Hands {
  postgres: Postgres;
  /** `beforeCheck` is called when the runs of the turn are written, before events are looked at again for those that wait. */
  runner: { turn(beforeCheck?: () => Promise<void>): Promise<void> };
  matcher: Matcher;
}

const NO_PAUSE = AbortSignal.abort();
const NO_ENGINE = () => Promise.reject(new Error('no ClickHouse'));
const CLICKHOUSE = {
  query: NO_ENGINE,
  file: NO_ENGINE,
  command: NO_ENGINE,
  rewrite: NO_ENGINE,
  deleteRows: NO_ENGINE,
  insertLines: NO_ENGINE,
  max_questions: 1,
  ping: NO_ENGINE,
  close: () => Promise.resolve(),
};

/** One project on a database of its own, with a clock that stands still until it is moved. */
export class World {
  readonly postgres: Postgres;
  readonly log: EventLog;
  readonly project: { tenant_id: string; project_id: string };
  readonly template_id = randomUUID();
  readonly provider_id = randomUUID();
  readonly clock = { now_ms: () => this.#now_ms };
  readonly metrics = createMetrics();
  /** Hands that wait for nobody. */
  readonly at_once: Hands;
  readonly #close: () => Promise<void>;
  #now_ms = Date.now();

  private constructor(postgres: Postgres, log: EventLog, close: () => Promise<void>) {
    this.postgres = postgres;
    this.log = log;
    this.#close = close;
    this.project = { tenant_id: randomUUID(), project_id: randomUUID() };
    this.at_once = this.#handsOf(postgres, log);
  }

  static async open(): Promise<World> {
    const engine = await openTestPostgres({ prepared: true });
    const owner = connectPool(engine.url);
    await migratePostgres(owner);
    await migratePostgres(owner, 'pg-migrations/event-log');
    // Deadlocks are part of the test, and nothing else happens until Postgres has noticed them.
    const [database] = await owner<{ name: string }[]>`select current_database() as name`;
    await owner.unsafe(`alter database ${database?.name ?? ''} set deadlock_timeout = '20ms'`);
    const postgres = openPostgres(engine.url);
    const logger = createLogger('fatal');
    const log = await openPostgresLog({ sql: owner, clock: { now_ms: () => Date.now() }, logger });
    await log.ensureTopics(ALL_TOPICS);
    const world = new World(postgres, log, async () => {
      await log.close();
      await postgres.close();
      await owner.end({ timeout: 5 });
      await engine.close();
    });
    await world.#found();
    return world;
  }

  get sql(): Db {
    return this.postgres.service;
  }

  get now(): Date {
    return new Date(this.#now_ms);
  }

  pass(ms: number): void {
    this.#now_ms += ms;
  }

  close(): Promise<void> {
    return this.#close();
  }

  /** Hands whose every statement, and every look at the log, waits for the actor's turn. */
  handsOf({ postgres, step }: Turns): Hands {
    const log: EventLog = Object.create(this.log, {
      endOffsets: { value: (topic: string) => step('ends of the log', () => this.log.endOffsets(topic)) },
    }) as EventLog;
    return this.#handsOf(postgres, log);
  }

  #handsOf(postgres: Postgres, eventLog: EventLog): Hands {
    const { clock, metrics } = this;
    const deps: RunnerDeps = {
      postgres,
      eventLog,
      clock,
      metrics,
      clickhouse: CLICKHOUSE,
      logger: createLogger('fatal'),
      erasure_key: Buffer.alloc(32),
    };
    const [runner, matcher] = [new JourneyRunner(deps), new Matcher(deps)];
    let has_waiting = false;
    runner.onWaiting = () => (has_waiting = true);
    const turn = async (beforeCheck = () => Promise.resolve()) => {
      await runner.turn(NO_PAUSE);
      if (!has_waiting) return;
      has_waiting = false;
      await beforeCheck();
      await matcher.check();
    };
    return { postgres, runner: { turn }, matcher };
  }

  /** An active journey of these nodes, of which the first is the start. */
  async journey(nodes: WrittenNode[], settings: Json = {}): Promise<Journey> {
    const { tenant_id, project_id } = this.project;
    const journey_id = randomUUID();
    const graph = { start_node_id: nodes[0]?.id ?? '', nodes };
    const written = { trigger: { kind: 'api' }, graph, settings };
    const [trigger, drawn, set] = [written.trigger, graph, settings].map((part) => JSON.stringify(part));
    await this.sql`
      insert into journeys (tenant_id, project_id, journey_id, name, status, trigger, graph, settings, version, activated_at,
        created_at, updated_at)
      values (${tenant_id}, ${project_id}, ${journey_id}, 'journey', 'active', ${trigger ?? ''}::text::jsonb,
        ${drawn ?? ''}::text::jsonb, ${set ?? ''}::text::jsonb, 1, now(), now(), now())`;
    await this.sql`
      insert into journey_versions (tenant_id, project_id, journey_id, version, trigger, graph, settings, published_at)
      values (${tenant_id}, ${project_id}, ${journey_id}, 1, ${trigger ?? ''}::text::jsonb,
        ${drawn ?? ''}::text::jsonb, ${set ?? ''}::text::jsonb, now())`;
    const watched = [
      ...nodes.filter(({ type }) => type === 'wait_for_event').map(({ event }) => [event, 'wait'] as const),
      ...((settings['exit_on'] ?? []) as Json[]).map(({ event }) => [event, 'exit'] as const),
    ];
    for (const [event, kind] of watched) {
      await this.sql`
        insert into journey_watched (tenant_id, project_id, event, journey_id, version, kind)
        values (${tenant_id}, ${project_id}, ${String(event)}, ${journey_id}, 1, ${kind}) on conflict do nothing`;
    }
    return { journey_id, written };
  }

  /** An anonymous player; returns the id. */
  async player(): Promise<string> {
    const { tenant_id, project_id } = this.project;
    const player_id = randomUUID();
    await this.sql`
      insert into players (tenant_id, project_id, player_id, email, default_currency_code, created_at, updated_at)
      values (${tenant_id}, ${project_id}, ${player_id}, 'ada@example.com', 'EUR', now(), now())`;
    await this.sql`
      insert into player_totals (tenant_id, project_id, player_id, first_seen_at, listed_at, updated_at)
      values (${tenant_id}, ${project_id}, ${player_id}, now(), now(), now())`;
    return player_id;
  }

  /** Lets a player enter a journey, as processors do that were told of it; returns the run, if one has begun. */
  async enter(journey: Journey, player_id: string, postgres = this.postgres): Promise<string | undefined> {
    const { journey_id, written } = journey;
    const definition = readJourney(written);
    const version = { ...this.project, journey_id, version: 1 };
    const entrant = {
      player_id,
      trigger_key: randomUUID(),
      trigger: { kind: 'segment_entered' as const },
      context: { trigger_payload: {} },
    };
    const { run_ids } = await postgres.service.begin((tx) =>
      enter(tx, { version, definition, now: this.now }, [entrant]),
    );
    return run_ids[0];
  }

  /** Appends an event of a player to the log; returns its batch. */
  async append(player_id: string, event: string): Promise<LogBatch> {
    const { tenant_id, project_id } = this.project;
    const key = playerKey(project_id, player_id);
    const before = await this.log.endOffsets(TOPICS.playerEvents);
    const at_ms = this.#now_ms;
    const value = encodePlayerEvent({
      tenant_id,
      project_id,
      event,
      player_id,
      occurred_at: at_ms,
      received_at: at_ms,
      ingestion_id: randomUUID(),
      event_index: 0,
      base_amount: null,
      base_payout: null,
      properties: {},
    });
    await this.log.append(TOPICS.playerEvents, [{ key, value }]);
    const partition = this.log.partitionOf(key, before.size);
    const from = before.get(partition) ?? 0n;
    for await (const batch of this.log.read(TOPICS.playerEvents, partition, from, from + 1_000n))
      return batch;
    throw new Error('the log does not have the event');
  }

  /** Merges a player into another. */
  async merge(player_id: string, into_player_id: string, postgres = this.postgres): Promise<void> {
    const { project, now } = this;
    await retryConflicts(() =>
      postgres.asTenant(project.tenant_id, (tx) =>
        mergePlayer(tx, { ...project, player_id, into_player_id }, now, PLAYER_DEPENDENTS),
      ),
    );
  }

  /** Lets everything happen that is due. */
  async drain(): Promise<void> {
    for (let turns = 0; ; turns++) {
      const [due] = await this.sql`select from journey_timers where due_at <= ${this.now} limit 1`;
      if (due === undefined) break;
      if (turns > 200) throw new Error('runs never end');
      await this.at_once.runner.turn();
    }
    await this.at_once.matcher.check();
  }

  async #found(): Promise<void> {
    const { sql, template_id, provider_id } = this;
    const { tenant_id, project_id } = this.project;
    await sql`insert into tenants (tenant_id, name, base_currency) values (${tenant_id}, 'T', 'EUR')`;
    await sql`insert into projects (tenant_id, project_id, name) values (${tenant_id}, ${project_id}, 'P')`;
    await sql`
      insert into templates (tenant_id, project_id, template_id, name, channel, status, subject, body, created_at, updated_at)
      values (${tenant_id}, ${project_id}, ${template_id}, 'hello', 'email', 'active', 'Hello', 'Hi', now(), now())`;
    await sql`
      insert into messaging_providers (tenant_id, provider_id, name, kind, channel, status, config, credentials, created_at,
        updated_at)
      values (${tenant_id}, ${provider_id}, 'sandbox', 'sandbox', 'email', 'active', '{}', '', now(), now())`;
  }
}
