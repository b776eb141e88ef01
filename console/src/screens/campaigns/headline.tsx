import { formatInt, formatPercent } from '../../format/number.ts';
import { isBeyondChance, newcombe, shareOf } from '../../format/statistics.ts';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import { bestTwo, shareIn } from './comparison.tsx';
import css from './campaigns.module.css';
import { useConversions, useStats, type CampaignRecord } from './queries.ts';

const m = t.campaigns.report;

/** The verdict, above everything else: which variant is better, or what became of the messages. Nothing until it is known. */
export function Headline({ campaign }: { campaign: CampaignRecord }) {
  const counters = useStats(campaign).data?.data.counters;
  const outcomes = useConversions(campaign).data?.data.variants;
  if (counters === undefined || outcomes === undefined) return null;
  const { sent, recipients_total, opened } = counters;
  const players = outcomes.reduce((sum, { recipients }) => sum + recipients, 0);
  const converted = outcomes.reduce((sum, { conversions }) => sum + conversions, 0);
  const [best, second] = campaign.goal_event === null ? [] : bestTwo(outcomes);
  const said = [
    m.sentOf(formatInt(sent), formatInt(recipients_total)),
    campaign.channel === 'email' && sent > 0 ? m.openedOf(formatPercent(opened / sent)) : undefined,
    campaign.goal_event === null || players === 0
      ? undefined
      : m.convertedOf(formatInt(converted), formatPercent(converted / players)),
  ].filter((text) => text !== undefined);
  return (
    <div className={css['headline']}>
      {best === undefined || second === undefined ? null : <Winner best={best} second={second} />}
      <p>{said.join(' ')}</p>
    </div>
  );
}

type Best = NonNullable<ReturnType<typeof bestTwo>[number]>;

function Winner({ best, second }: { best: Best; second: Best }) {
  if (best.conversions === 0) return <p>{m.noConversions}</p>;
  const difference = newcombe(shareIn(best), shareIn(second));
  const { low, high } = difference;
  if (isBeyondChance(difference)) {
    return (
      <p>
        <Badge tone="good">{m.better(best.name, second.name, low, high)}</Badge>
      </p>
    );
  }
  if (shareOf(shareIn(best)) === shareOf(shareIn(second))) return <p>{m.same}</p>;
  return (
    <p>
      <Badge tone="warn">{m.chance(best.name, second.name, low, high)}</Badge>
    </p>
  );
}
