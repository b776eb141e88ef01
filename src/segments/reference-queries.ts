import type { Fragment } from 'postgres';
import type { Tx } from '../platform/postgres/port.ts';
import type { FindReferences, SegmentReference } from './references.ts';

/** A table of records that name one segment. Its rows have `tenant_id`, `project_id`, `name`, `status`, `created_at`. */
export interface NamingTable {
  table: string;
  /** The columns of the record's id, and of the segment's. */
  id: string;
  segment_id: string;
  /** The condition of the rows that count; absent: all do. */
  counts?: (tx: Tx) => Fragment;
}

/** Finds the records of a table that name the segment, the newest first. */
export function namingSegment(
  type: SegmentReference['type'],
  { table, id, segment_id: column, counts }: NamingTable,
): FindReferences {
  return async (postgres, { tenant_id, project_id, segment_id }, limit) => {
    const rows = await postgres.readAsTenant(
      tenant_id,
      (tx) => tx<{ id: string; name: string; status: string }[]>`
        select ${tx(id)} as id, name, status from ${tx(table)}
        where tenant_id = ${tenant_id} and project_id = ${project_id} and created_at > '-infinity'
          and ${tx(column)} = ${segment_id} ${counts === undefined ? tx`` : tx`and ${counts(tx)}`}
        order by created_at desc, ${tx(id)} desc limit ${limit}`,
    );
    return rows.map((row) => ({ type, ...row }));
  };
}
