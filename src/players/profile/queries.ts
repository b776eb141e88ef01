import { LAST_SEEN_SQL, LISTED_WITHIN_MS } from '../../analytics/mirrored-columns.ts';
import type { PendingQuery, Row } from 'postgres';
import { textArray } from '../../platform/postgres/arrays.ts';
import { timeOf, type TimePosition } from '../../platform/postgres/keyset.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { PROJECT_KEY } from '../../tenants/project-ref.ts';
import type { PlayerRow } from './player-json.ts';
import { isEmptyPatch, type ProfilePatch } from './profile-patch.ts';
import type { PlayerRef } from '../player-ref.ts';
import type { ListPlayersQuery } from './schema.ts';
import { exactJson } from '../../platform/exact-json.ts';

/** The fields that are read when a player's row is locked. */
export interface LockedPlayer {
  external_id: string | null;
  deleted_at: Date | null;
}

/** The newest 1,000 of a player `p`, as resources and templates have them. The column has all, in the order of linking. */
export const NEWEST_ANONYMOUS_IDS = 'p.anonymous_ids[greatest(cardinality(p.anonymous_ids) - 999, 1):]';

export type ListedPlayer = PlayerRow & { last_seen_us: bigint };

/** The player, deleted or not; no row when the project has none of this id. */
export function selectPlayer(tx: Tx, ref: PlayerRef): PendingQuery<PlayerRow[]> {
  return tx<PlayerRow[]>`
    select ${playerColumns(tx)}
    from players p
    cross join lateral (
      select * from player_totals t
      where t.tenant_id = p.tenant_id and t.project_id = p.project_id and t.player_id = p.player_id offset 0) t
    where p.tenant_id = ${ref.tenant_id} and p.project_id = ${ref.project_id} and p.player_id = ${ref.player_id}`;
}

/** The survivor of a merged player; no row for a player that was not merged. */
export function selectSurvivor(tx: Tx, ref: PlayerRef): PendingQuery<{ player_id: string }[]> {
  return tx<{ player_id: string }[]>`
    select into_player_id as player_id from player_merges
    where tenant_id = ${ref.tenant_id} and project_id = ${ref.project_id} and player_id = ${ref.player_id}`;
}

/**
 * The player of this id or, after a merge, its survivor, deleted or not; no row when the project has none. `former_ids`
 * are ids of players merged into it that events in ClickHouse may still have. Ids rewritten within the last minute are
 * included, for queries to ClickHouse that run at the same time. Row-level security keeps a condition with a subquery from
 * using an index, so the subquery is materialized.
 */
export function selectPlayerIds(
  tx: Tx,
  ref: PlayerRef,
): PendingQuery<{ player_id: string; former_ids: string[] }[]> {
  return tx<{ player_id: string; former_ids: string[] }[]>`
    with named as materialized (
      select coalesce(
        (select into_player_id from player_merges
          where tenant_id = ${ref.tenant_id} and project_id = ${ref.project_id} and player_id = ${ref.player_id}),
        ${ref.player_id}::uuid) as player_id
    )
    select p.player_id, array(
      select m.player_id::text from player_merges m
      where m.tenant_id = p.tenant_id and m.project_id = p.project_id and m.into_player_id = p.player_id
        and (m.rewritten_at is null or m.rewritten_at > now() - interval '1 minute')) as former_ids
    from named n
    cross join lateral (
      select * from players p
      where p.tenant_id = ${ref.tenant_id} and p.project_id = ${ref.project_id} and p.player_id = n.player_id
      offset 0) p`;
}

/**
 * A page of players, the last seen first. With a filter that matches few players the query starts from `players`,
 * otherwise from `player_totals` in order. The other table is a `lateral … offset 0`, so Postgres looks it up row by
 * row regardless of its statistics.
 */
