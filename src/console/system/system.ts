import { BoundedCache } from '../../platform/bounded-cache.ts';
import type { z } from 'zod';
import { GROUPS, TOPICS } from '../../platform/event-log/topics.ts';
import { withinTime } from '../../platform/time-limit.ts';
import { isOldRelease, timeZoneRelease } from '../../platform/time-zone.ts';
import type { Platform } from '../../platform/platform.ts';
import {
  readClickHouseVersion,
  selectJobsGivenUp,
  selectPostgresVersion,
  selectReconciliation,
} from './queries.ts';
import type { systemResource } from './schema.ts';

type System = z.infer<typeof systemResource>;

/** What waits in one queue of a tenant; null: not known in time. */
export interface TenantBacklog {
  queue: string;
  backlog: { items: number; oldest_ms: number | null } | null;
}

export interface SystemDeps {
  platform: Pick<Platform, 'postgres' | 'clickhouse' | 'eventLog' | 'clock' | 'logger'>;
  service_version: string;
  readBacklogs: (tenant_id: string) => Promise<TenantBacklog[]>;
}

const FRESH_MS = 5_000;
const MAX_CACHED = 1_000;
const ANSWER_MS = 2_000;
const MAX_JOBS = 50;
const MAX_ERROR = 300;
const CONSUMERS = [
  { group: GROUPS.fold, topic: TOPICS.events },
  { group: GROUPS.sink, topic: TOPICS.playerEvents },
  { group: GROUPS.trigger, topic: TOPICS.playerEvents },
  { group: GROUPS.journeyMatcher, topic: TOPICS.playerEvents },
  { group: GROUPS.wagering, topic: TOPICS.playerEvents },
] as const;

/** The state of the service as tenants see it, each read at most once in 5 s. */
export class Systems {
  readonly #deps: SystemDeps;
  readonly #cached = new BoundedCache<string, Promise<System>>({ max: MAX_CACHED, ttl: FRESH_MS });

  constructor(deps: SystemDeps) {
    this.#deps = deps;
  }

  /** Rejects when Postgres does not answer; other engines may be away. */
  async of(tenant_id: string): Promise<System> {
    const known = this.#cached.get(tenant_id);
    if (known !== undefined) return known;
    const read = readSystem(this.#deps, tenant_id);
    this.#cached.set(tenant_id, read);
    read.catch(() => {
      if (this.#cached.peek(tenant_id) === read) this.#cached.delete(tenant_id);
    });
    return read;
  }
}

async function readSystem(deps: SystemDeps, tenant_id: string): Promise<System> {
  const { platform, service_version, readBacklogs } = deps;
  const { postgres, clock } = platform;
  const release = timeZoneRelease();
  const [engines, consumers, backlogs, jobs, [reconciliation]] = await Promise.all([
    readEngines(deps, tenant_id),
    Promise.all(CONSUMERS.map((consumer) => readConsumer(deps, consumer))),
    readBacklogs(tenant_id),
    postgres.readAsTenant(tenant_id, (tx) => selectJobsGivenUp(tx, MAX_JOBS)),
    postgres.readAsTenant(tenant_id, (tx) => selectReconciliation(tx, tenant_id)),
  ]);
  return {
    at: iso(clock.now_ms()),
    engines,
    versions: { service: service_version, node: process.versions.node },
    time_zones: { release, is_old: isOldRelease(release, clock.now_ms()) },
    consumers,
    queues: backlogs.map(({ queue, backlog }) => ({
      name: queue,
      items: backlog?.items ?? null,
      oldest_at: backlog?.oldest_ms === null || backlog === null ? null : iso(backlog.oldest_ms),
    })),
    jobs_given_up: jobs.map(({ last_error, created_at, given_up_at, ...job }) => ({
      ...job,
      last_error: last_error?.split('\n', 1)[0]?.slice(0, MAX_ERROR) ?? null,
      created_at: created_at.toISOString(),
      given_up_at: given_up_at.toISOString(),
    })),
    last_reconcile:
      reconciliation === undefined
        ? null
        : {
            ended_at: reconciliation.ended_at.toISOString(),
            differences: Number(reconciliation.differences),
          },
  };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

async function readEngines(deps: SystemDeps, tenant_id: string): Promise<System['engines']> {
  const { postgres, clickhouse, eventLog } = deps.platform;
  const postgresVersion = async () =>
    (await postgres.readAsTenant(tenant_id, (tx) => selectPostgresVersion(tx)))[0]?.version ?? null;
  const logVersion = async () => {
    await eventLog.ping();
    return null;
  };
  return Promise.all([
    readEngine(deps, 'postgres', postgresVersion),
    readEngine(deps, 'clickhouse', () => readClickHouseVersion(clickhouse)),
    readEngine(deps, 'event_log', logVersion),
  ]);
}

async function readEngine(
  { platform: { logger } }: SystemDeps,
  name: System['engines'][number]['name'],
  ask: () => Promise<string | null>,
): Promise<System['engines'][number]> {
  try {
    return { name, status: 'ok', version: await withinTime(ANSWER_MS, ask()) };
  } catch (error) {
    logger.warn({ err: error, engine: name }, 'system: the engine does not answer');
    return { name, status: 'failed', version: null };
  }
}

/** The log is shared: how much others send is not shown to the digit. */
async function readConsumer(
  { platform: { eventLog, logger } }: SystemDeps,
  { group, topic }: (typeof CONSUMERS)[number],
): Promise<System['consumers'][number]> {
  try {
    const lag = await withinTime(ANSWER_MS, eventLog.lag(topic, group));
    const behind = lag.reduce(
      (sum, { next_offset, end_offset }) => sum + Number(end_offset - next_offset),
      0,
    );
    return { name: group, events_behind: behind <= 0 ? 0 : 10 ** Math.ceil(Math.log10(behind)) };
  } catch (error) {
    logger.warn({ err: error, group }, 'system: lag unknown');
    return { name: group, events_behind: null };
  }
}
