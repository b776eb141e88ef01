import type { PendingQuery, Row } from 'postgres';
import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import type { Channel } from '../../tenants/config/channels.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { AddressKind } from './erasure-key.ts';

/** The player who has, or gets, an address. */
export type AddressedPlayer = ProjectRef & { player_id: string };

/** An address as somebody wrote it. */
export interface Address {
  kind: AddressKind;
  text: string;
}

/** An address with the form in which addresses are compared. */
export interface SpelledAddress extends Address {
  spelled: string;
}

/** What protects a person, and since when. */
export interface Protection {
  protection: 'self_exclusion' | 'ban' | 'cooldown' | 'suppression';
  since: Date;
  /** The end of a break; null: of no break. */
  until: Date | null;
  /** The reason of a suppression; null: of none. */
  reason: string | null;
}

/** A protection under the hash of an address. */
export interface KeptProtection extends Protection {
  address_hash: Buffer;
}

/** The channel on which an address of this kind is suppressed; undefined: none. */
export const CHANNEL_OF = {
  email: 'email',
  phone: 'sms',
  push_token: 'push',
  external_id: undefined,
} as const satisfies Record<AddressKind, Channel | undefined>;

/** An address of a kind as it is compared: as suppressions are. */
export function spelledOf(tx: Tx, kind: PendingQuery<Row[]>, text: PendingQuery<Row[]>): PendingQuery<Row[]> {
  return tx`case ${kind} when 'phone' then address_key('sms', ${text}) when 'external_id' then ${text}
    else address_key('email', ${text}) end`;
}

/** The addresses as rows `kind`, `text`, `spelled`. */
export function spelledSql(tx: Tx, addresses: readonly Address[]): PendingQuery<Row[]> {
  return tx`
    select a.kind, a.text, ${spelledOf(tx, tx`a.kind`, tx`a.text`)} as spelled
    from ${rowsOf(tx, 'a', addresses, { kind: 'text', text: 'text' })}
    where ${spelledOf(tx, tx`a.kind`, tx`a.text`)} <> ''`;
}

/** The address of this kind of the player `p`, or null. */
export function addressSql(tx: Tx, kind: PendingQuery<Row[]>): PendingQuery<Row[]> {
  return tx`case ${kind} when 'email' then nullif(p.email, '') when 'phone' then nullif(p.phone, '')
    when 'external_id' then p.external_id
    when 'push_token' then nullif(case when jsonb_typeof(p.custom_attributes -> 'push_token') = 'string'
      then p.custom_attributes ->> 'push_token' end, '') end`;
}

/** The addresses, spelled as they are compared. */
export async function spellAddresses(tx: Tx, addresses: readonly Address[]): Promise<SpelledAddress[]> {
  if (addresses.length === 0) return [];
  return tx<SpelledAddress[]>`select * from (${spelledSql(tx, addresses)}) s`;
}

/** The addresses, in a tenant that keeps protections of erased people; no rows in any other tenant, which is the rule. */
export async function spellWhereKept(
  tx: Tx,
  tenant_id: string,
  addresses: readonly Address[],
): Promise<SpelledAddress[]> {
  if (addresses.length === 0) return [];
  return tx<SpelledAddress[]>`
    select s.* from (${spelledSql(tx, addresses)}) s
    where exists (select from kept_protections where tenant_id = ${tenant_id})`;
}

/** As {@link spellWhereKept}, those of the addresses that the player does not have yet. */
export async function selectNewAddresses(
  tx: Tx,
  ref: AddressedPlayer,
  addresses: readonly Address[],
): Promise<SpelledAddress[]> {
  if (addresses.length === 0) return [];
  return tx<SpelledAddress[]>`
    with own as materialized (
      select a.kind, ${addressSql(tx, tx`a.kind`)} as text
      from (values ('email'), ('phone'), ('push_token'), ('external_id')) as a (kind)
      cross join lateral (
        select * from players p where p.player_id = ${ref.player_id} and p.tenant_id = ${ref.tenant_id}
          and p.project_id = ${ref.project_id} offset 0) p
    )
    select s.* from (${spelledSql(tx, addresses)}) s
    where exists (select from kept_protections where tenant_id = ${ref.tenant_id})
      and not exists (select from own o where o.kind = s.kind and o.text = s.text)`;
}

