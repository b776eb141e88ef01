import type { PendingQuery } from 'postgres';
import { plainArray, textArray } from '../../platform/postgres/arrays.ts';
import { beyond } from '../../platform/postgres/keyset.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { FoundRecordType } from './schema.ts';

/** A record of the project that was found by its name or its id. */
export interface FoundRecord {
  type: FoundRecordType;
  id: string;
  name: string;
  /** Null: records of the type have none. */
  status: string | null;
}

/** Where the records of a type are, and in which column their id is. */
const SOURCES: Readonly<Record<FoundRecordType, { table: string; id: string; has_status: boolean }>> = {
  segment: { table: 'segments', id: 'segment_id', has_status: false },
  campaign: { table: 'campaigns', id: 'campaign_id', has_status: true },
  journey: { table: 'journeys', id: 'journey_id', has_status: true },
  template: { table: 'templates', id: 'template_id', has_status: true },
  bonus_template: { table: 'bonus_templates', id: 'template_id', has_status: true },
  bonus_campaign: { table: 'bonus_campaigns', id: 'campaign_id', has_status: true },
};

/** Campaigns of bonuses are never deleted. */
const KEPT = new Set<FoundRecordType>(['bonus_campaign']);

/** So many of the newest records of a type are looked at. */
const MAX_READ = 5_000;

/**
 * Records that are not deleted and whose name has all these words, in lower case, or that have this id: at most `limit` of
 * each type, those whose name begins with the first word before the others, and of these the newest first. Of each type the
 * newest 5,000 are looked at.
 */
export function searchRecords(
  tx: Tx,
  project: ProjectRef,
  { words, id }: { words: readonly string[]; id: string | undefined },
  limit: number,
): PendingQuery<FoundRecord[]> {
  const types = Object.keys(SOURCES) as FoundRecordType[];
  const sought = tx`${textArray(words)}::text::text[]`;
  const ids = tx`${plainArray(id === undefined ? [] : [id])}::text::uuid[]`;
  const parts = types.map((type, place) => {
    const { table, id: column, has_status } = SOURCES[type];
    const named = tx`select ${tx(column)} as id, name, ${has_status ? tx`status` : tx`null`}::text as status, created_at
      from ${tx(table)}
      where tenant_id = ${project.tenant_id} and project_id = ${project.project_id}
        ${KEPT.has(type) ? tx`` : tx`and deleted_at is null`} ${beyond(tx, 'created_at', column, undefined)}
      order by created_at desc, ${tx(column)} desc limit ${MAX_READ}`;
    return tx`${place === 0 ? tx`` : tx`union all`} (
      select ${place}::integer as place, ${type}::text as type, n.id, n.name, n.status, n.created_at,
        starts_with(lower(n.name), (${sought})[1]) as begins
      from (${named}) n
      where n.id = any(${ids})
        or not exists (select from unnest(${sought}) w (word) where position(w.word in lower(n.name)) = 0)
      order by begins desc, n.created_at desc, n.id limit ${limit})`;
  });
  return tx<FoundRecord[]>`
    select f.type, f.id, f.name, f.status from (${parts}) f order by f.place, f.begins desc, f.created_at desc, f.id`;
}
