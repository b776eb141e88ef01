import type { PendingQuery } from 'postgres';
import type { Tx } from '../../../platform/postgres/port.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import type { StoredContent } from './queries.ts';
import type { JourneyStatus } from './schema.ts';

/** A journey in whose content an id occurs: as it was saved last, and as it is live, if that is another content. */
export interface MentioningJourney {
  journey_id: string;
  name: string;
  status: JourneyStatus;
  saved: StoredContent;
  live: StoredContent | null;
}

/** The journeys of a project whose content has this id anywhere, the newest first. */
export function selectMentioningJourneys(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  id: string,
  limit: number,
): PendingQuery<MentioningJourney[]> {
  const content = (of: 'j' | 'v') => tx`jsonb_build_object(
    'trigger', ${tx(of)}.trigger, 'graph', ${tx(of)}.graph, 'settings', ${tx(of)}.settings)`;
  // An author may have written the id in upper case.
  const mentions = (of: 'j' | 'v') => tx`lower(${content(of)}::text) like ${`%${id}%`}`;
  return tx<MentioningJourney[]>`
    select j.journey_id, j.name, j.status, ${content('j')} as saved,
      case when v.version is not null then ${content('v')} end as live
    from journeys j
    left join lateral (
      select * from journey_versions v
      where v.tenant_id = j.tenant_id and v.project_id = j.project_id and v.journey_id = j.journey_id
        and v.version = j.version offset 0) v on true
    where j.tenant_id = ${tenant_id} and j.project_id = ${project_id} and j.deleted_at is null
      and (${mentions('j')} or (v.version is not null and ${mentions('v')}))
    order by j.created_at desc, j.journey_id desc limit ${limit}`;
}
