import type { MoneyFormat } from '../../api/currencies.ts';
import { formatInt, formatPercent } from '../../format/number.ts';
import {
  isBeyondChance,
  newcombe,
  shareOf,
  trialsNeeded,
  wilson,
  type Share,
} from '../../format/statistics.ts';
import { t } from '../../messages/t.ts';
import { Table } from '../../ui/table.tsx';
import css from './campaigns.module.css';
import type { CampaignRecord, Outcome } from './queries.ts';

const m = t.campaigns.report;
/** Properties of events whose sums are money. */
const MONEY = new Set(['amount', 'base_amount', 'payout', 'stake']);

export const shareIn = ({ recipients, conversions }: Outcome): Share => ({
  successes: conversions,
  trials: recipients,
});

/** The variants side by side with their intervals, and how many players are missing to tell them apart. */
export function Comparison({
  campaign,
  outcomes,
  money,
}: {
  campaign: CampaignRecord;
  outcomes: readonly Outcome[];
  money: MoneyFormat;
}) {
  const { goal_event, goal_value_property } = campaign;
  const is_money = goal_value_property !== null && MONEY.has(goal_value_property);
  const valueOf = ({ conversion_value }: Outcome) => {
    if (conversion_value === null) return '—';
    return is_money ? money.base(conversion_value) : formatInt(conversion_value);
  };
  return (
    <section className={css['section']} aria-label={m.variants}>
      <h2>{m.variants}</h2>
      <Table
        label={m.variants}
        head={[m.variant, m.recipients, m.conversions, m.rate, m.interval, m.value]}
        rows={outcomes.map((row) => {
          const share = shareIn(row);
          const { low, high } = wilson(share);
          return {
            key: row.variant_id,
            cells: [
              <bdi key="name">{row.name}</bdi>,
              formatInt(row.recipients),
              goal_event === null ? '—' : formatInt(row.conversions),
              goal_event === null ? '—' : formatPercent(shareOf(share)),
              goal_event === null || row.recipients === 0 ? '—' : m.range(low, high),
              valueOf(row),
            ],
          };
        })}
      />
      {goal_event === null ? <p>{m.noGoal}</p> : <Missing outcomes={outcomes} />}
    </section>
  );
}

/** The two variants with the highest shares, the better one first, of those that anybody got. */
export function bestTwo(outcomes: readonly Outcome[]): [best?: Outcome, second?: Outcome] {
  const [best, second] = outcomes
    .filter(({ recipients }) => recipients > 0)
    .toSorted((a, b) => shareOf(shareIn(b)) - shareOf(shareIn(a)));
  return best === undefined || second === undefined ? [] : [best, second];
}

/** What is missing for a verdict, which the headline of the report says. */
function Missing({ outcomes }: { outcomes: readonly Outcome[] }) {
  if (outcomes.length < 2) return <p>{m.oneVariant}</p>;
  const [best, second] = bestTwo(outcomes);
  if (best === undefined || second === undefined) return <p>{m.waiting}</p>;
  if (best.conversions === 0 || isBeyondChance(newcombe(shareIn(best), shareIn(second)))) return null;
  const needed = trialsNeeded(shareOf(shareIn(best)), shareOf(shareIn(second)));
  const fewest = Math.min(best.recipients, second.recipients);
  if (needed === undefined) return null;
  return <p>{needed > fewest ? m.needed(needed - fewest) : m.enough}</p>;
}