export function listPlayers(
  tx: Tx,
  scope: { tenant_id: string; project_id: string },
  filters: Omit<ListPlayersQuery, 'cursor'>,
  after: TimePosition | undefined,
): PendingQuery<ListedPlayer[]> {
  const { tenant_id, project_id } = scope;
  const nothing = tx``;
  const equal = (column: (typeof EXACT_FILTERS)[number]) => {
    const value = filters[column];
    return value === undefined ? nothing : tx`and p.${tx(column)} = ${value}`;
  };
  const same = tx`p.tenant_id = t.tenant_id and p.project_id = t.project_id and p.player_id = t.player_id`;
  const selective = EXACT_FILTERS.some((column) => filters[column] !== undefined) || isRare(filters.status);
  const wanted = tx`p.tenant_id = ${tenant_id} and p.project_id = ${project_id} ${statusFilter(tx, filters.status)}
    ${equal('email')} ${equal('external_id')} ${equal('phone')} ${equal('telegram_id')}`;
  const last_seen_at = tx.unsafe(LAST_SEEN_SQL);
  const unlisted =
    after === undefined
      ? nothing
      : tx`and (${last_seen_at}, t.player_id) < (${timeOf(tx, after)}, ${after[1]}::uuid)`;
  const source = selective
    ? tx`players p cross join lateral (select * from player_totals t where ${same} ${unlisted} offset 0) t`
    : tx`${mostRecent(tx, scope, { wanted, unlisted, limit: filters.limit }, after)} c
      cross join lateral (
        select * from player_totals t where t.tenant_id = ${tenant_id} and t.project_id = ${project_id}
          and t.player_id = c.player_id offset 0) t
      cross join lateral (select * from players p where ${same} offset 0) p`;
  const order = selective
    ? tx`${last_seen_at} desc, t.player_id desc`
    : tx`c.last_seen_at desc, c.player_id desc`;
  return tx<ListedPlayer[]>`
    select ${playerColumns(tx)}, (extract(epoch from ${last_seen_at}) * 1000000)::bigint as last_seen_us
    from ${source}
    where ${wanted}
    order by ${order}
    limit ${filters.limit}`;
}

/**
 * The players after a position in the order in which they were last seen, at least `limit` wanted ones if there are as
 * many. The index has them in the order of `listed_at`, which is less than {@link LISTED_WITHIN_MS} before that time. So of the
 * wanted players that are listed that much before the position, the last one of a page has the least time that matters, and
 * who was seen later than it is listed at most as much before it.
 */
function mostRecent(
  tx: Tx,
  { tenant_id, project_id }: { tenant_id: string; project_id: string },
  { wanted, unlisted, limit }: { wanted: PendingQuery<Row[]>; unlisted: PendingQuery<Row[]>; limit: number },
  after: TimePosition | undefined,
): PendingQuery<Row[]> {
  const within = tx`${LISTED_WITHIN_MS}::integer * interval '1 millisecond'`;
  const listed = tx`t.tenant_id = ${tenant_id} and t.project_id = ${project_id} and t.listed_at > '-infinity'`;
  // Without an end the planner takes a third of all players for listed after a time that it does not know.
  const before = tx`and t.listed_at <= ${after === undefined ? tx`'infinity'` : timeOf(tx, after)}`;
  return tx`(
    select t.player_id, ${tx.unsafe(LAST_SEEN_SQL)} as last_seen_at from player_totals t
    where ${listed} ${before} ${unlisted} and t.listed_at > (
      select coalesce(min(last.listed_at), '-infinity') from (
        select t.listed_at - ${within} as listed_at from player_totals t
        cross join lateral (
          select p.player_id from players p where p.player_id = t.player_id and ${wanted} offset 0) p
        where ${listed} ${before} ${after === undefined ? tx`` : tx`- ${within}`}
        order by t.listed_at desc, t.player_id desc
        offset ${limit - 1} limit 1) last)
    order by last_seen_at desc, t.player_id desc
    offset 0)`;
}

const EXACT_FILTERS = ['email', 'external_id', 'phone', 'telegram_id'] as const;

/** A partial index covers every status except active. */
function isRare(status: string | undefined): boolean {
  return status !== undefined && status !== 'active';
}

/** Deleted players are listed only when asked for. */
function statusFilter(tx: Tx, status: string | undefined) {
  if (status === undefined) return tx`and p.deleted_at is null`;
  if (status === 'deleted') return tx`and p.status = 'deleted' and p.status <> 'active'`;
  // The index has the condition `<> 'active'`; the planner uses it only when the query repeats the condition.
  return isRare(status)
    ? tx`and p.deleted_at is null and p.status = ${status} and p.status <> 'active'`
    : tx`and p.deleted_at is null and p.status = ${status}`;
}

