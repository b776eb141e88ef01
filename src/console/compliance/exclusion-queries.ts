import type { PendingQuery, Row } from 'postgres';
import { beyond, microseconds, type TimePosition } from '../../platform/postgres/keyset.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { PlayerRef } from '../../players/player-ref.ts';
import { PROTECTION_CODES } from '../../engage/messaging/send-row.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

/** The record of an exclusion or a break, with its player. */
export interface ExclusionRow {
  exclusion_id: string;
  player_id: string;
  external_id: string | null;
  merged_into: string | null;
  kind: 'self_exclusion' | 'cooldown';
  since: Date;
  accepted_at: Date;
  recorded_at: Date;
  ends_at: Date | null;
  source: 'event' | 'operator' | 'merge' | 'before_records' | 'erasure';
  ingestion_id: string | null;
  event_index: number | null;
  lifted_at: Date | null;
  ended_at: Date | null;
  end_source: 'event' | 'operator' | 'merge' | null;
  end_ingestion_id: string | null;
  end_event_index: number | null;
}
export type ListedExclusion = ExclusionRow & { accepted_us: bigint };

/** The filters of the list; `player_id` names a survivor, and includes the players merged into it. */
export interface ExclusionFilters {
  state?: 'active' | 'ended' | undefined;
  kind?: 'self_exclusion' | 'cooldown' | undefined;
  player_id?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

/** The records of a page with their players: a merged player has the external_id of its survivor. */
function withPlayers(tx: Tx, page: PendingQuery<object[]>) {
  return tx`
    select e.*, m.into_player_id as merged_into, p.external_id, ${microseconds(tx, 'e.accepted_at')} as accepted_us
    from (${page}) e
    left join lateral (
      select m.into_player_id from player_merges m
      where m.player_id = e.player_id and m.tenant_id = e.tenant_id and m.project_id = e.project_id offset 0) m on true
    left join lateral (
      select p.external_id from players p
      where p.player_id = coalesce(m.into_player_id, e.player_id) and p.tenant_id = e.tenant_id
        and p.project_id = e.project_id offset 0) p on true`;
}

/** A player and those merged into it, as a list of ids. */
function idsOf(tx: Tx, { tenant_id, project_id, player_id }: PlayerRef) {
  return tx`array(
    select ${player_id}::uuid union all
    select m.player_id from player_merges m
    where m.into_player_id = ${player_id} and m.tenant_id = ${tenant_id} and m.project_id = ${project_id})`;
}

/** A page of exclusions and breaks, the latest first by when the service received them. */
export function listExclusions(
  tx: Tx,
  project: ProjectRef,
  { state, kind, player_id, from, to }: ExclusionFilters,
  now: Date,
  after: TimePosition | undefined,
  limit: number,
): PendingQuery<ListedExclusion[]> {
  const { tenant_id, project_id } = project;
  const nothing = tx``;
  // With the ids of a player the few records of it are read first, regardless of the statistics.
  const source =
    player_id === undefined
      ? tx`player_exclusions x`
      : tx`(select * from player_exclusions y where y.player_id = any(${idsOf(tx, { ...project, player_id })})
          and y.tenant_id = ${tenant_id} and y.project_id = ${project_id} offset 0) x`;
  const pageOf = (of_state: PendingQuery<Row[]>, rows = source) => tx`
    select x.* from ${rows}
    where x.tenant_id = ${tenant_id} and x.project_id = ${project_id}
      ${kind === undefined ? nothing : tx`and x.kind = ${kind}`}
      ${of_state}
      ${from === undefined ? nothing : tx`and x.accepted_at >= ${from}`}
      ${to === undefined ? nothing : tx`and x.accepted_at < ${to}`}
      ${beyond(tx, 'x.accepted_at', 'x.exclusion_id', after)}
    order by x.accepted_at desc, x.exclusion_id desc
    limit ${limit}`;
  // Those without an end are read in their order, those with a coming one all, because they are few: `offset 0`, or the
  // planner would look for them among all.
  const ending = tx`(select * from ${source}
    where x.tenant_id = ${tenant_id} and x.project_id = ${project_id} and least(x.ended_at, x.ends_at) > ${now} offset 0) x`;
  const page =
    state === 'active'
      ? tx`
        select x.* from (
          (${pageOf(tx`and x.ended_at is null and x.ends_at is null`)})
          union all
          (${pageOf(nothing, ending)})) x
        order by x.accepted_at desc, x.exclusion_id desc
        limit ${limit}`
      : pageOf(
          state === 'ended' ? tx`and coalesce(least(x.ended_at, x.ends_at), 'infinity') <= ${now}` : nothing,
        );
  return tx<ListedExclusion[]>`
    ${withPlayers(tx, page)} order by e.accepted_at desc, e.exclusion_id desc`;
}

/** All exclusions and breaks of a player and of those merged into it, the latest first. */
export function selectExclusionsOf(tx: Tx, ref: PlayerRef): PendingQuery<ListedExclusion[]> {
  const page = tx`
    select x.* from player_exclusions x
    where x.player_id = any(${idsOf(tx, ref)}) and x.tenant_id = ${ref.tenant_id} and x.project_id = ${ref.project_id}`;
  return tx<ListedExclusion[]>`
    ${withPlayers(tx, page)} order by e.accepted_at desc, e.exclusion_id desc`;
}

/** A message that was blocked. */
export interface BlockedRow {
  send_id: string;
  player_id: string;
  external_id: string | null;
  channel: string;
  error_code: string;
  enqueued_at: Date;
  enqueued_us: bigint;
  campaign_id: string | null;
  campaign_name: string | null;
  journey_id: string | null;
  journey_name: string | null;
}

export interface BlockedFilters {
  player_id?: string | undefined;
  code?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

/** The names of the campaign and the journey of the row `s`. */
export function originSql(tx: Tx) {
  return tx`
    left join lateral (
      select c.name as campaign_name from campaigns c
      where c.campaign_id = s.campaign_id and c.tenant_id = s.tenant_id and c.project_id = s.project_id offset 0) c on true
    left join lateral (
      select j.name as journey_name from journeys j
      where j.journey_id = s.journey_id and j.tenant_id = s.tenant_id and j.project_id = s.project_id offset 0) j on true`;
}

const CODES_SQL = PROTECTION_CODES.map((code) => `'${code}'`).join(', ');

/** A page of messages that were not sent in order to protect their players, the newest first. */
export function listBlockedSends(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  { player_id, code, from, to }: BlockedFilters,
  after: TimePosition | undefined,
  limit: number,
): PendingQuery<BlockedRow[]> {
  const nothing = tx``;
  const pageOf = (source: PendingQuery<Row[]>, is_code: PendingQuery<Row[]>) => tx`
    select x.* from ${source}
    where x.tenant_id = ${tenant_id} and x.project_id = ${project_id} and ${is_code}
      ${from === undefined ? nothing : tx`and x.enqueued_at >= ${from}`}
      ${to === undefined ? nothing : tx`and x.enqueued_at < ${to}`}
      ${beyond(tx, 'x.enqueued_at', 'x.send_id', after)}
    order by x.enqueued_at desc, x.send_id desc
    limit ${limit}`;
  const codes = code === undefined ? [...PROTECTION_CODES] : [code];
  // The few messages of a player are read first, regardless of the statistics. Otherwise each code is read by itself, in the
  // order of the index, and no index has this order without the code: so the planner cannot read the messages of all codes to
  // find those of one. The list of all codes is the condition of the index, written as there: with parameters the planner
  // could not use it.
  const page =
    player_id === undefined
      ? tx`
        select b.* from unnest(${codes}::text[]) as codes (code)
        cross join lateral (${pageOf(tx`message_sends x`, tx`x.error_code = codes.code and x.error_code in (${tx.unsafe(CODES_SQL)})`)}) b
        order by b.enqueued_at desc, b.send_id desc
        limit ${limit}`
      : pageOf(
          tx`(select * from message_sends y where y.player_id = ${player_id} and y.tenant_id = ${tenant_id}
            and y.project_id = ${project_id} offset 0) x`,
          tx`x.error_code = any(${codes}::text[])`,
        );
  return tx<BlockedRow[]>`
    select s.send_id, s.player_id, s.channel, s.error_code, s.enqueued_at, s.campaign_id, s.journey_id,
      c.campaign_name, j.journey_name, p.external_id, ${microseconds(tx, 's.enqueued_at')} as enqueued_us
    from (${page}) s
    ${originSql(tx)}
    left join lateral (
      select p.external_id from players p
      where p.player_id = s.player_id and p.tenant_id = s.tenant_id and p.project_id = s.project_id offset 0) p on true
    order by s.enqueued_at desc, s.send_id desc`;
}
