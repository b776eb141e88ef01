import type { PendingQuery } from 'postgres';
import { plainArray, textArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { eraseAuditRowsOf, eraseAuditRowsOfAddresses } from '../../tenants/audit/erase-queries.ts';
import { addressSql, spelledOf, spelledSql, type SpelledAddress } from '../exclusions/kept-queries.ts';
import type { ErasedPerson } from '../dependents.ts';
import type { PlayerRef } from '../player-ref.ts';

/** A person has been so many players at most. */
const MAX_MERGED_ADDRESSES = 1_000;

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
      p.status = 'banned' as is_banned, p.cooldown_until, p.updated_at, p.deleted_at, p.erased_at
    from players p
    where p.player_id = ${ref.player_id} and p.tenant_id = ${ref.tenant_id} and p.project_id = ${ref.project_id}
    for no key update`;
  return row;
}

/** Another live player of the tenant with an address of the person. */
export interface Sharer extends PlayerRef {
  kind: SpelledAddress['kind'];
  text: string;
}

/**
 * Live players of the tenant, others than these, who have one of these addresses. One pass over the players of the tenant,
 * because the spelling of an address has no index here.
 */
export function selectSharers(
  tx: Tx,
  { tenant_id, player_ids }: Pick<ErasedPerson, 'tenant_id' | 'player_ids'>,
  addresses: readonly SpelledAddress[],
  limit: number,
): PendingQuery<Sharer[]> {
  return tx<Sharer[]>`
    select p.tenant_id, p.project_id, p.player_id, k.kind, k.text
    from players p
    cross join lateral (values ('email', ${addressSql(tx, tx`'email'`)}), ('phone', ${addressSql(tx, tx`'phone'`)}),
      ('push_token', ${addressSql(tx, tx`'push_token'`)})) as k (kind, text)
    join unnest(${textArray(addresses.map(({ kind }) => kind))}::text::text[],
      ${textArray(addresses.map(({ spelled }) => spelled))}::text::text[]) as w (kind, spelled)
      on w.kind = k.kind and w.spelled = ${spelledOf(tx, tx`k.kind`, tx`k.text`)}
    where p.tenant_id = ${tenant_id} and p.deleted_at is null
      and not p.player_id = any(${plainArray(player_ids)}::text::uuid[])
    order by p.player_id limit ${limit}`;
}

/** Suppressions of these addresses, with the address that each is of. */
export async function selectSuppressions(
  tx: Tx,
  tenant_id: string,
  addresses: readonly SpelledAddress[],
): Promise<
  (Pick<SpelledAddress, 'kind' | 'spelled'> & { suppression_id: string; reason: string; created_at: Date })[]
> {
  return tx`
    select a.kind, a.spelled, x.suppression_id, x.reason, x.created_at
    from (${spelledSql(tx, addresses)}) a
    cross join lateral (
      select * from suppressions x
      where x.tenant_id = ${tenant_id} and (a.kind = 'phone' and x.channel = 'sms' and x.dialled = a.spelled
        or a.kind = 'email' and x.channel = 'email' and x.address = a.spelled
        or a.kind = 'push_token' and x.channel = 'push' and x.address = a.spelled)
      offset 0) x`;
}

export async function deleteSuppressions(tx: Tx, tenant_id: string, ids: readonly string[]): Promise<void> {
  await tx`
    delete from suppressions
    where tenant_id = ${tenant_id} and suppression_id = any(${plainArray(ids)}::text::uuid[])`;
}

/** The addresses of players that were merged into the person's, as they are compared. */
export async function selectMergedAddresses(
  tx: Tx,
  { tenant_id, project_id, player_id }: PlayerRef,
): Promise<SpelledAddress[]> {
  return tx<SpelledAddress[]>`
    select case channel when 'sms' then 'phone' when 'push' then 'push_token' else channel end as kind,
      address_key as text, address_key as spelled
    from merged_addresses
    where tenant_id = ${tenant_id} and project_id = ${project_id} and player_id = ${player_id}
    limit ${MAX_MERGED_ADDRESSES}`;
}

/** Empties the row of a person, and removes what links anonymous ids and addresses to it. The status, totals and times stay. */
export async function wipeProfile(tx: Tx, person: ErasedPerson, now: Date): Promise<void> {
  const { tenant_id, project_id, player_ids } = person;
  const [player_id = ''] = player_ids;
  await tx`
    with wiped as (
      update players set
        external_id = null, email = null, phone = null, telegram_id = null, anonymous_ids = '{}', timezone = null,
        custom_attributes = '{}', kyc_decided_by = null, kyc_provider_ref = null, erased_at = ${now}, updated_at = ${now}
      where player_id = ${player_id} and tenant_id = ${tenant_id} and project_id = ${project_id}
      returning tenant_id, project_id, player_id
    )
    update player_totals t set updated_at = ${now}, changed_xid = pg_current_xact_id()
    from wiped w
    where t.tenant_id = w.tenant_id and t.project_id = w.project_id and t.player_id = w.player_id`;
  await tx`
    delete from merged_addresses
    where player_id = ${player_id} and tenant_id = ${tenant_id} and project_id = ${project_id}`;
  await tx`
    delete from player_identities
    where player_id = any(${plainArray(player_ids)}::text::uuid[]) and tenant_id = ${tenant_id}
      and project_id = ${project_id}`;
}

/** Erases what the audit log says of the player itself; returns how many rows were changed, `limit` at most. */
export async function eraseAuditOf(tx: Tx, person: ErasedPerson, limit: number): Promise<number> {
  const ids = tx`select i.id::text as resource_id
    from unnest(${plainArray(person.player_ids)}::text::uuid[]) as i (id)`;
  return eraseAuditRowsOf(tx, person, ids, limit);
}

/** Erases what the audit log says of suppressions of these addresses, in any spelling. */
export async function eraseAuditOfAddresses(
  tx: Tx,
  person: ErasedPerson,
  addresses: readonly SpelledAddress[],
): Promise<number> {
  if (addresses.length === 0) return 0;
  return eraseAuditRowsOfAddresses(tx, person, (address) => {
    const [first = tx`false`, ...rest] = addresses.map(
      ({ kind, spelled }) => tx`${spelledOf(tx, tx`${kind}::text`, address)} = ${spelled}`,
    );
    return rest.reduce((sql, one) => tx`${sql} or ${one}`, first);
  });
}
