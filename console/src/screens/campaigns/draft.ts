import type { ApiError } from '@player-engagement/client/admin';
import type { CampaignRecord } from './queries.ts';

/** A campaign as it is being written. */
export type Draft = Pick<
  CampaignRecord,
  | 'name'
  | 'type'
  | 'channel'
  | 'segment_id'
  | 'template_id'
  | 'provider_id'
  | 'schedule_at'
  | 'trigger_event'
  | 'goal_event'
  | 'goal_attribution_days'
  | 'goal_value_property'
  | 'holdout_percent'
  | 'send_time'
>;

export const NEW: Draft = {
  name: '',
  type: 'broadcast',
  channel: 'email',
  segment_id: null,
  template_id: null,
  provider_id: null,
  schedule_at: null,
  trigger_event: null,
  goal_event: null,
  goal_attribution_days: null,
  goal_value_property: null,
  holdout_percent: 0,
  send_time: null,
};

const FIELDS = Object.keys(NEW) as (keyof Draft)[];

export function draftOf(record: CampaignRecord): Draft {
  return Object.fromEntries(FIELDS.map((field) => [field, record[field]])) as unknown as Draft;
}

/** What the API says is wrong with a field. */
export function issueOf(error: ApiError | null, field: keyof Draft): string | undefined {
  const found = (error?.issues ?? []).filter(({ path }) => path === field);
  return found.length === 0 ? undefined : found.map(({ message }) => message).join('; ');
}
