import { wordIn, wordsOf } from '../../format/code-words.ts';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { type ComponentProps } from 'react';
import { useBaseCurrency, useMoney, type MoneyFormat } from '../../api/currencies.ts';
import type { Int } from '../../api/json.ts';
import { decimalOf } from '../../format/money.ts';
import { changeOf, formatInt, formatPercent } from '../../format/number.ts';
import { dateBelow, formatTime } from '../../format/time.ts';
import { Time, useZone } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import { Chart as Drawn } from '../../ui/chart.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Field } from '../../ui/field.tsx';
import { Page } from '../../ui/page.tsx';
import { Answered, Empty } from '../../ui/states.tsx';
import { Setup } from './setup.tsx';
import { useOverview, useSeries, type OverviewData } from './queries.ts';
import css from './view.module.css';

const route = getRouteApi('/overview');
const m = t.overview;
const EXAMPLE = `curl "$INGEST/v1/events" -H "Authorization: Bearer $API_KEY" -H 'Content-Type: application/json' \\
  -d '{"event":"deposit_confirmed","anonymous_id":"device-1","properties":{"amount":2500,"currency":"EUR","transaction_id":"tx-1","payment_method":"card"}}'`;

const RANGES = ['today', 'week', 'month'] as const;
type Range = (typeof RANGES)[number];

/** Days of a range, today included. */
const DAYS: Record<Range, number> = { today: 1, week: 7, month: 30 };

/** What happens now, compared with the same time a week before, or the 30 days with the 30 before. */
export function Overview() {
  const search = route.useSearch();
  const navigate = useNavigate({ from: '/overview' });
  const range = RANGES.find((one) => one === search.range) ?? 'today';
  const overview = useOverview(DAYS[range]);
  const money = useMoney();
  return (
    <Page
      title={m.title}
      actions={
        <Field label={m.range}>
          {(control) => (
            <select
              {...control}
              value={range}
              onChange={({ target }) =>
                void navigate({ search: (before) => ({ ...before, range: target.value }) })
              }
            >
              {RANGES.map((one) => (
                <option key={one} value={one}>
                  {m.ranges[one]}
                </option>
              ))}
            </select>
          )}
        </Field>
      }
    >
      <div className={css['money']}>
        <Answered asked={overview} what={m.loading}>
          {({ data }) => (
            <>
              {data.now.events === 0 && data.week_before.events === 0 ? (
                <>
                  <Setup />
                  <Empty title={m.nothing} call={EXAMPLE}>
                    <p>{m.nothingHelp}</p>
                  </Empty>
                </>
              ) : null}
              <Money data={data} money={money} before={m.before[range]} />
            </>
          )}
        </Answered>
      </div>
      <div className={css['charts']}>
        <Chart metric="deposits" title={m.depositsOverTime} range={range} money={money} />
        <Chart metric="ggr" title={m.ggrOverTime} range={range} money={money} />
      </div>
      {overview.data === undefined ? null : <Work data={overview.data.data} money={money} />}
    </Page>
  );
}

interface MoneyProps {
  data: OverviewData;
  money: MoneyFormat;
  /** What the figures are compared with. */
  before: string;
}

function Money({ data: { now, week_before, timezone }, money, before }: MoneyProps) {
  const figure = (key: Figure) => {
    const format = key === 'first_time_depositors' || key === 'active_players' ? formatInt : money.base;
    return (
      <>
        {format(now[key])} <Change now={now[key]} before={week_before[key]} name={before} />
      </>
    );
  };
  return (
    <div className={css['part']}>
      <Facts
        label={m.title}
        large
        facts={[
          [m.deposits, figure('deposits')],
          [m.withdrawals, figure('withdrawals')],
          [m.ggr, figure('ggr')],
          [m.ngr, figure('ngr')],
          [m.firstDeposits, figure('first_time_depositors')],
          [m.activePlayers, figure('active_players')],
        ]}
      />
      <Facts
        label={m.parts}
        facts={[
          [m.depositsReversed, money.base(now.deposits_reversed)],
          [m.withdrawalsReversed, money.base(now.withdrawals_reversed)],
          [m.bonusWagered, money.base(now.bonus_wagered)],
          [m.bonusWon, money.base(now.bonus_won)],
          [m.credited, money.base(now.credited)],
          [m.debited, money.base(now.debited)],
          [m.days, timezone],
        ]}
      />
    </div>
  );
}

