import { LAST_SEEN_SQL } from '../analytics/mirrored-columns.ts';
import type { PendingQuery } from 'postgres';
import { beyond, microseconds, type TimePosition } from '../platform/postgres/keyset.ts';
import type { Tx } from '../platform/postgres/port.ts';
import type { PlayerRef } from '../players/player-ref.ts';
import type { SegmentRef } from './queries.ts';
import type { RefreshStrategy } from './schema.ts';

/** A member of a segment with what lists show of a player. */
export interface MemberRow {
  player_id: string;
  entered_at: Date;
  external_id: string | null;
  email: string | null;
  phone: string | null;
  status: string;
  current_tier_code: string | null;
  last_seen_at: Date;
}

/** A page of the members of the segment by player id, in the order of the key. */
export function listMembers(
  tx: Tx,
  { tenant_id, project_id, segment_id }: SegmentRef,
  after: string | undefined,
  limit: number,
): PendingQuery<MemberRow[]> {
  return tx<MemberRow[]>`
    select m.player_id, m.entered_at, p.external_id, p.email, p.phone, p.status, p.current_tier_code, t.last_seen_at
    from (
      select player_id, entered_at from segment_members
      where segment_id = ${segment_id} and tenant_id = ${tenant_id} and project_id = ${project_id}
        ${after === undefined ? tx`` : tx`and player_id > ${after}::uuid`}
      order by player_id limit ${limit}) m
    cross join lateral (
      select * from players p
      where p.tenant_id = ${tenant_id} and p.project_id = ${project_id} and p.player_id = m.player_id offset 0) p
    cross join lateral (
      select ${tx.unsafe(LAST_SEEN_SQL)} as last_seen_at from player_totals t
      where t.tenant_id = ${tenant_id} and t.project_id = ${project_id} and t.player_id = m.player_id offset 0) t
    order by m.player_id`;
}

/** A segment that a player is in. */
export interface PlayerSegmentRow {
  segment_id: string;
  name: string;
  refresh_strategy: RefreshStrategy;
  entered_at: Date;
  entered_us: bigint;
}

/** A page of the segments that the player is in, the last entered first; not deleted ones. */
export function listPlayerSegments(
  tx: Tx,
  { tenant_id, project_id, player_id }: PlayerRef,
  after: TimePosition | undefined,
  limit: number,
): PendingQuery<PlayerSegmentRow[]> {
  return tx<PlayerSegmentRow[]>`
    select m.segment_id, s.name, s.refresh_strategy, m.entered_at, ${microseconds(tx, 'm.entered_at')} as entered_us
    from segment_members m
    cross join lateral (
      select * from segments s
      where s.tenant_id = m.tenant_id and s.project_id = m.project_id and s.segment_id = m.segment_id
        and s.deleted_at is null offset 0) s
    where m.player_id = ${player_id} and m.tenant_id = ${tenant_id} and m.project_id = ${project_id}
      ${beyond(tx, 'm.entered_at', 'm.segment_id', after)}
    order by m.entered_at desc, m.segment_id desc limit ${limit}`;
}

/** The segments whose definitions refer to this one, the oldest first. */
export function selectReferringSegments(
  tx: Tx,
  { tenant_id, project_id }: SegmentRef,
  read: string,
  limit: number,
): PendingQuery<{ id: string; name: string }[]> {
  return tx<{ id: string; name: string }[]>`
    select segment_id as id, name from segments
    where tenant_id = ${tenant_id} and project_id = ${project_id} and deleted_at is null
      and ${read} = any (reads)
    order by created_at, segment_id limit ${limit}`;
}
