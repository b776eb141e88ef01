import { useQuery } from '@tanstack/react-query';
import { call, type Answer } from '../../api/call.ts';
import type { ApiError } from '../../api/errors.ts';
import type { Int } from '../../api/json.ts';
import { usePlace } from '../../api/place.tsx';
import { useList, useRead } from '../../api/queries.ts';

export const STATUSES = ['draft', 'scheduled', 'sending', 'sent', 'cancelled'] as const;
export type CampaignStatus = (typeof STATUSES)[number];
export const CHANNELS = ['email', 'sms', 'push'] as const;
export type Channel = (typeof CHANNELS)[number];
export type CampaignType = 'broadcast' | 'triggered' | 'journey';

/** A campaign (spec part 2), as far as the screens show it. */
export interface CampaignRecord {
  id: string;
  name: string;
  type: CampaignType;
  channel: Channel;
  segment_id: string | null;
  template_id: string | null;
  provider_id: string | null;
  schedule_at: string | null;
  trigger_event: string | null;
  goal_event: string | null;
  goal_attribution_days: number | null;
  goal_value_property: string | null;
  status: CampaignStatus;
  started_at: string | null;
  finished_at: string | null;
  last_error: string | null;
  updated_at: string;
}

export function useCampaigns(status: string | undefined) {
  return useList<CampaignRecord>('/v1/campaigns', { status });
}

const LIVE_REFRESH_MS = 3_000;
/** Players open messages, and convert, long after they were sent. */
const LATER_REFRESH_MS = 30_000;

/** Figures of a campaign that is being sent follow it. */
function refreshOf(status: CampaignStatus) {
  return { refresh_ms: status === 'sending' ? LIVE_REFRESH_MS : LATER_REFRESH_MS };
}

export function useCampaign(id: string, enabled: boolean) {
  return useRead<CampaignRecord>(`/v1/campaigns/${id}`, {}, { enabled, refresh_ms: LIVE_REFRESH_MS });
}

/** A variant of a campaign. */
export interface VariantRecord {
  id: string;
  name: string;
  template_id: string | null;
  weight: number;
  is_default: boolean;
}

export function useVariants(campaign_id: string) {
  return useRead<VariantRecord[]>(`/v1/campaigns/${campaign_id}/variants`);
}

/** What a campaign can be made of. */
export interface Named {
  id: string;
  name: string;
}

const LARGEST_PAGE = { page: 200 };

export function useSegments() {
  return useList<Named>('/v1/segments', {}, LARGEST_PAGE);
}

export function useTemplatesOf(channel: Channel) {
  return useList<Named>('/v1/templates', { channel }, LARGEST_PAGE);
}

export function useProviders() {
  return useList<Named & { channel: Channel }>('/v1/messaging-providers', {}, LARGEST_PAGE);
}

/** Whom a campaign would reach now. */
export interface Audience {
  members: number;
  sendable: number;
  by_code: Readonly<Record<string, number>>;
  exact: boolean;
  counted: number;
}

/** Asks the gate; `exact`: about every member. It is asked anew when the campaign was changed. */
export function useAudience({ id, updated_at }: CampaignRecord, exact: boolean) {
  const place = usePlace();
  return useQuery<Answer<Audience>, ApiError>({
    queryKey: [place.project_id, 'audience', id, updated_at, exact],
    queryFn: ({ signal }) =>
      call<Audience>({
        method: 'POST',
        path: `/v1/campaigns/${id}/audience`,
        body: { exact },
        project: place,
        signal,
      }),
    placeholderData: (before) => before,
  });
}

/** The messages of a campaign by stage. */
export type Counters = Readonly<
  Record<
    'recipients_total' | 'sent' | 'delivered' | 'opened' | 'clicked' | 'bounced' | 'failed' | 'capped',
    number
  >
>;

export function useStats({ id, status }: CampaignRecord) {
  return useRead<{ counters: Counters }>(`/v1/campaigns/${id}/stats`, {}, refreshOf(status));
}

/** How many players got a variant, and how many of them converted. */
export interface Outcome {
  variant_id: string;
  name: string;
  weight: number;
  recipients: number;
  conversions: number;
  conversion_value: Int | null;
}

export function useConversions({ id, status }: CampaignRecord) {
  return useRead<{ variants: Outcome[] }>(`/v1/campaigns/${id}/conversion-stats`, {}, refreshOf(status));
}

export const METRICS = ['sent', 'delivered', 'opened', 'clicked', 'converted'] as const;
export type Metric = (typeof METRICS)[number];

/** What became of messages over time. */
export interface Series {
  interval: 'hour' | 'day';
  points: ({ at: string } & Readonly<Record<Metric, number>>)[];
  is_complete: boolean;
}

export function useSeries({ id, status }: CampaignRecord) {
  return useRead<Series>(`/v1/campaigns/${id}/series`, {}, refreshOf(status));
}

export function useFailures({ id, status }: CampaignRecord) {
  return useRead<{ by_code: Readonly<Record<string, number>> }>(
    `/v1/campaigns/${id}/failures`,
    {},
    refreshOf(status),
  );
}

/** A message of the campaign, or why there is none. */
export interface Recipient {
  id: string;
  player_id: string;
  status: string;
  error_code: string | null;
  sent_at: string | null;
  enqueued_at: string;
}

export function useRecipients(campaign_id: string, status: string | undefined) {
  return useList<Recipient>(`/v1/campaigns/${campaign_id}/recipients`, { status });
}

/** A campaign, or a time at which a schedule starts a journey. */
export interface CalendarEntry {
  kind: 'campaign' | 'journey';
  id: string;
  name: string;
  status: string;
  at: string;
}

export function useCalendar(from: string, to: string) {
  return useRead<{ entries: CalendarEntry[]; is_complete: boolean }>('/v1/calendar', { from, to });
}
