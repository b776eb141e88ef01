import type { Tx } from '../../platform/postgres/port.ts';
import { recordExclusions } from './record-queries.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

interface Pair extends ProjectRef {
  player_id: string;
  into_player_id: string;
}

async function endExclusions(
  tx: Tx,
  { tenant_id, project_id, player_id }: Omit<Pair, 'into_player_id'>,
  now: Date,
): Promise<void> {
  await tx`
    update player_exclusions set ended_at = ${now}, end_source = 'merge'
    where player_id = ${player_id} and tenant_id = ${tenant_id} and project_id = ${project_id} and ended_at is null
      and coalesce(ends_at, 'infinity') > ${now}`;
}

/**
 * The records of a player that is merged away stay its own and end with it; what of them is still in force goes on in
 * records of the survivor, whose row has it by now.
 */
async function moveExclusions(tx: Tx, { into_player_id, ...gone }: Pair, now: Date): Promise<void> {
  const survivor = { ...gone, player_id: into_player_id, source: 'merge' as const };
  await Promise.all([endExclusions(tx, gone, now), recordExclusions(tx, [survivor], now)]);
}

/**
 * Keeps the addresses of a player that is merged away where the survivor has others, or none: both are of one person, so what
 * bars the survivor bars them. While both rows exist, and for the addresses of players that had been merged into it before.
 */
async function keepAddresses(
  tx: Tx,
  { tenant_id, project_id, player_id, into_player_id }: Pair,
): Promise<void> {
  const isOf = (id: string) =>
    tx`player_id = ${id} and tenant_id = ${tenant_id} and project_id = ${project_id}`;
  const theirs = tx`
    select k.channel, k.address_key
    from (select * from players where ${isOf(player_id)} offset 0) g
    cross join (select * from players where ${isOf(into_player_id)} offset 0) t
    cross join lateral (values
      ('email', g.email_key, t.email_key), ('sms', g.sms_key, t.sms_key), ('push', g.push_key, t.push_key)
    ) as k (channel, address_key, survivors)
    where k.address_key is distinct from k.survivors and k.address_key is not null`;
  const before = tx`delete from merged_addresses where ${isOf(player_id)} returning channel, address_key`;
  await tx`
    with before as (${before})
    insert into merged_addresses (tenant_id, project_id, player_id, channel, address_key)
    select ${tenant_id}, ${project_id}, ${into_player_id}, k.channel, k.address_key
    from (${theirs} union select channel, address_key from before) k
    on conflict do nothing`;
}

/** What happens to the records of exclusions, and to the addresses that they bar, when a player is merged. */
export const exclusionsOfPlayers = { beforeMerge: keepAddresses, onMerge: moveExclusions };
