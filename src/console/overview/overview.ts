import { countRecentLetters } from '../../ingest/dead-letters/own-letters.ts';
import { FAILURE_CODES, PROTECTION_CODES, SKIP_CODES } from '../../engage/messaging/send-row.ts';
import { GROUPS, TOPICS } from '../../platform/event-log/topics.ts';
import { withinTime } from '../../platform/time-limit.ts';
import type { ClickHouseQueries } from '../../platform/clickhouse/port.ts';
import { nextLocal } from '../../platform/local-intervals.ts';
import type { TimeZone } from '../../platform/time-zone.ts';
import type { ReportingSettings } from '../../tenants/config/read.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { Platform } from '../../platform/platform.ts';
import { countMessages, type MessageCount } from './message-queries.ts';
import { countFirstDeposits, MONEY_FIGURES, sumEvents, type EventSums, type Range } from './money-queries.ts';
import { readFirstDepositsKnown } from '../../analytics/first-deposit-queries.ts';
import { hasSettingsOfNgr } from '../../ledger/money/ngr-sql.ts';
import { askNgr, type Ngr } from './ngr-queries.ts';
import { rangeBefore } from './range.ts';
import { ACTIVITY } from '../../analytics/insights/metrics/measure-queries.ts';
import type { Steps } from '../../analytics/insights/kind.ts';
import { readState, type ProjectState } from './state-queries.ts';
import { JsonText, exactJson } from '../../platform/exact-json.ts';

export interface OverviewDeps extends Pick<Platform, 'postgres' | 'eventLog' | 'clock' | 'logger'> {
  clickhouse: ClickHouseQueries;
}

/** The log is asked no longer than this; what it has not said then is not known. */
const LOG_MS = 2_000;

/**
 * The overview of a project as JSON text, because amounts have more digits than a JavaScript number: statements side by
 * side, and what the log says. In the time zone of `reporting` the range is compared with the one before.
 */
export async function overviewJson(
  deps: OverviewDeps,
  project: ProjectRef,
  now: Range,
  reporting: ReportingSettings,
): Promise<string> {
  const { clickhouse, postgres } = deps;
  const now_ms = deps.clock.now_ms();
  const { zone } = reporting;
  const before = rangeBefore(now, zone);
  const ngrOf = async (range: Range) =>
    hasSettingsOfNgr(reporting)
      ? await askNgr(clickhouse, project, daysOf(range, zone), reporting, now_ms)
      : undefined;
  const { tenant_id } = project;
  const [of_now, of_before, ngr_now, ngr_before, first, messages, [state], pipeline] = await Promise.all([
    sumEvents(clickhouse, project, now, ACTIVITY),
    sumEvents(clickhouse, project, before, ACTIVITY),
    ngrOf(now),
    ngrOf(before),
    readFirstDepositsKnown(postgres, project).then((are_known) =>
      countFirstDeposits(clickhouse, project, { now, before, are_known }),
    ),
    countMessages(clickhouse, project, now),
    postgres.countAsTenant(tenant_id, (tx) => readState(tx, project, new Date(now_ms))),
    pipelineOf(deps, project),
  ]);
  if (state === undefined) throw new Error('the state of a project is one row');
  return exactJson({
    base_currency: state.base_currency,
    timezone: zone.name,
    at: new Date(now_ms).toISOString(),
    messages: messagesOf(messages),
    ...stateOf(state),
    pipeline,
    grants: { open: state.grants_open, liability: new JsonText(state.grants_liability) },
    now: moneyOf(now, of_now, ngr_now, first.now),
    week_before: moneyOf(before, of_before, ngr_before, first.before),
  });
}

/** The range as local days; the first and the last may be parts of days. */
function daysOf({ from_ms, to_ms }: Range, zone: TimeZone): Steps {
  const starts_ms = [];
  for (let at_ms = from_ms; at_ms < to_ms; at_ms = nextLocal(zone, 'day', at_ms)) starts_ms.push(at_ms);
  return { from_ms, to_ms, starts_ms, interval: 'day' };
}

function moneyOf(
  { from_ms, to_ms }: Range,
  sums: EventSums,
  ngr: Ngr | undefined,
  first_time_depositors: string,
) {
  return {
    from: new Date(from_ms),
    to: new Date(to_ms),
    ...Object.fromEntries(MONEY_FIGURES.map((name) => [name, new JsonText(sums[name])])),
    ...(ngr === undefined ? {} : { ngr: ngr.total }),
    first_time_depositors: new JsonText(first_time_depositors),
    active_players: new JsonText(sums.active_players),
    events: new JsonText(sums.events),
  };
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
  const blocked_for_protection = PROTECTION_CODES.reduce((sum, code) => sum + (codes[code] ?? 0), 0);
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

async function pipelineOf({ eventLog, logger }: OverviewDeps, project: ProjectRef) {
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
