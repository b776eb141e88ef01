import { ApiError } from '../errors.ts';
import { isUuid } from '../platform/ids.ts';
import type { Postgres } from '../platform/postgres/port.ts';
import { selectSegment, type SegmentRef, type SegmentRow } from './queries.ts';

/** The segment that the id names, deleted or not. Rejects with SEGMENT_NOT_FOUND. */
export async function findSegment(postgres: Postgres, ref: SegmentRef): Promise<SegmentRow> {
  if (!isUuid(ref.segment_id)) throw segmentNotFound(ref.segment_id);
  const [row] = await postgres.readAsTenant(ref.tenant_id, (tx) => selectSegment(tx, ref));
  if (row === undefined) throw segmentNotFound(ref.segment_id);
  return row;
}

/** The segment that the id names. Rejects with SEGMENT_NOT_FOUND, also when it is deleted. */
export async function requireSegment(postgres: Postgres, ref: SegmentRef): Promise<SegmentRow> {
  const row = await findSegment(postgres, ref);
  if (row.deleted_at !== null) throw segmentNotFound(ref.segment_id);
  return row;
}

/** SEGMENT_NOT_FOUND; the message names the id (spec part 7). */
export function segmentNotFound(segment_id: string): ApiError {
  return new ApiError('SEGMENT_NOT_FOUND', `segment ${segment_id.slice(0, 64)} does not exist`);
}
