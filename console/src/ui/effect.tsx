import type { UpliftReport } from '@player-engagement/client/admin';
import { useMoney, type Amount, type MoneyFormat } from '../api/currencies.ts';
import { formatInt, formatPercent, formatPoints } from '../format/number.ts';
import { Time } from '../format/zone.tsx';
import { t } from '../messages/t.ts';
import { Badge } from './badge.tsx';
import { Facts } from './facts.tsx';
import { Answered, Empty, type Asked } from './states.tsx';
import { Table } from './table.tsx';

const m = t.effect;
type Arm = UpliftReport['arms'][number];
type Harm = keyof Arm['harm'];
const HARMS = Object.keys(m.harms) as Harm[];
const P_DIGITS = 2;

/** With whom the groups are compared: those held out, or those who got a message at once instead of at their own hour. */
type Compares = keyof typeof m.base;

const nameOf = ({ arm, name }: Arm) => m.arms[arm] ?? name ?? m.treated;

/** An amount that is computed, in whole subunits, with its sign. */
function signed(amount: number, money: MoneyFormat): string {
  const whole: Amount = BigInt(Math.round(amount));
  return whole > 0n ? `+${money.base(whole)}` : money.base(whole);
}

/** What a campaign, journey or bonus campaign has added: the verdict first, then its figures, and the harm of each group. */
export function Effect({
  asked,
  compares = 'holdout',
}: {
  asked: Asked<{ data: UpliftReport }>;
  compares?: Compares;
}) {
  const money = useMoney();
  return (
    <Answered asked={asked} what={m.loading}>
      {({ data }) =>
        data.holdout_percent === 0 && data.held_out.players === 0 ? (
          <Empty title={m.none}>
            <p>{m.noneHelp}</p>
          </Empty>
        ) : (
          <>
            {data.arms.map((arm) => (
              <Verdict key={arm.arm} arm={arm} primary={data.primary} money={money} />
            ))}
            <Groups report={data} money={money} base={m.base[compares]} />
            {data.arms.map((arm) => (
              <Differences
                key={arm.arm}
                arm={arm}
                money={money}
                title={m.differences[compares]}
                is_one={data.arms.length === 1}
              />
            ))}
            <HarmOf report={data} base={m.base[compares]} />
            <About report={data} planned={m.planned[compares]} />
          </>
        )
      }
    </Answered>
  );
}

function Verdict({
  arm,
  primary,
  money,
}: {
  arm: Arm;
  primary: UpliftReport['primary'];
  money: MoneyFormat;
}) {
  const { decision, reason } = arm.verdict;
  const who = nameOf(arm);
  const by =
    primary === 'rate'
      ? m.points(formatPoints(arm.rate_effect?.difference ?? 0))
      : m.perPlayer(signed(arm.money_effect?.difference ?? 0, money));
  const worse = HARMS.filter((harm) => arm.harm[harm].is_worse);
  return (
    <>
      <p>
        {decision === 'more' ? <Badge tone="good">{m.more(who, by)}</Badge> : null}
        {decision === 'less' ? <Badge tone="bad">{m.less(who, by)}</Badge> : null}
        {decision === 'none' ? (
          <Badge>{m.silent(who, m.reasons[reason ?? 'no_difference_shown'] ?? '')}</Badge>
        ) : null}
      </p>
      {worse.map((harm) => (
        <p key={harm}>
          <Badge tone="shield">{m.worse(who, m.harms[harm])}</Badge>
        </p>
      ))}
    </>
  );
}

