import type { PendingQuery } from 'postgres';
import type { Tx } from '../../platform/postgres/port.ts';
import type { Channel } from '../../tenants/config/channels.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { CampaignStatus } from '../campaigns/schema.ts';
import type { JourneyStatus } from '../journeys/graph/schema.ts';

/** From a moment (included) to another (not included). */
export interface Span {
  from: Date;
  to: Date;
}

/** A campaign by the time at which it was sent, or else will be. */
export interface CampaignOnCalendar {
  campaign_id: string;
  name: string;
  channel: Channel;
  status: CampaignStatus;
  at: Date;
}

/** The campaigns of a span, the earliest first. A project has few, so they are sorted. */
export function selectCampaignsOfSpan(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  { from, to }: Span,
  limit: number,
): PendingQuery<CampaignOnCalendar[]> {
  return tx<CampaignOnCalendar[]>`
    select campaign_id, name, channel, status, coalesce(started_at, schedule_at) as at
    from campaigns
    where tenant_id = ${tenant_id} and project_id = ${project_id} and deleted_at is null and status <> 'draft'
      and coalesce(started_at, schedule_at) >= ${from} and coalesce(started_at, schedule_at) < ${to}
    order by at, campaign_id
    limit ${limit}`;
}

/** A journey that a schedule starts, as its live version says. */
export interface ScheduledJourney {
  journey_id: string;
  name: string;
  status: JourneyStatus;
  cron: string;
  timezone: string;
}

/** Active journeys that a schedule starts, the oldest first. */
export function selectScheduledJourneys(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  limit: number,
): PendingQuery<ScheduledJourney[]> {
  return tx<ScheduledJourney[]>`
    select j.journey_id, j.name, j.status, v.trigger ->> 'cron' as cron, v.trigger ->> 'timezone' as timezone
    from journeys j
    join journey_versions v using (tenant_id, project_id, journey_id, version)
    where j.tenant_id = ${tenant_id} and j.project_id = ${project_id} and j.deleted_at is null
      and j.status = 'active' and v.trigger ->> 'kind' = 'schedule'
    order by j.created_at, j.journey_id
    limit ${limit}`;
}
