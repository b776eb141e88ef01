import type { Fragment } from 'postgres';
import type { Tx } from '../../../platform/postgres/port.ts';
import type { FindReferences, SegmentReference } from '../../../segments/references.ts';
import type { SegmentRef } from '../../../segments/queries.ts';

type Type = Extract<SegmentReference['type'], 'insight' | 'dashboard' | 'alert' | 'report'>;

/** Finds the saved records of a type that use a segment, the newest first. */
function savedOfSegment(type: Type, uses: (tx: Tx, ref: SegmentRef) => Fragment): FindReferences {
  const id = `${type}_id`;
  return async (postgres, ref, limit) => {
    const { tenant_id, project_id } = ref;
    const rows = await postgres.readAsTenant(
      tenant_id,
      (tx) => tx<{ id: string; name: string }[]>`
        select ${tx(id)} as id, name from ${tx(`${type}s`)}
        where tenant_id = ${tenant_id} and project_id = ${project_id} and created_at > '-infinity'
          and deleted_at is null and ${uses(tx, ref)}
        order by created_at desc, ${tx(id)} desc limit ${limit}`,
    );
    return rows.map((row) => ({ type, ...row, status: null }));
  };
}

/** In its filter, its definition, or in place of the segments of a dashboard's insights: no other text of a content is an id of a segment. */
const namesIt = (tx: Tx, { segment_id }: SegmentRef) =>
  tx`position(${segment_id}::text in lower(content::text)) > 0`;

/** The insights, dashboards and alerts that name a segment, and the reports of such dashboards. */
export const savedNamingSegment: readonly FindReferences[] = [
  savedOfSegment('insight', namesIt),
  savedOfSegment('dashboard', namesIt),
  savedOfSegment('alert', namesIt),
  savedOfSegment(
    'report',
    (tx, ref) => tx`content ->> 'dashboard_id' in (
      select dashboard_id::text from dashboards
      where tenant_id = ${ref.tenant_id} and project_id = ${ref.project_id} and deleted_at is null
        and ${namesIt(tx, ref)})`,
  ),
];
