import type { PendingQuery, Row } from 'postgres';
import { textArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { GivenIds, Named, NamedPlayer } from './decide.ts';
import type { ProfilePatch } from '../profile/profile-patch.ts';
import { hasTraits, knownTraitsSql, type KnownTraits } from '../profile/queries.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

/** A player to be created. `external_id` and `anonymous_id` must not belong to another player. */
export interface NewPlayer extends ProjectRef {
  player_id: string;
  external_id: string | null;
  anonymous_id: string | null;
  status: 'active' | 'conflict';
}

/** The players to which the ids belong; for a player that was merged away, its survivor. */
export async function findNamed(tx: Tx, project: ProjectRef, given: GivenIds): Promise<Named> {
  return namedOf(await selectNamed<NamedRow>(tx, project, given, tx``));
}

/** A player that an id names. */
interface NamedRow extends NamedPlayer {
  named_by: keyof Named;
}

/** A player that an id names, and what it has of the traits of a call. */
export interface KnownPlayer extends NamedRow, KnownTraits {
  /** It has all of them or is deleted, and their currency, if given, is active. */
  has_traits: boolean;
}

/** As {@link findNamed}, with what each player has of the traits. */
export function selectKnown(
  tx: Tx,
  project: ProjectRef,
  given: GivenIds,
  traits: ProfilePatch,
): PendingQuery<KnownPlayer[]> {
  const code = traits.columns.default_currency_code;
  const is_active =
    code === undefined
      ? tx`true`
      : tx`exists (select from currencies where tenant_id = ${project.tenant_id} and code = ${code} and is_active)`;
  const columns = tx`, ${knownTraitsSql(tx)}, (p.deleted_at is not null or ${hasTraits(tx, traits)}) and ${is_active} as has_traits`;
  return selectNamed<KnownPlayer>(tx, project, given, columns);
}

/** The players by the ids that name them. */
export function namedOf(rows: readonly NamedRow[]): Named {
  return Object.fromEntries(
    rows.map(({ named_by, player_id, external_id, deleted }) => [
      named_by,
      { player_id, external_id, deleted },
    ]),
  );
}

/** `columns`: more of each player `p`. For a join instead of `lateral … offset 0` the planner may choose to scan the table. */
function selectNamed<Named extends NamedRow>(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  given: GivenIds,
  columns: PendingQuery<Row[]>,
): PendingQuery<Named[]> {
  return tx<Named[]>`
    with named as (
      select 'by_anonymous_id' as named_by, player_id
      from player_identities
      where tenant_id = ${tenant_id} and project_id = ${project_id}
        and anonymous_id = ${given.anonymous_id ?? null}
      union all
      select 'by_external_id', player_id
      from players
      where tenant_id = ${tenant_id} and project_id = ${project_id} and external_id = ${given.external_id ?? null}
      union all
      select 'by_player_id', coalesce(
        (select into_player_id from player_merges
          where tenant_id = ${tenant_id} and project_id = ${project_id} and player_id = ${given.player_id ?? null}),
        ${given.player_id ?? null}::uuid)
    )
    select n.named_by, p.player_id, p.external_id, p.deleted_at is not null as deleted ${columns}
    from named n
    cross join lateral (
      select * from players p
      where p.tenant_id = ${tenant_id} and p.project_id = ${project_id} and p.player_id = n.player_id offset 0) p`;
}

/**
 * Inserts the player, its totals and its link. False when another transaction took the anonymous_id or the external_id
 * in the meantime: then a part may have been written, and the transaction must be rolled back.
 */
export async function insertPlayer(tx: Tx, player: NewPlayer, now: Date): Promise<boolean> {
  const { tenant_id, project_id, player_id, external_id, anonymous_id, status } = player;
  const rows = await tx`
    with identity as (
      insert into player_identities (tenant_id, project_id, anonymous_id, player_id, linked_at)
      select ${tenant_id}, ${project_id}, ${anonymous_id}, ${player_id}, ${now}
      where ${anonymous_id}::text is not null
      on conflict do nothing
      returning player_id
    ), player as (
      insert into players (
        tenant_id, project_id, player_id, external_id, anonymous_ids, status, default_currency_code,
        created_at, updated_at
      )
      select tenant_id, ${project_id}, ${player_id}, ${external_id},
        array_remove(array[${anonymous_id}::text], null), ${status}, base_currency, ${now}, ${now}
      from tenants
      where tenant_id = ${tenant_id} and (${anonymous_id}::text is null or exists (select from identity))
      on conflict (tenant_id, project_id, external_id) where external_id is not null do nothing
      returning tenant_id, project_id, player_id
    )
    insert into player_totals (tenant_id, project_id, player_id, first_seen_at, last_seen_at, updated_at)
    select tenant_id, project_id, player_id, ${now}, ${now}, ${now} from player
    returning player_id`;
  return rows.length > 0;
}

/** Links the anonymous_id to the player and marks the player as changed. False when it was linked in the meantime. */
export async function linkAnonymousId(
  tx: Tx,
  link: ProjectRef & { player_id: string; anonymous_id: string },
  now: Date,
): Promise<boolean> {
  const { tenant_id, project_id, player_id, anonymous_id } = link;
  const rows = await tx`
    with linked as (
      insert into player_identities (tenant_id, project_id, anonymous_id, player_id, linked_at)
      values (${tenant_id}, ${project_id}, ${anonymous_id}, ${player_id}, ${now})
      on conflict do nothing
      returning tenant_id, project_id, player_id
    ), listed as (
      update players p
      set anonymous_ids = p.anonymous_ids || ${anonymous_id}::text, updated_at = ${now}
      from linked l
      where p.tenant_id = l.tenant_id and p.project_id = l.project_id and p.player_id = l.player_id
      returning p.tenant_id, p.project_id, p.player_id
    )
    update player_totals t
    set updated_at = ${now}, changed_xid = pg_current_xact_id()
    from listed l
    where t.tenant_id = l.tenant_id and t.project_id = l.project_id and t.player_id = l.player_id
    returning t.player_id`;
  return rows.length > 0;
}

/** Sets the status of an active player to `conflict`; an exclusion, a ban or a deletion stays. */
export async function markConflict(
  tx: Tx,
  player: ProjectRef & { player_id: string },
  now: Date,
): Promise<void> {
  const { tenant_id, project_id, player_id } = player;
  await tx`
    with marked as (
      update players
      set status = 'conflict', updated_at = ${now}
      where tenant_id = ${tenant_id} and project_id = ${project_id} and player_id = ${player_id}
        and status = 'active' and deleted_at is null
      returning tenant_id, project_id, player_id
    )
    update player_totals t
    set updated_at = ${now}, changed_xid = pg_current_xact_id()
    from marked m
    where t.tenant_id = m.tenant_id and t.project_id = m.project_id and t.player_id = m.player_id`;
}

/** Whether this currency is active in the tenant's catalogue. */
export async function isActiveCurrency(tx: Tx, tenant_id: string, code: string): Promise<boolean> {
  const rows = await tx`
    select from currencies
    where tenant_id = ${tenant_id} and code = ${code} and is_active`;
  return rows.length > 0;
}

/** NOTIFY channel; the payload is the id of a project of which an external_id has no player any more. */
export const EXTERNAL_IDS_CHANNEL = 'external_ids_changed';

/** The players of these external_ids, deleted or not; those that have none are left out. */
export function findByExternalIds(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  external_ids: readonly string[],
): PendingQuery<{ external_id: string; player_id: string }[]> {
  return tx<{ external_id: string; player_id: string }[]>`
    select w.external_id, p.player_id
    from unnest(${textArray(external_ids)}::text::text[]) as w (external_id)
    cross join lateral (
      select p.player_id from players p
      where p.tenant_id = ${tenant_id} and p.project_id = ${project_id} and p.external_id = w.external_id offset 0) p`;
}
