import type { PendingQuery, Row } from 'postgres';
import { exactJson } from '../../platform/exact-json.ts';
import { textArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import type { PlayerRef } from '../player-ref.ts';
import type { GivenIds, Named, NamedPlayer } from './decide.ts';
import type { ProfilePatch } from '../profile/profile-patch.ts';
import { hasTraits, traitNamesSql, type KnownTraits, type TraitNames } from '../profile/queries.ts';
import { PROJECT_KEY, type ProjectRef } from '../../tenants/project-ref.ts';

/** A player to be created. `external_id` and `anonymous_id` must not belong to another player. */
export interface NewPlayer extends PlayerRef {
  external_id: string | null;
  anonymous_id: string | null;
  status: 'active' | 'conflict';
  email: string | null;
  phone: string | null;
  telegram_id: string | null;
  timezone: string | null;
  /** Null: the tenant's base currency. */
  currency: string | null;
  /** The currency that the call names: it must be active, also when the player does not get it. Null: none. */
  asked_currency: string | null;
  attributes: Record<string, unknown>;
  /** When the traits were known; null: it is not noted. */
  identified_at: Date | null;
  /** The call says when its traits were known. */
  has_dated_traits: boolean;
  /** The most bytes of JSON of the attributes. */
  max_bytes: number;
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
export interface KnownPlayer extends NamedRow, Pick<KnownTraits, 'identified_at'>, Partial<TraitNames> {
  /** A call has said when its traits were known. */
  has_dated_traits: boolean;
  /** It has all of them or is deleted, and their currency, if given, is active. */
  has_traits: boolean;
}

/**
 * As {@link findNamed}, with what each player has of the traits; with the names of those that it has, if `is_named`. `currency`
 * is the one that the call names, also when it is not among the traits.
 */
export function selectKnown(
  tx: Tx,
  project: ProjectRef,
  given: GivenIds,
  traits: ProfilePatch,
  { currency, is_named }: { currency: string | undefined; is_named: boolean },
): PendingQuery<KnownPlayer[]> {
  const is_active =
    currency === undefined
      ? tx`true`
      : tx`exists (select from currencies where tenant_id = ${project.tenant_id} and code = ${currency} and is_active)`;
  const names = is_named ? tx`, ${traitNamesSql(tx)}` : tx``;
  const columns = tx`${names}, p.identified_at, p.has_dated_traits, (p.deleted_at is not null or ${hasTraits(tx, traits)}) and ${is_active} as has_traits`;
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

/** What became of a player to be inserted. */
export interface InsertedPlayer {
  /** The size of its attributes, in bytes of JSON. */
  bytes: number;
  is_made: boolean;
  /** Its anonymous_id was linked; if it was not made, the transaction must be rolled back. */
  is_linked: boolean;
}

/**
 * Inserts players, their totals and their links, in the order of the list. Not made is a player whose anonymous_id or
 * external_id somebody has, also meanwhile, whose attributes are too large, or whose `asked_currency` is
 * not active.
 */
export async function insertPlayers(
  tx: Tx,
  players: readonly NewPlayer[],
  now: Date,
): Promise<InsertedPlayer[]> {
  const given = rowsOf(tx, 'n', players, {
    ...PROJECT_KEY,
    player_id: 'uuid',
    external_id: 'text',
    anonymous_id: 'text',
    status: 'text',
    email: 'text',
    phone: 'text',
    telegram_id: 'text',
    timezone: 'text',
    currency: 'text',
    asked_currency: 'text',
    attributes: ['jsonb', (player) => exactJson(player.attributes)],
    identified_at: 'timestamptz',
    has_dated_traits: 'boolean',
    max_bytes: 'integer',
    place: 'ordinality',
  });
  return tx<InsertedPlayer[]>`
    with given as materialized (
      select n.*, octet_length(n.attributes::text) as bytes from ${given}
    ), allowed as materialized (
      select g.*, t.base_currency from given g
      cross join lateral (select base_currency from tenants t where t.tenant_id = g.tenant_id offset 0) t
      where g.bytes <= g.max_bytes and (g.asked_currency is null or (
        select c.is_active from currencies c where c.tenant_id = g.tenant_id and c.code = g.asked_currency))
    ), identity as (
      insert into player_identities (tenant_id, project_id, anonymous_id, player_id, linked_at)
      select tenant_id, project_id, anonymous_id, player_id, ${now} from allowed
      where anonymous_id is not null order by place
      on conflict do nothing
      returning player_id
    ), player as (
      insert into players (
        tenant_id, project_id, player_id, external_id, anonymous_ids, status, email, phone, telegram_id, timezone,
        default_currency_code, custom_attributes, identified_at, has_dated_traits, created_at, updated_at
      )
      select tenant_id, project_id, player_id, external_id, array_remove(array[anonymous_id], null), status, email, phone,
        telegram_id, timezone, coalesce(currency, base_currency), attributes, identified_at, has_dated_traits, ${now}, ${now}
      from allowed a
      where a.anonymous_id is null or exists (select from identity i where i.player_id = a.player_id)
      order by place
      on conflict (tenant_id, project_id, external_id) where external_id is not null do nothing
      returning tenant_id, project_id, player_id
    ), totals as (
      insert into player_totals (tenant_id, project_id, player_id, first_seen_at, listed_at, updated_at)
      select tenant_id, project_id, player_id, ${now}, ${now}, ${now} from player
      returning player_id
    )
    select g.bytes, exists (select from totals t where t.player_id = g.player_id) as is_made,
      exists (select from identity i where i.player_id = g.player_id) as is_linked
    from given g order by g.place`;
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