type Figure = 'deposits' | 'withdrawals' | 'ggr' | 'ngr' | 'first_time_depositors' | 'active_players';

function Change({ now, before, name }: { now: Int; before: Int; name: string }) {
  const change = changeOf(now, before);
  if (change === undefined) return <small className={css['change']}>{m.noChange(name)}</small>;
  const sign = change > 0 ? '+' : '';
  return <small className={css['change']}>{`${sign}${formatPercent(change)} ${m.against(name)}`}</small>;
}

interface ChartProps {
  metric: 'deposits' | 'ggr';
  title: string;
  range: Range;
  money: MoneyFormat;
}

function Chart({ metric, title, range, money }: ChartProps) {
  const { name } = useZone();
  const base = useBaseCurrency();
  const series = useSeries(metric, range === 'month' ? 'day' : 'hour', DAYS[range]);
  return (
    <Answered asked={series} what={title}>
      {({ data }) => (
        <Drawn
          title={title}
          as="bars"
          points={data.points.map(({ at }, i) => ({
            key: at,
            label: formatTime(at, name),
            short: dateBelow(at, name, range !== 'month'),
            // The last one has now in it.
            is_complete: i < data.points.length - 1,
          }))}
          series={[
            {
              name: title,
              column: data.currency ?? title,
              figures: data.points.map(({ value }) => ({
                value: Number(value),
                text: money.base(value),
                figure: base === undefined ? undefined : decimalOf(value, base.scale),
              })),
            },
          ]}
          tick={money.short}
          none={t.chart.none(m.nouns[metric])}
        />
      )}
    </Answered>
  );
}

/** Figures under a heading of their own. */
function Part({ title, facts }: { title: string; facts: ComponentProps<typeof Facts>['facts'] }) {
  return (
    <section className={css['part']}>
      <h2>{title}</h2>
      <Facts label={title} facts={facts} />
    </section>
  );
}

function behindOf(events_behind: number | null): string {
  if (events_behind === null) return t.system.notKnown;
  return events_behind === 0 ? t.system.caughtUp : t.system.upTo(formatInt(events_behind));
}

/** What runs, what was not sent and why, and whether the service keeps up. */
function Work({ data, money }: { data: OverviewData; money: MoneyFormat }) {
  const { messages, campaigns, journeys, grants, responsible_gaming, pipeline } = data;
  const counts = (of: Readonly<Record<string, Int>>) =>
    Object.entries(of).map(([name, count]) => [m.statuses[name] ?? wordsOf(name), formatInt(count)] as const);
  const letters = pipeline.dead_letters;
  return (
    <>
      <Part title={m.messages} facts={counts(messages.by_status)} />
      <Part
        title={m.skipped}
        facts={[
          [
            m.blocked,
            <Badge key="blocked" tone="shield">
              {formatInt(messages.blocked_for_protection)}
            </Badge>,
          ],
          ...counts(messages.skipped),
        ]}
      />
      <Part
        title={m.running}
        facts={[
          [m.campaignsSending, formatInt(campaigns.sending)],
          [m.campaignsScheduled, formatInt(campaigns.scheduled)],
          [m.journeysActive, formatInt(journeys.active)],
          [m.runs, formatInt(journeys.runs_running)],
          [m.grantsOpen, formatInt(grants.open)],
          [m.liability, money.base(grants.liability)],
        ]}
      />
      <Part
        title={m.protection}
        facts={[
          [m.selfExcluded, formatInt(responsible_gaming.self_excluded)],
          [m.coolingOff, formatInt(responsible_gaming.cooling_off)],
          [m.banned, formatInt(responsible_gaming.banned)],
        ]}
      />
      <Part
        title={m.flow}
        facts={[
          ...pipeline.consumers.map(
            ({ name, events_behind }) =>
              [m.lagOf(wordIn(t.names.consumers, name)), behindOf(events_behind)] as const,
          ),
          [
            m.deadLetters,
            letters === null ? '?' : `${letters.is_all ? '' : '≥ '}${formatInt(letters.found)}`,
          ],
          [m.asOf, <Time key="at" at={data.at} />],
        ]}
      />
    </>
  );
}
