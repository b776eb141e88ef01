import { requireLiveRow, requireRow } from '../http/record.ts';
import type { Postgres } from '../platform/postgres/port.ts';
import { selectSegment, type SegmentRef, type SegmentRow } from './queries.ts';

/** The names of segments in paths, ids and errors. */
export const SEGMENT = {
  scope: 'project',
  noun: 'segment',
  id: 'segment_id',
  not_found: 'SEGMENT_NOT_FOUND',
} as const;

/** The segment that the id names, deleted or not. Rejects with SEGMENT_NOT_FOUND. */
export async function findSegment(postgres: Postgres, ref: SegmentRef): Promise<SegmentRow> {
  const [row] = await postgres.readAsTenant(ref.tenant_id, (tx) => selectSegment(tx, ref));
  return requireRow(SEGMENT, ref, row);
}

/** The segment that the id names. Rejects with SEGMENT_NOT_FOUND, also when it is deleted. */
export async function requireSegment(postgres: Postgres, ref: SegmentRef): Promise<SegmentRow> {
  return requireLiveRow(SEGMENT, ref, await findSegment(postgres, ref));
}