/** The player's row, locked until the transaction ends; undefined when the project has none of this id. */
export async function lockPlayer(tx: Tx, ref: PlayerRef): Promise<LockedPlayer | undefined> {
  const rows = await tx<LockedPlayer[]>`
    select external_id, deleted_at
    from players
    where tenant_id = ${ref.tenant_id} and project_id = ${ref.project_id} and player_id = ${ref.player_id}
    for no key update`;
  return rows[0];
}

/**
 * Applies the patch to a live player whose row is locked, if it changes anything, and marks the player as changed
 * for player-mirror. Returns the size of the custom attributes after a change, in bytes of JSON. `identified_at`: when its
 * values were known, of a patch by identify.
 */
export async function patchPlayer(
  tx: Tx,
  ref: PlayerRef,
  patch: ProfilePatch,
  now: Date,
  identified_at: Date | null = null,
): Promise<number | undefined> {
  const rows = await tx<{ attributes_bytes: number }[]>`
    with given as (
      select ${JSON.stringify(patch.columns)}::text::jsonb as columns
    ), wanted as (
      select
        ${wantedColumn(tx, 'external_id')}, ${wantedColumn(tx, 'email')}, ${wantedColumn(tx, 'phone')},
        ${wantedColumn(tx, 'telegram_id')}, ${wantedColumn(tx, 'timezone')},
        ${wantedColumn(tx, 'default_currency_code')},
        case
          when not columns ? 'status' then p.status
          -- The end of a ban, or of a conflict, makes the exclusion visible again that it hid.
          when p.status = 'banned' and p.self_excluded and columns ->> 'status' in ('active', 'conflict')
            or p.status = 'conflict' and p.self_excluded and columns ->> 'status' = 'active'
            then 'self_excluded'
          else columns ->> 'status'
        end as status,
        case
          when columns ->> 'status' = 'self_excluded' then true
          when columns ->> 'status' = 'active' and p.status = 'self_excluded' then false
          else p.self_excluded
        end as self_excluded,
        ${patchedAttributes(tx, patch)} as custom_attributes
      from players p, given
      where p.tenant_id = ${ref.tenant_id} and p.project_id = ${ref.project_id} and p.player_id = ${ref.player_id}
    ), changed as (
      update players p
      set external_id = w.external_id, email = w.email, phone = w.phone, telegram_id = w.telegram_id,
        timezone = w.timezone, default_currency_code = w.default_currency_code, status = w.status,
        self_excluded = w.self_excluded,
        self_excluded_at = case when p.self_excluded = w.self_excluded then p.self_excluded_at else ${now} end,
        custom_attributes = w.custom_attributes, updated_at = ${now},
        identified_at = greatest(p.identified_at, ${identified_at}::timestamptz)
      from wanted w
      where p.tenant_id = ${ref.tenant_id} and p.project_id = ${ref.project_id} and p.player_id = ${ref.player_id}
        and p.deleted_at is null
        and (p.external_id, p.email, p.phone, p.telegram_id, p.timezone, p.default_currency_code, p.status,
            p.self_excluded, p.custom_attributes)
          is distinct from (w.external_id, w.email, w.phone, w.telegram_id, w.timezone, w.default_currency_code,
            w.status, w.self_excluded, w.custom_attributes)
      returning p.tenant_id, p.project_id, p.player_id, octet_length(p.custom_attributes::text) as attributes_bytes
    ), touched as (
      update player_totals t
      set updated_at = ${now}, changed_xid = pg_current_xact_id()
      from changed c
      where t.tenant_id = c.tenant_id and t.project_id = c.project_id and t.player_id = c.player_id
    )
    select attributes_bytes from changed`;
  return rows[0]?.attributes_bytes;
}

/**
 * Notes when the traits were known that identify has written, also where they were those that the player had. A call that
 * does not say when (`says_when` false) notes it only for players of whom a call has said it: others have no late ones.
 */