/** The protections that are kept under these hashes. */
export async function selectKept(
  tx: Tx,
  tenant_id: string,
  hashes: readonly Buffer[],
): Promise<KeptProtection[]> {
  return tx<KeptProtection[]>`
    select k.address_hash, k.protection, k.since, k.until, k.reason
    from unnest(${plainArray(hashes.map((hash) => hash.toString('hex')))}::text::text[]) as h (hash)
    cross join lateral (
      select * from kept_protections k
      where k.tenant_id = ${tenant_id} and k.address_hash = decode(h.hash, 'hex') offset 0) k`;
}

/**
 * Keeps protections under hashes of addresses. Of the same kind under one hash the older one stays, also where two are
 * given: players that were merged may have had the same address. Idempotent.
 */
export async function insertKept(tx: Tx, tenant_id: string, kept: readonly KeptProtection[]): Promise<void> {
  const rows = kept.map(({ address_hash, ...rest }) => ({ ...rest, hash: address_hash.toString('hex') }));
  await tx`
    insert into kept_protections as k (tenant_id, address_hash, protection, since, until, reason)
    select ${tenant_id}, decode(r.hash, 'hex'), r.protection, min(r.since), max(r.until),
      (array_agg(r.reason order by r.since))[1]
    from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb)
      as r (hash text, protection text, since timestamptz, until timestamptz, reason text)
    group by r.hash, r.protection
    on conflict (tenant_id, address_hash, protection) do update
    set since = least(k.since, excluded.since), until = greatest(k.until, excluded.until)`;
}

/** Gives a live player the exclusion, the ban and the break of somebody else; each is one that it has or a stricter one. */
export async function protectPlayer(
  tx: Tx,
  ref: AddressedPlayer,
  given: { excluded_since: Date | null; is_banned: boolean; cooldown_until: Date | null },
  now: Date,
): Promise<void> {
  const { excluded_since, is_banned, cooldown_until } = given;
  await tx`
    with protected as (
      update players p set
        self_excluded = p.self_excluded or ${excluded_since}::timestamptz is not null,
        self_excluded_at = case when p.self_excluded then p.self_excluded_at
          else coalesce(${excluded_since}::timestamptz, p.self_excluded_at) end,
        status = case when ${is_banned} or p.status = 'banned' then 'banned'
          when ${excluded_since}::timestamptz is not null then 'self_excluded' else p.status end,
        cooldown_until = greatest(p.cooldown_until, ${cooldown_until}::timestamptz),
        updated_at = ${now}
      where p.player_id = ${ref.player_id} and p.tenant_id = ${ref.tenant_id} and p.project_id = ${ref.project_id}
        and p.deleted_at is null
      returning p.tenant_id, p.project_id, p.player_id
    )
    update player_totals t set updated_at = ${now}, changed_xid = pg_current_xact_id()
    from protected p
    where t.tenant_id = p.tenant_id and t.project_id = p.project_id and t.player_id = p.player_id`;
}

/**
 * Suppresses an address again that somebody gave who registers. A suppression that is there is locked, so an erasure that
 * would remove it waits, and sees who registers.
 */
export async function suppressAgain(
  tx: Tx,
  tenant_id: string,
  suppressed: { channel: Channel; text: string; reason: string; since: Date },
): Promise<void> {
  const { channel, text, reason, since } = suppressed;
  const insert = () => tx`
    insert into suppressions (tenant_id, channel, address, reason, created_at)
    values (${tenant_id}, ${channel}, suppressed_address(${text}), ${reason}, ${since})
    on conflict do nothing`;
  await insert();
  const is_same =
    channel === 'sms'
      ? tx`x.channel = 'sms' and x.dialled = (select address_key('sms', ${text}))`
      : tx`x.channel = ${channel} and x.address = (select address_key(${channel}, ${text}))`;
  const locked =
    await tx`select from suppressions x where x.tenant_id = ${tenant_id} and ${is_same} for update`;
  if (locked.length === 0) await insert();
}
