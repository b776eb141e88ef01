import { ScheduleTimes } from '../journeys/graph/schedule-times.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import {
  selectCampaignsOfSpan,
  selectScheduledJourneys,
  type ScheduledJourney,
  type Span,
} from './calendar-queries.ts';
import type { CalendarEntry } from './schema.ts';

const MAX_CAMPAIGNS = 500;
const MAX_JOURNEYS = 100;
/** Times of one journey, and of all together: each costs a computation in the event loop. */
const MAX_TIMES_OF_JOURNEY = 40;
const MAX_TIMES = 1_000;

/** The entries of a span, the earliest first; `is_complete`: none was omitted. */
export interface Calendar {
  entries: CalendarEntry[];
  is_complete: boolean;
}

/**
 * Campaigns that were or will be sent in the span, and the times at which schedules start journeys: of those only from
 * `now` on, because who entered before is in the journey's runs.
 */
export async function calendarOf(
  postgres: Postgres,
  project: ProjectRef,
  span: Span,
  now: Date,
): Promise<Calendar> {
  const { tenant_id } = project;
  const [campaigns, journeys] = await Promise.all([
    postgres.readAsTenant(tenant_id, (tx) => selectCampaignsOfSpan(tx, project, span, MAX_CAMPAIGNS + 1)),
    postgres.readAsTenant(tenant_id, (tx) => selectScheduledJourneys(tx, project, MAX_JOURNEYS + 1)),
  ]);
  let is_complete = campaigns.length <= MAX_CAMPAIGNS && journeys.length <= MAX_JOURNEYS;
  const entries: CalendarEntry[] = campaigns.slice(0, MAX_CAMPAIGNS).map((row) => ({
    kind: 'campaign',
    id: row.campaign_id,
    name: row.name,
    channel: row.channel,
    status: row.status,
    at: row.at.toISOString(),
  }));
  let left = MAX_TIMES;
  for (const journey of journeys.slice(0, MAX_JOURNEYS)) {
    const most = Math.min(MAX_TIMES_OF_JOURNEY, left);
    const times = timesOf(journey, { from: span.from > now ? span.from : now, to: span.to }, most + 1);
    if (times.length > most) is_complete = false;
    left -= Math.min(times.length, most);
    const { journey_id: id, name, status } = journey;
    for (const at of times.slice(0, most)) {
      entries.push({ kind: 'journey', id, name, channel: null, status, at: at.toISOString() });
    }
  }
  entries.sort((a, b) => a.at.localeCompare(b.at));
  return { entries, is_complete };
}

/** The first times of the schedule in the span. */
function timesOf({ cron, timezone }: ScheduledJourney, { from, to }: Span, limit: number): Date[] {
  const schedule = new ScheduleTimes(cron, timezone);
  const times: Date[] = [];
  // A schedule comes after the moment that is asked about; one at the begin of the span belongs to it.
  let after_ms = from.getTime() - 1;
  while (times.length < limit) {
    const next_ms = schedule.nextAfter(after_ms);
    if (next_ms === undefined || next_ms >= to.getTime()) break;
    times.push(new Date(next_ms));
    after_ms = next_ms;
  }
  return times;
}
