import type { Campaign, CampaignStats, ConversionStats } from '@player-engagement/client/admin';
import { useQuery } from '@tanstack/react-query';
import { everyOf, type Channel } from '../../api/choices.ts';
import { ask } from '../../api/client.ts';
import { usePlace } from '../../api/place.tsx';
import { useList, useRead, type FiltersIn, useWholeList } from '../../api/queries.ts';

export type {
  CalendarEntry,
  Campaign as CampaignRecord,
  CampaignAudience as Audience,
  CampaignSeries as Series,
  MessageSend as Recipient,
  Template as TemplateRecord,
  Variant as VariantRecord,
} from '@player-engagement/client/admin';

export type CampaignType = Campaign['type'];
/** How many players got a variant, and how many of them converted. */
export type Outcome = ConversionStats['variants'][number];

export type CampaignStatus = Campaign['status'];
export const STATUSES = everyOf<CampaignStatus>()(['draft', 'scheduled', 'sending', 'sent', 'cancelled']);

export function useCampaigns(status: CampaignStatus | undefined) {
  return useList('campaigns.list', [{ status }]);
}

const LIVE_REFRESH_MS = 3_000;
/** Players open messages, and convert, long after they were sent. */
const LATER_REFRESH_MS = 30_000;

/** Figures of a campaign that is being sent follow it. */
function refreshOf(status: CampaignStatus) {
  return { refresh_ms: status === 'sending' ? LIVE_REFRESH_MS : LATER_REFRESH_MS };
}

export function useCampaign(id: string, enabled: boolean) {
  return useRead('campaigns.get', [id], { enabled, refresh_ms: LIVE_REFRESH_MS });
}

export function useVariants(campaign_id: string) {
  return useRead('campaigns.variants.list', [campaign_id]);
}

/** What a campaign can be made of. */
export interface Named {
  id: string;
  name: string;
}

export function useSegments() {
  return useWholeList('segments.list', []);
}

export function useTemplatesOf(channel: Channel) {
  return useWholeList('templates.list', [{ channel }]);
}

export function useProviders() {
  return useWholeList('messagingProviders.list', []);
}

/** The names of the events that the catalogue has. */
export function useEventNames(): readonly string[] {
  return useRead('segments.fields', []).data?.data.events.map(({ name }) => name) ?? [];
}

/**
 * Whom a campaign would reach now; `exact`: the gate is asked about every member. It is asked anew when the campaign was
 * changed.
 */
export function useAudience({ id, updated_at }: Campaign, exact: boolean) {
  const place = usePlace();
  return useQuery({
    queryKey: [place.project_id, 'audience', id, updated_at, exact],
    queryFn: ({ signal }) => ask('campaigns.audience', [id, { exact }], { project: place, signal }),
    placeholderData: (before) => before,
  });
}

/** The messages of a campaign by stage. */
export type Counters = CampaignStats['counters'];

export function useStats({ id, status }: Campaign) {
  return useRead('campaigns.stats', [id], refreshOf(status));
}

export function useConversions({ id, status }: Campaign) {
  return useRead('campaigns.conversionStats', [id], refreshOf(status));
}

export const METRICS = ['sent', 'delivered', 'opened', 'clicked', 'converted'] as const;
export type Metric = (typeof METRICS)[number];

export function useSeries({ id, status }: Campaign) {
  return useRead('campaigns.series', [id, {}], refreshOf(status));
}

export function useFailures({ id, status }: Campaign) {
  return useRead('campaigns.failures', [id], refreshOf(status));
}

/** The messages with a status or a code, which the failures of the campaign name. */
export function useRecipients(campaign_id: string, status: FiltersIn<'campaigns.recipients'>['status']) {
  return useList('campaigns.recipients', [campaign_id, { status }]);
}

export function useCalendar(from: string, to: string) {
  return useRead('calendar', [{ from, to }]);
}
