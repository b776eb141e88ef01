import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import { Facts } from '../../ui/facts.tsx';
import { AudienceCounts } from './audience.tsx';
import { useSegments, useTemplatesOf, useVariants, type CampaignRecord } from './queries.ts';

const m = t.campaigns;

/** What keeps a campaign from being sent; empty: nothing. */
export function missingOf(campaign: CampaignRecord, has_variants: boolean, dirty: boolean): string[] {
  const { type, segment_id, template_id, trigger_event } = campaign;
  return [
    dirty ? m.missing.unsaved : undefined,
    type === 'broadcast' && segment_id === null ? m.missing.segment : undefined,
    template_id === null && !has_variants ? m.missing.template : undefined,
    type === 'triggered' && trigger_event === null ? m.missing.event : undefined,
  ].filter((text) => text !== undefined);
}

/** Everything about a campaign before it is sent: what, to whom, when, and what is missing. */
export function Review({ campaign, missing }: { campaign: CampaignRecord; missing: readonly string[] }) {
  const segments = useSegments();
  const templates = useTemplatesOf(campaign.channel);
  const variants = useVariants(campaign.id).data?.data.filter(({ is_default }) => !is_default) ?? [];
  const nameOf = (rows: readonly { id: string; name: string }[] | undefined, id: string | null) =>
    rows?.find((row) => row.id === id)?.name ?? id;
  const segment = nameOf(segments.rows, campaign.segment_id);
  const content =
    variants.length === 0
      ? nameOf(templates.rows, campaign.template_id)
      : variants.map(({ name }) => name).join(', ');
  return (
    <>
      {missing.length === 0 ? null : (
        <ul aria-label={m.missing.title}>
          {missing.map((text) => (
            <li key={text}>
              <Badge tone="warn">{text}</Badge>
            </li>
          ))}
        </ul>
      )}
      <Facts
        label={m.summary}
        facts={[
          [m.channel, t.names.channels[campaign.channel]],
          [m.type, m.types[campaign.type]],
          [
            m.segment,
            <bdi key="segment">{segment ?? (campaign.type === 'triggered' ? m.everyPlayer : '—')}</bdi>,
          ],
          [variants.length === 0 ? m.template : m.variants, <bdi key="content">{content ?? '—'}</bdi>],
          [m.goal, campaign.goal_event ?? '—'],
          [m.timing, campaign.schedule_at === null ? m.now : <Time key="at" at={campaign.schedule_at} />],
          ...(campaign.type === 'broadcast'
            ? [[m.sendTime, m.sendTimes[campaign.send_time ?? 'all']] as const]
            : []),
        ]}
      />
      <AudienceCounts campaign={campaign} />
    </>
  );
}