export async function noteIdentified(
  tx: Tx,
  ref: PlayerRef,
  identified_at: Date,
  says_when: boolean,
): Promise<void> {
  await tx`
    update players set identified_at = greatest(identified_at, ${identified_at}), has_dated_traits = true
    where tenant_id = ${ref.tenant_id} and project_id = ${ref.project_id} and player_id = ${ref.player_id}
      and deleted_at is null and (has_dated_traits or ${says_when})
      and (not has_dated_traits or identified_at is null or identified_at < ${identified_at})`;
}

/** What a player has of what identify writes: the columns that have a value, and the names of the custom attributes. */
export interface TraitNames {
  columns: string[];
  attributes: string[];
}

/** What was written of a player by identify, and when it was known. */
export interface KnownTraits extends TraitNames {
  /** When the traits were known that identify has written last; null: before that was kept. */
  identified_at: Date | null;
}

/** As {@link KnownTraits} says; the player's row is locked until the transaction ends. */
export async function lockKnownTraits(tx: Tx, ref: PlayerRef): Promise<KnownTraits | undefined> {
  const rows = await tx<KnownTraits[]>`
    select ${traitNamesSql(tx)}, p.identified_at
    from players p
    where p.tenant_id = ${ref.tenant_id} and p.project_id = ${ref.project_id} and p.player_id = ${ref.player_id}
    for no key update`;
  return rows[0];
}

/** The {@link TraitNames} of the player `p`. */
export function traitNamesSql(tx: Tx): PendingQuery<Row[]> {
  return tx`array_remove(array[
      case when p.email is not null then 'email' end, case when p.phone is not null then 'phone' end,
      case when p.telegram_id is not null then 'telegram_id' end, case when p.timezone is not null then 'timezone' end,
      'default_currency_code'], null) as columns,
    array(select jsonb_object_keys(p.custom_attributes)) as attributes`;
}

/** A change of a player's custom attributes, and nothing else. */
export type AttributePatch = PlayerRef & Pick<ProfilePatch, 'attributes' | 'removed_attributes'>;

/** Locks those of the players that are not deleted, in the order of their ids. */
export async function lockLivePlayers(tx: Tx, players: readonly PlayerRef[]): Promise<void> {
  await tx`
    select from (
      select * from ${rowsOf(tx, 'o', players, { ...PROJECT_KEY, player_id: 'uuid' })} order by o.player_id) g
    cross join lateral (select from players p where ${isLive(tx)} for no key update) p`;
}

/** Whether `p` is the player that `g` names, and not deleted. */
function isLive(tx: Tx): PendingQuery<Row[]> {
  return tx`p.player_id = g.player_id and p.tenant_id = g.tenant_id and p.project_id = g.project_id
    and p.deleted_at is null`;
}

/**
 * Locks players in the order of their ids and applies a patch to each that is not deleted, as {@link patchPlayer} does;
 * each player is named once. Returns the size of the largest custom attributes after the change, in bytes of JSON.
 */
export async function patchAttributes(
  tx: Tx,
  patches: readonly AttributePatch[],
  now: Date,
): Promise<number> {
  const given = rowsOf(tx, 'g', patches, {
    ...PROJECT_KEY,
    player_id: 'uuid',
    attributes: ['text', (p) => exactJson(p.attributes)],
    removed: ['text', (p) => textArray(p.removed_attributes)],
  });
  // A statement of its own locks first, so that the next one sees what other transactions have changed.
  const [, rows] = await Promise.all([
    lockLivePlayers(tx, patches),
    tx<{ bytes: number | null }[]>`
      with wanted as (
        select f.ctid, (f.custom_attributes || g.attributes::jsonb) - g.removed::text[] as custom_attributes
        from ${given}
        cross join lateral (select p.ctid, p.custom_attributes from players p where ${isLive(tx)} offset 0) f
      ), changed as (
        update players p set custom_attributes = w.custom_attributes, updated_at = ${now}
        from wanted w where p.ctid = w.ctid and p.custom_attributes is distinct from w.custom_attributes
        returning p.tenant_id, p.project_id, p.player_id, octet_length(p.custom_attributes::text) as bytes
      ), touched as (
        update player_totals t set updated_at = ${now}, changed_xid = pg_current_xact_id()
        from changed c
        cross join lateral (
          select o.ctid from player_totals o
          where o.tenant_id = c.tenant_id and o.project_id = c.project_id and o.player_id = c.player_id offset 0) found
        where t.ctid = found.ctid
      )
      select max(bytes) as bytes from changed`,
  ]);
  return rows[0]?.bytes ?? 0;
}

