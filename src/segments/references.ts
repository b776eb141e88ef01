import type { Postgres } from '../platform/postgres/port.ts';
import { readOfSegment } from './dependencies.ts';
import type { SegmentRef } from './queries.ts';
import { selectReferringSegments } from './reading-queries.ts';

/** The kinds of records that refer to segments. */
export const REFERRING = [
  'segment',
  'campaign',
  'journey',
  'bonus_campaign',
  'bonus_template',
  'insight',
  'dashboard',
  'alert',
  'report',
] as const;

/** A record that uses a segment; `status` is null for one that has none. */
export interface SegmentReference {
  type: (typeof REFERRING)[number];
  id: string;
  name: string;
  status: string | null;
}

/** Finds the records of a room that use a segment and are not deleted: at most `limit` of each type. */
export type FindReferences = (
  postgres: Postgres,
  ref: SegmentRef,
  limit: number,
) => Promise<SegmentReference[]>;

/** The segments whose definitions refer to the segment. */
export const referringSegments: FindReferences = async (postgres, ref, limit) => {
  const rows = await postgres.readAsTenant(ref.tenant_id, (tx) =>
    selectReferringSegments(tx, ref, readOfSegment(ref.segment_id), limit),
  );
  return rows.map((row) => ({ type: 'segment', ...row, status: null }));
};
