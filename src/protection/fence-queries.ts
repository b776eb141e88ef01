import type { PendingQuery, Row } from 'postgres';
import { plainArray } from '../platform/postgres/arrays.ts';
import type { Tx } from '../platform/postgres/port.ts';
import { holdersSql, keyOfPlayer } from './exclusions/address-queries.ts';
import type { Channel } from '../tenants/config/channels.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';

/** A player with every id that an event of the player may carry. */
export interface PlayerIds {
  player_id: string;
  /** The player_id, those of players merged into it, and the anonymous_ids. */
  ids: string[];
}

/** A player who is written to on a channel, with the ids of everybody whose address it is. */
export interface AddressedPlayer extends PlayerIds {
  /** Other players of the tenant with the address, by their projects; null: more than {@link MAX_HOLDERS}. */
  others: { project_id: string; ids: string[] }[] | null;
}

/** Players with one address whose ids are read; of more any event may be the exclusion. */
const MAX_HOLDERS = 20;

/** Every id of the player `p`, which has tenant, project and player, as an array. */
function everyIdOf(tx: Tx, p: string): PendingQuery<Row[]> {
  const isOf = (row: string) =>
    tx`${tx(row)}.tenant_id = ${tx(p)}.tenant_id and ${tx(row)}.project_id = ${tx(p)}.project_id`;
  return tx`array[${tx(p)}.player_id::text] || array(
      select m.player_id::text from player_merges m where m.into_player_id = ${tx(p)}.player_id and ${isOf('m')} offset 0
    ) || coalesce((
      select a.anonymous_ids from players a where a.player_id = ${tx(p)}.player_id and ${isOf('a')} offset 0), '{}')`;
}

/** Every id of the player of each row of `players`, which has a player_id. */
function idsOf(tx: Tx, players: PendingQuery<Row[]>, { tenant_id, project_id }: ProjectRef) {
  return tx`
    select d.*, ${everyIdOf(tx, 'd')} as ids
    from (select *, ${tenant_id}::uuid as tenant_id, ${project_id}::uuid as project_id from (${players}) w) d`;
}

/**
 * Rows of `players`, which have a player_id, with every id of the player, and everybody else whose address on the channel is
 * the player's: as {@link AddressedPlayer}.
 */
export function addressedSql(tx: Tx, players: PendingQuery<Row[]>, project: ProjectRef, channel: Channel) {
  const to = { tenant_id: tx`i.tenant_id`, channel, key: tx`p.key` };
  return tx`
    select i.*, case when o.holders <= ${MAX_HOLDERS} then o.others end as others
    from (${idsOf(tx, players, project)}) i
    left join lateral (
      select ${keyOfPlayer(tx, channel)} as key from players p
      where p.player_id = i.player_id and p.tenant_id = i.tenant_id and p.project_id = i.project_id offset 0) p on true
    cross join lateral (
      select count(*) as holders, coalesce(jsonb_agg(
        jsonb_build_object('project_id', h.project_id, 'ids', ${everyIdOf(tx, 'h')})), '[]') as others
      from (select i.tenant_id, o.* from (${holdersSql(tx, to, MAX_HOLDERS + 2)}) o
        where o.player_id <> i.player_id limit ${MAX_HOLDERS + 1}) h
    ) o`;
}

/** Every id of these players as it is now; a player that does not exist has its own alone. */
export async function selectIdsOf(
  tx: Tx,
  project: ProjectRef,
  player_ids: readonly string[],
): Promise<PlayerIds[]> {
  return tx<PlayerIds[]>`select player_id, ids from (${idsOf(tx, givenSql(tx, player_ids), project)}) d`;
}

/** The same of players who are written to, with everybody whose address it is. */
export async function selectAddressed(
  tx: Tx,
  { channel, ...project }: ProjectRef & { channel: Channel },
  player_ids: readonly string[],
): Promise<AddressedPlayer[]> {
  return tx<AddressedPlayer[]>`
    select player_id, ids, others from (${addressedSql(tx, givenSql(tx, player_ids), project, channel)}) d`;
}

function givenSql(tx: Tx, player_ids: readonly string[]) {
  return tx`select player_id from unnest(${plainArray(player_ids)}::text::uuid[]) as r (player_id)`;
}