/** Soft delete; a player that is deleted already is not changed. What bars the person goes on to bar the addresses. */
export async function softDeletePlayer(tx: Tx, ref: PlayerRef, now: Date): Promise<void> {
  await tx`
    with deleted as (
      update players
      set deleted_at = ${now}, status = 'deleted', was_banned = status = 'banned', updated_at = ${now}
      where tenant_id = ${ref.tenant_id} and project_id = ${ref.project_id} and player_id = ${ref.player_id}
        and deleted_at is null
      returning tenant_id, project_id, player_id
    )
    update player_totals t
    set updated_at = ${now}, changed_xid = pg_current_xact_id()
    from deleted d
    where t.tenant_id = d.tenant_id and t.project_id = d.project_id and t.player_id = d.player_id`;
}

/**
 * Whether the player `p` has what the patch sets of the columns that identify writes, except the external_id, and of custom
 * attributes.
 */
export function hasTraits(tx: Tx, patch: ProfilePatch): PendingQuery<Row[]> {
  if (isEmptyPatch(patch)) return tx`true`;
  return tx`(
    select (${wantedValue(tx, 'email')}, ${wantedValue(tx, 'phone')}, ${wantedValue(tx, 'telegram_id')},
        ${wantedValue(tx, 'timezone')}, ${wantedValue(tx, 'default_currency_code')}, ${patchedAttributes(tx, patch)})
      is not distinct from
        (p.email, p.phone, p.telegram_id, p.timezone, p.default_currency_code, p.custom_attributes)
    from (select ${JSON.stringify(patch.columns)}::text::jsonb as columns) given)`;
}

function patchedAttributes(tx: Tx, { attributes, removed_attributes }: ProfilePatch) {
  return tx`((p.custom_attributes || ${exactJson(attributes)}::text::jsonb)
    - ${textArray(removed_attributes)}::text::text[])`;
}

function wantedColumn(tx: Tx, column: keyof ProfilePatch['columns']) {
  return tx`${wantedValue(tx, column)} as ${tx(column)}`;
}

function wantedValue(tx: Tx, column: keyof ProfilePatch['columns']) {
  return tx`case when columns ? ${column} then columns ->> ${column} else p.${tx(column)} end`;
}

function playerColumns(tx: Tx) {
  return tx`
    p.player_id, p.external_id, p.email, p.phone, p.telegram_id, p.status, p.timezone, p.default_currency_code,
    p.current_tier_code, p.tier_promoted_at, p.kyc_status, p.kyc_level, p.churn_score, p.ltv_predicted,
    p.custom_attributes::text as custom_attributes, p.created_at, p.deleted_at,
    greatest(p.updated_at, t.updated_at) as updated_at, t.first_seen_at, ${tx.unsafe(LAST_SEEN_SQL)} as last_seen_at,
    t.total_deposited, t.total_withdrawn, t.total_wagered, t.total_won,
    t.total_bonus_wagered, t.total_bonus_won, t.total_credited, t.total_debited, t.bet_count, t.session_count,
    t.pending_conversions,
    array_to_json(array(
      select m.segment_id from (
        select m.tenant_id, m.project_id, m.segment_id, m.entered_at from segment_members m
        where m.tenant_id = p.tenant_id and m.project_id = p.project_id and m.player_id = p.player_id offset 0) m
      where exists (
        select from segments s
        where s.tenant_id = m.tenant_id and s.project_id = m.project_id and s.segment_id = m.segment_id
          and s.deleted_at is null offset 0)
      order by m.entered_at, m.segment_id))::text as segment_ids,
    array_to_json(${tx.unsafe(NEWEST_ANONYMOUS_IDS)})::text as anonymous_ids`;
}
