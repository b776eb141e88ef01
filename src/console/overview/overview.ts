import { LRUCache } from 'lru-cache';
import { countRecentLetters } from '../../ingest/dead-letters/own-letters.ts';
import { FAILURE_CODES, SKIP_CODES } from '../../engage/messaging/send-row.ts';
import { GROUPS, TOPICS } from '../../platform/event-log/topics.ts';
import { withinTime } from '../../platform/time-limit.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { Platform } from '../../wiring/platform.ts';
import { countMessages, type MessageCount } from './message-queries.ts';
import { betsByStep, firstDepositsByStep, sumEvents, type Range } from './money-queries.ts';
import { oneStep, rangeOf, weekBefore } from './range.ts';
import type { RangeQuery } from './schema.ts';
import { ACTIVITY } from './series.ts';
import { readState, type ProjectState } from './state-queries.ts';

type Deps = Pick<Platform, 'postgres' | 'clickhouse' | 'eventLog' | 'clock' | 'logger'>;

const FRESH_MS = 10_000;
const MAX_CACHED = 1_000;
/** The log is asked no longer than this; what it has not said then is not known. */
const LOG_MS = 2_000;
/** Codes of messages that were not sent in order to protect the player. */
const PROTECTION: readonly string[] = [
  'SKIPPED_SELF_EXCLUDED',
  'SKIPPED_COOLDOWN',
  'SKIPPED_AT_RISK',
  'SKIPPED_BANNED',
];

/** The overviews of projects as JSON text, each computed at most once in 10 s, whoever asks. */
export class Overviews {
  readonly #deps: Deps;
  readonly #cached = new LRUCache<string, Promise<string>>({ max: MAX_CACHED, ttl: FRESH_MS });

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Rejects with VALIDATION_ERROR for an unusable range. */
  async of(project: ProjectRef, query: RangeQuery): Promise<string> {
    const now_ms = this.#deps.clock.now_ms();
    const range = rangeOf(query, now_ms);
    const key = [project.tenant_id, project.project_id, query.from ?? '', query.to ?? ''].join(' ');
    const known = this.#cached.get(key);
    if (known !== undefined) return known;
    const computed = overviewJson(this.#deps, project, range, now_ms);
    this.#cached.set(key, computed);
    computed.catch(() => {
      if (this.#cached.peek(key) === computed) this.#cached.delete(key);
    });
    return computed;
  }
}

/** Eight statements, side by side, and what the log says. */
async function overviewJson(deps: Deps, project: ProjectRef, range: Range, now_ms: number): Promise<string> {
  const { clickhouse, postgres } = deps;
  const before = weekBefore(range);
  const { tenant_id } = project;
  const [now, week_before, messages, [state], pipeline] = await Promise.all([
    moneyJson(deps, project, range),
    moneyJson(deps, project, before),
    countMessages(clickhouse, project, range),
    postgres.countAsTenant(tenant_id, (tx) => readState(tx, project, new Date(now_ms))),
    pipelineOf(deps, project),
  ]);
  if (state === undefined) throw new Error('the state of a project is one row');
  const rest = {
    base_currency: state.base_currency,
    at: new Date(now_ms).toISOString(),
    messages: messagesOf(messages),
    ...stateOf(state),
    pipeline,
  };
  const grants = `{"open":${state.grants_open},"liability":${state.grants_liability}}`;
  return `${JSON.stringify(rest).slice(0, -1)},"grants":${grants},"now":${now},"week_before":${week_before}}`;
}

/** Amounts have more digits than a JavaScript number, so the text is made of theirs. */
async function moneyJson({ clickhouse }: Deps, project: ProjectRef, range: Range): Promise<string> {
  const steps = oneStep(range);
  const [sums, [bets], [first]] = await Promise.all([
    sumEvents(clickhouse, project, range, ACTIVITY),
    betsByStep(clickhouse, project, steps),
    firstDepositsByStep(clickhouse, project, steps),
  ]);
  const { wagered = '0', won = '0' } = bets ?? {};
  const at = (ms: number) => new Date(ms).toISOString();
  return (
    `{"from":"${at(range.from_ms)}","to":"${at(range.to_ms)}","deposits":${sums.deposits},` +
    `"withdrawals":${sums.withdrawals},"wagered":${wagered},"won":${won},"ggr":${BigInt(wagered) - BigInt(won)},` +
    `"first_time_depositors":${first?.value ?? '0'},"active_players":${sums.active_players},"events":${sums.events}}`
  );
}

function messagesOf(counts: readonly MessageCount[]) {
  const by_status: Record<string, number> = {};
  const codes: Record<string, number> = {};
  for (const { status, error_code, messages } of counts) {
    by_status[status] = (by_status[status] ?? 0) + Number(messages);
    if (error_code !== null) codes[error_code] = (codes[error_code] ?? 0) + Number(messages);
  }
  const of = (names: readonly string[]) =>
    Object.fromEntries(names.flatMap((name) => (codes[name] === undefined ? [] : [[name, codes[name]]])));
  const blocked_for_protection = PROTECTION.reduce((sum, code) => sum + (codes[code] ?? 0), 0);
  return { by_status, skipped: of(SKIP_CODES), failed: of(FAILURE_CODES), blocked_for_protection };
}

function stateOf(state: ProjectState) {
  return {
    campaigns: { scheduled: state.campaigns_scheduled, sending: state.campaigns_sending },
    journeys: {
      active: state.journeys_active,
      paused: state.journeys_paused,
      runs_running: state.runs_running,
    },
    responsible_gaming: {
      self_excluded: state.self_excluded,
      cooling_off: state.cooling_off,
      banned: state.banned,
    },
  };
}

async function pipelineOf({ eventLog, logger }: Deps, project: ProjectRef) {
  const known = async <T>(work: Promise<T>): Promise<T | null> => {
    try {
      return await withinTime(LOG_MS, work);
    } catch (error) {
      logger.warn({ err: error }, 'overview: the event log does not answer');
      return null;
    }
  };
  const behind = async (topic: string, group: string) => {
    const lag = await eventLog.lag(topic, group);
    return rounded(
      lag.reduce((sum, { next_offset, end_offset }) => sum + Number(end_offset - next_offset), 0),
    );
  };
  const [fold, sink, dead_letters] = await Promise.all([
    known(behind(TOPICS.events, GROUPS.fold)),
    known(behind(TOPICS.playerEvents, GROUPS.sink)),
    known(countRecentLetters(eventLog, project)),
  ]);
  return {
    consumers: [
      { name: GROUPS.fold, events_behind: fold },
      { name: GROUPS.sink, events_behind: sink },
    ],
    dead_letters,
  };
}

/** The log is shared: how much others send is not shown to the digit. */
function rounded(count: number): number {
  return count <= 0 ? 0 : 10 ** Math.ceil(Math.log10(count));
}
