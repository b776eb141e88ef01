import { validationError } from '../../errors.ts';
import type { ClickHouseQueries } from '../../platform/clickhouse/port.ts';
import { ACTIVITY } from '../../analytics/insights/metrics/measure-queries.ts';
import type { ReportingSettings } from '../../tenants/config/read.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { messagesByStep, skippedByStep } from './message-queries.ts';
import {
  eventsByStep,
  firstDepositsByStep,
  MONEY_FIGURES,
  moneyByStep,
  newPlayersByStep,
  playersByStep,
  type MoneyFigure,
  type StepRow,
  type Steps,
} from './money-queries.ts';
import { hasSettingsOfNgr } from '../../ledger/money/ngr-sql.ts';
import { askNgr } from './ngr-queries.ts';
import type { Metric, SeriesQuery } from './schema.ts';
import { JsonText, exactJson } from '../../platform/exact-json.ts';

const MONEY: ReadonlySet<Metric> = new Set(MONEY_FIGURES);
/** Bets are most of all events, so their range is shorter. */
const OF_BETS: ReadonlySet<Metric> = new Set([
  'wagered',
  'won',
  'ggr',
  'bonus_wagered',
  'bonus_won',
  'ngr',
] satisfies MoneyFigure[]);
/** 92 days, in which clocks may be put back by an hour. */
const MAX_BET_RANGE_MS = 92 * 86_400_000 + 3_600_000;

/** Whether the values of the metric are amounts in the base currency. */
export function isMoney(metric: Metric): boolean {
  return MONEY.has(metric);
}

type Ask = (
  clickhouse: ClickHouseQueries,
  project: ProjectRef,
  steps: Steps,
  event: string | undefined,
  are_first_deposits_known: boolean,
) => Promise<StepRow[]>;

const money =
  (name: MoneyFigure): Ask =>
  (...asked) =>
    moneyByStep(asked[0], asked[1], asked[2], name);

const QUESTIONS: Record<Metric, Ask> = {
  ...(Object.fromEntries(MONEY_FIGURES.map((name) => [name, money(name)])) as Record<MoneyFigure, Ask>),
  active_players: (...of) => playersByStep(of[0], of[1], of[2], ACTIVITY),
  first_deposits: (...of) => firstDepositsByStep(of[0], of[1], of[2], of[4]),
  new_players: newPlayersByStep,
  signups: (...of) => eventsByStep(of[0], of[1], of[2], 'signup'),
  events: eventsByStep,
  messages_sent: (...of) => messagesByStep(of[0], of[1], of[2], 'sent_at'),
  messages_delivered: (...of) => messagesByStep(of[0], of[1], of[2], 'delivered_at'),
  messages_opened: (...of) => messagesByStep(of[0], of[1], of[2], 'opened_at'),
  messages_clicked: (...of) => messagesByStep(of[0], of[1], of[2], 'clicked_at'),
  messages_bounced: (...of) => messagesByStep(of[0], of[1], of[2], 'bounced_at'),
  messages_skipped: skippedByStep,
};

/**
 * The points of a series as JSON text, one per step, those without events as 0. Throws VALIDATION_ERROR when the metric is
 * not computed over so long a range, or not of one event.
 */
export async function seriesPoints(
  clickhouse: ClickHouseQueries,
  project: ProjectRef,
  { metric, interval, event }: Pick<SeriesQuery, 'metric' | 'interval' | 'event'>,
  steps: Steps,
  {
    reporting,
    are_first_deposits_known,
    now_ms,
  }: { reporting: ReportingSettings; are_first_deposits_known: boolean; now_ms: number },
): Promise<string> {
  if (OF_BETS.has(metric) && steps.to_ms - steps.from_ms > MAX_BET_RANGE_MS)
    throw validationError([{ path: 'from', message: `${metric} is computed over at most 92 days` }]);
  if (event !== undefined && metric !== 'events')
    throw validationError([{ path: 'event', message: 'is only for the metric `events`' }]);
  if (metric === 'ngr' && hasSettingsOfNgr(reporting)) {
    const { by_step } = await askNgr(clickhouse, project, { ...steps, interval }, reporting, now_ms);
    return exactJson(steps.starts_ms.map((start_ms, i) => ({ at: new Date(start_ms), value: by_step[i] })));
  }
  const rows = await QUESTIONS[metric](clickhouse, project, steps, event, are_first_deposits_known);
  const values = new Map(rows.map(({ step, value }) => [step, value]));
  const points = steps.starts_ms.map((start_ms) => ({
    at: new Date(start_ms),
    value: new JsonText(values.get(String(start_ms)) ?? '0'),
  }));
  return exactJson(points);
}