function Groups({ report, money, base }: { report: UpliftReport; money: MoneyFormat; base: string }) {
  const { goal_event, held_out, arms } = report;
  const goal = goal_event === null ? [] : [m.columns.conversions(goal_event), m.columns.rate];
  const rows = [
    { key: 'held_out', name: base, figures: held_out },
    ...arms.map((arm) => ({ key: arm.arm, name: nameOf(arm), figures: arm })),
  ];
  return (
    <section aria-label={m.groups}>
      <h2>{m.groups}</h2>
      <Table
        label={m.groups}
        head={[m.columns.group, m.columns.players, ...goal, m.columns.ngr, m.columns.perPlayer]}
        rows={rows.map(({ key, name, figures }) => ({
          key,
          cells: [
            <bdi key="name">{name}</bdi>,
            formatInt(figures.players),
            ...(goal_event === null
              ? []
              : [formatInt(figures.conversions), figures.rate === null ? '—' : formatPercent(figures.rate)]),
            money.base(figures.ngr),
            money.base(BigInt(Math.round(figures.ngr_per_player))),
          ],
        }))}
      />
    </section>
  );
}

interface Difference {
  difference: number;
  interval: { low: number; high: number };
  p_value?: number | null;
}

function Differences({
  arm,
  money,
  title: of_all,
  is_one,
}: {
  arm: Arm;
  money: MoneyFormat;
  title: string;
  is_one: boolean;
}) {
  const { rate_effect, money_effect, return: gained } = arm;
  const asMoney = (amount: number) => signed(amount, money);
  const found: readonly [
    name: keyof typeof m.figures,
    of: Difference | null,
    write: (n: number) => string,
  ][] = [
    ['rate', rate_effect, (share) => m.points(formatPoints(share))],
    ['money', money_effect, asMoney],
    ['cut', money_effect?.cut ?? null, asMoney],
    ['return', gained && { difference: gained.incremental_ngr, interval: gained.interval }, asMoney],
  ];
  const shown = found.flatMap(([name, of, write]) => (of === null ? [] : [{ name, of, write }]));
  if (shown.length === 0) return null;
  const title = is_one ? of_all : `${of_all}: ${nameOf(arm)}`;
  const rests_on = money_effect?.cut?.rests_on ?? null;
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <Table
        label={title}
        head={[m.figure, m.difference, m.interval, m.p]}
        rows={shown.map(({ name, of: { difference, interval, p_value }, write }) => ({
          key: name,
          cells: [
            m.figures[name],
            write(difference),
            m.between(write(interval.low), write(interval.high)),
            p_value === null || p_value === undefined ? '—' : p_value.toPrecision(P_DIGITS),
          ],
        }))}
      />
      {rests_on === null ? null : <p>{m.restsOn(rests_on)}</p>}
    </section>
  );
}

function HarmOf({ report: { arms, held_out }, base }: { report: UpliftReport; base: string }) {
  return (
    <section aria-label={m.harm}>
      <h2>{m.harm}</h2>
      <Table
        label={m.harm}
        head={[m.columns.group, ...HARMS.map((harm) => m.harms[harm])]}
        rows={[
          { key: 'held_out', cells: [base, ...HARMS.map((harm) => formatInt(held_out.harmed[harm]))] },
          ...arms.map((arm) => ({
            key: arm.arm,
            cells: [
              <bdi key="name">{nameOf(arm)}</bdi>,
              ...HARMS.map((harm) => (
                <span key={harm}>
                  {formatInt(arm.harmed[harm])}{' '}
                  {arm.harm[harm].is_worse ? <Badge tone="bad">{m.isWorse}</Badge> : null}
                </span>
              )),
            ],
          })),
        ]}
      />
    </section>
  );
}

function About({ report, planned }: { report: UpliftReport; planned: string }) {
  const { window_days, before_days, as_of, closes_at, is_final, holdout_percent, waiting, in_two_arms } =
    report;
  const { bonus_cost = 'feed', deductions = [] } = report;
  return (
    <>
      <p>
        {m.about(window_days, before_days)} {t.insights.bonusCost[bonus_cost]}{' '}
        {deductions.length === 0 ? null : m.deductions(deductions)}
      </p>
      <Facts
        label={m.title}
        facts={[
          [planned, formatPercent(holdout_percent / 100)],
          [m.asOf, is_final ? m.final : <Time key="as_of" at={as_of} />],
          [m.closes, <Time key="closes" at={closes_at} />],
          [m.waiting, formatInt(waiting)],
          [m.inTwoArms, formatInt(in_two_arms)],
        ]}
      />
    </>
  );
}
