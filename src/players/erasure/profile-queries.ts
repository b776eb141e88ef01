import { EXTERNAL_IDS_CHANNEL } from '../identity/queries.ts';
import type { PendingQuery, Row } from 'postgres';
import { plainArray, textArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { eraseAuditRowsOf, eraseAuditRowsOfAddresses } from '../../tenants/audit/erase-queries.ts';
import { holdersSql } from '../../protection/exclusions/address-queries.ts';
import {
  CHANNEL_OF,
  addressSql,
  spelledOf,
  spelledSql,
  type SpelledAddress,
} from '../../protection/exclusions/kept-queries.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { ErasedPerson } from '../dependents.ts';
import type { PlayerRef } from '../player-ref.ts';

/** A person has been so many players at most. */
const MAX_MERGED_ADDRESSES = 1_000;
/** Players who have an address, at most: a placeholder that a thousand times more have protects nobody. */
const MAX_HOLDERS = 1_000_000;

/** What of a player decides what is kept. */
export interface ProtectedPlayer {
  email: string | null;
  phone: string | null;
  external_id: string | null;
  push_token: string | null;
  is_excluded: boolean;
  self_excluded_at: Date | null;
  is_banned: boolean;
  cooldown_until: Date | null;
  updated_at: Date;
  deleted_at: Date | null;
  erased_at: Date | null;
}

/** A player with its addresses and protections; locks its row. */
export async function lockProtected(tx: Tx, ref: PlayerRef): Promise<ProtectedPlayer | undefined> {
  const [row] = await tx<ProtectedPlayer[]>`
    select p.email, p.phone, p.external_id, ${addressSql(tx, tx`'push_token'`)} as push_token,
      p.self_excluded or p.status = 'self_excluded' as is_excluded, p.self_excluded_at,
      p.status = 'banned' or p.was_banned as is_banned, p.cooldown_until, p.updated_at, p.deleted_at, p.erased_at
    from players p
    where p.player_id = ${ref.player_id} and p.tenant_id = ${ref.tenant_id} and p.project_id = ${ref.project_id}
    for no key update`;
  return row;
}

/** What a live player gets of a person who has one of its addresses. */
export interface Bars {
  is_excluded: boolean;
  is_banned: boolean;
  cooldown_until: Date | null;
}

/**
 * Live players of the tenant, others than these, who have one of these addresses, or had it when another player was merged
 * into them, or who have one of these external_ids in the project, and do not have all these bars yet: a page in the order of
 * their ids. Found by the indexes of the addresses.
 */
export async function selectSharers(
  tx: Tx,
  { tenant_id, project_id, player_ids }: ErasedPerson,
  addresses: readonly SpelledAddress[],
  { is_excluded, is_banned, cooldown_until }: Bars,
  { after, limit }: { after: string; limit: number },
): Promise<PlayerRef[]> {
  const lacks = tx`(${is_excluded} and not p.self_excluded or ${is_banned} and p.status <> 'banned'
    or coalesce(p.cooldown_until, '-infinity') < ${cooldown_until}::timestamptz)`;
  return tx<PlayerRef[]>`
    select distinct p.tenant_id, p.project_id, p.player_id
    from (
      select project_id, player_id from (${holdersOf(tx, tenant_id, addresses)}) o
      union all ${namesakesOf(tx, { tenant_id, project_id }, addresses)}) h
    cross join lateral (
      select * from players p where p.player_id = h.player_id and p.tenant_id = ${tenant_id}
        and p.project_id = h.project_id and p.deleted_at is null and ${lacks} offset 0) p
    where p.player_id > ${after} and not p.player_id = any(${plainArray(player_ids)}::text::uuid[])
    order by p.player_id limit ${limit}`;
}

/** The players of these addresses other than external_ids: rows of `kind`, `spelled`, `project_id` and `player_id`. */
function holdersOf(tx: Tx, tenant_id: string, addresses: readonly SpelledAddress[]): PendingQuery<Row[]> {
  const [first, ...rest] = (['email', 'phone', 'push_token'] as const).map((kind) => {
    const spelled = addresses.filter((one) => one.kind === kind).map((one) => one.spelled);
    const to = { tenant_id: tx`${tenant_id}::uuid`, channel: CHANNEL_OF[kind], key: tx`w.spelled` };
    return tx`select ${kind}::text as kind, w.spelled, o.project_id, o.player_id
      from unnest(${textArray(spelled)}::text::text[]) as w (spelled)
      cross join lateral (${holdersSql(tx, to, MAX_HOLDERS)}) o`;
  });
  return rest.reduce((all, one) => tx`${all} union all ${one}`, first ?? tx``);
}

/** The players of these external_ids, which an emptied row has given free: rows of `project_id` and `player_id`. */
function namesakesOf(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  addresses: readonly SpelledAddress[],
): PendingQuery<Row[]> {
  const ids = addresses.filter(({ kind }) => kind === 'external_id').map(({ spelled }) => spelled);
  return tx`select n.project_id, n.player_id
    from unnest(${textArray(ids)}::text::text[]) as w (external_id)
    cross join lateral (
      select p.project_id, p.player_id from players p
      where p.tenant_id = ${tenant_id} and p.project_id = ${project_id} and p.external_id = w.external_id offset 0) n`;
}

/** Suppressions of these addresses, each with the address that it is of. */
export async function selectSuppressions(
  tx: Tx,
  tenant_id: string,
  addresses: readonly SpelledAddress[],
): Promise<(SpelledAddress & { suppression_id: string; reason: string; created_at: Date })[]> {
  return tx`
    select a.kind, a.text, a.spelled, x.suppression_id, x.reason, x.created_at
    from (${spelledSql(tx, addresses)}) a
    cross join lateral (
      select * from suppressions x
      where x.tenant_id = ${tenant_id} and (a.kind = 'phone' and x.channel = 'sms' and x.dialled = a.spelled
        or a.kind = 'email' and x.channel = 'email' and x.address = a.spelled
        or a.kind = 'push_token' and x.channel = 'push' and x.address = a.spelled)
      offset 0) x`;
}

/**
 * Removes these suppressions, except those of an address that another live player has as well. They are locked first: who
 * registers with such an address locks its suppression, so either this player is seen here, or the suppression is made anew.
 */
export async function deleteSuppressions(
  tx: Tx,
  { tenant_id, player_ids }: Pick<ErasedPerson, 'tenant_id' | 'player_ids'>,
  suppressed: readonly (SpelledAddress & { suppression_id: string })[],
): Promise<number> {
  if (suppressed.length === 0) return 0;
  const ids = (of: readonly { suppression_id: string }[]) =>
    tx`x.tenant_id = ${tenant_id}
      and x.suppression_id = any(${plainArray(of.map((one) => one.suppression_id))}::text::uuid[])`;
  await tx`select from suppressions x where ${ids(suppressed)} order by x.suppression_id for update`;
  const shared = await tx<Pick<SpelledAddress, 'kind' | 'spelled'>[]>`
    select distinct h.kind, h.spelled
    from (${holdersOf(tx, tenant_id, suppressed)}) h
    cross join lateral (
      select from players p where p.player_id = h.player_id and p.tenant_id = ${tenant_id}
        and p.project_id = h.project_id and p.deleted_at is null offset 0) p
    where not h.player_id = any(${plainArray(player_ids)}::text::uuid[])`;
  const gone = suppressed.filter(
    ({ kind, spelled }) => !shared.some((one) => one.kind === kind && one.spelled === spelled),
  );
  const { count } = await tx`delete from suppressions x where ${ids(gone)}`;
  return count;
}

/**
 * The addresses that the player does not have itself, as they are compared: of players that were merged into it, and, once its
 * row is empty, its own.
 */
export async function selectMergedAddresses(
  tx: Tx,
  { tenant_id, project_id, player_id }: PlayerRef,
): Promise<SpelledAddress[]> {
  return tx<SpelledAddress[]>`
    select case channel when 'sms' then 'phone' when 'push' then 'push_token' else channel end as kind,
      address_key as text, address_key as spelled
    from merged_addresses
    where tenant_id = ${tenant_id} and project_id = ${project_id} and player_id = ${player_id}
    order by channel, address_key limit ${MAX_MERGED_ADDRESSES}`;
}

/**
 * Empties the row of a person. The status, totals and times stay; the addresses stay apart until {@link forgetIds}, and with
 * them the links of anonymous ids: an exclusion that was accepted before is applied to this row later.
 */
export async function wipeProfile(
  tx: Tx,
  person: ErasedPerson,
  addresses: readonly SpelledAddress[],
  now: Date,
): Promise<void> {
  const { tenant_id, project_id, player_ids } = person;
  const [player_id = ''] = player_ids;
  await tx`
    insert into merged_addresses (tenant_id, project_id, player_id, channel, address_key)
    select ${tenant_id}, ${project_id}, ${player_id}, a.channel, a.spelled
    from ${rowsOf(tx, 'a', addresses, { channel: ['text', ({ kind }) => CHANNEL_OF[kind] ?? kind], spelled: 'text' })}
    on conflict do nothing`;
  await tx`
    with wiped as (
      update players set
        external_id = null, email = null, phone = null, telegram_id = null, anonymous_ids = '{}', timezone = null,
        custom_attributes = '{}', kyc_decided_by = null, kyc_provider_ref = null,
        churn_score = 0, churn_model = null, churn_as_of = null, ltv_predicted = null, ltv_model = null, ltv_as_of = null,
        session_hours = null,
        erased_at = ${now}, updated_at = ${now}
      where player_id = ${player_id} and tenant_id = ${tenant_id} and project_id = ${project_id}
      returning tenant_id, project_id, player_id
    )
    update player_totals t set updated_at = ${now}, changed_xid = pg_current_xact_id()
    from wiped w
    where t.tenant_id = w.tenant_id and t.project_id = w.project_id and t.player_id = w.player_id`;
  await tx`
    update player_merges set is_erased = true
    where into_player_id = ${player_id} and tenant_id = ${tenant_id} and project_id = ${project_id}`;
  // Sent by Postgres when the transaction commits.
  await tx`select pg_notify(${EXTERNAL_IDS_CHANNEL}, ${project_id})`;
}

/** Removes what still links anonymous ids and addresses to a person; returns how many rows it has removed. */
export async function forgetIds(tx: Tx, person: ErasedPerson): Promise<number> {
  const { tenant_id, project_id, player_ids } = person;
  const [player_id = ''] = player_ids;
  const addresses = await tx`
    delete from merged_addresses
    where player_id = ${player_id} and tenant_id = ${tenant_id} and project_id = ${project_id}`;
  const identities = await tx`
    delete from player_identities
    where player_id = any(${plainArray(player_ids)}::text::uuid[]) and tenant_id = ${tenant_id}
      and project_id = ${project_id}`;
  return addresses.count + identities.count;
}

/** Erases what the audit log says of the player itself; returns how many rows were changed, `limit` at most. */
export async function eraseAuditOf(tx: Tx, person: ErasedPerson, limit: number): Promise<number> {
  const ids = tx`select i.id::text as resource_id
    from unnest(${plainArray(person.player_ids)}::text::uuid[]) as i (id)`;
  return eraseAuditRowsOf(tx, person, ids, limit);
}

/**
 * Erases what the audit log says of suppressions of these addresses, in any spelling; returns how many rows were changed,
 * `limit` at most.
 */
export async function eraseAuditOfAddresses(
  tx: Tx,
  person: ErasedPerson,
  addresses: readonly SpelledAddress[],
  limit: number,
): Promise<number> {
  if (addresses.length === 0) return 0;
  const isTheirs = (address: PendingQuery<Row[]>) => {
    const [first = tx`false`, ...rest] = addresses.map(
      ({ kind, spelled }) => tx`${spelledOf(tx, tx`${kind}::text`, address)} = ${spelled}`,
    );
    return rest.reduce((sql, one) => tx`${sql} or ${one}`, first);
  };
  return eraseAuditRowsOfAddresses(tx, person, isTheirs, limit);
}
