import { microseconds } from '../../platform/postgres/keyset.ts';
import type { Tx } from '../../platform/postgres/port.ts';

/** A session of the console as it is stored. */
export interface SessionRow {
  user_id: string;
  display_name: string | null;
  created_at: Date;
  last_seen_at: Date;
  expires_at: Date;
}

/** What begins a session; `provider_sid` and `id_token` are null without an identity provider. */
export interface NewSession {
  user_id: string;
  display_name: string | null;
  provider_sid: string | null;
  id_token: string | null;
}

/** Expired sessions that are deleted when one begins, so that the table does not grow. */
const DELETED_AT_ONCE = 100;

/** Stores a session, and deletes some of those that have expired. */
export async function insertSession(
  sql: Tx,
  id_hash: Buffer,
  session: NewSession,
  { now, expires_at }: { now: Date; expires_at: Date },
): Promise<void> {
  await sql`
    with expired as materialized (
      select id_hash from console_sessions where expires_at <= ${now}
      limit ${DELETED_AT_ONCE} for update skip locked
    ), deleted as (
      delete from console_sessions c using expired e where c.id_hash = e.id_hash
    )
    insert into console_sessions (id_hash, user_id, display_name, provider_sid, id_token, created_at, last_seen_at, expires_at)
    values (${id_hash}, ${session.user_id}, ${session.display_name}, ${session.provider_sid}, ${session.id_token},
      ${now}, ${now}, ${expires_at})`;
}

/** The session of this id; undefined when there is none, or it has expired or was idle since before `idle_since`. */
export async function findSession(
  sql: Tx,
  id_hash: Buffer,
  { now, idle_since }: { now: Date; idle_since: Date },
): Promise<SessionRow | undefined> {
  const rows = await sql<SessionRow[]>`
    select user_id, display_name, created_at, last_seen_at, expires_at from console_sessions
    where id_hash = ${id_hash} and expires_at > ${now} and last_seen_at > ${idle_since}`;
  return rows[0];
}

/** How many sessions are neither expired nor idle since before `idle_since`, counted up to `most`. */
export async function countSessions(
  sql: Tx,
  { now, idle_since }: { now: Date; idle_since: Date },
  most: number,
): Promise<number> {
  const [row] = await sql<{ open: number }[]>`
    select count(*)::integer as open from (
      select from console_sessions where expires_at > ${now} and last_seen_at > ${idle_since} limit ${most}) as counted`;
  return row?.open ?? 0;
}

/** Notes that the session is in use. */
export async function touchSession(sql: Tx, id_hash: Buffer, now: Date): Promise<void> {
  await sql`
    update console_sessions set last_seen_at = greatest(last_seen_at, ${now}) where id_hash = ${id_hash}`;
}

/** Deletes a session; returns its ID token, which ends the session at the identity provider. */
export async function deleteSession(
  sql: Tx,
  id_hash: Buffer,
): Promise<{ id_token: string | null } | undefined> {
  const rows = await sql<{ id_token: string | null }[]>`
    delete from console_sessions where id_hash = ${id_hash} returning id_token`;
  return rows[0];
}

/** Deletes the sessions that an identity provider has ended: one of its own, or all of a user. Returns their hashes. */
export async function deleteSessionsOf(
  sql: Tx,
  ended: { provider_sid: string } | { user_id: string },
): Promise<Buffer[]> {
  const which =
    'provider_sid' in ended ? sql`provider_sid = ${ended.provider_sid}` : sql`user_id = ${ended.user_id}`;
  const rows = await sql<
    { id_hash: Buffer }[]
  >`delete from console_sessions where ${which} returning id_hash`;
  return rows.map(({ id_hash }) => id_hash);
}

/**
 * Whose sessions are meant: those of a user, and with a tenant also those of its members who are in no other tenant. A
 * session is of a user in all tenants, and an admin may invite anybody: that must open and hide nobody's sessions.
 */
export interface SessionScope {
  user_id: string;
  /** Null: only the user's own. */
  of_members_of: string | null;
}

/** A session in a list; the id is its hash in hexadecimal, with which nobody can use it. */
export interface ListedSession extends SessionRow {
  id: string;
  created_us: bigint;
}

function within(sql: Tx, { user_id, of_members_of }: SessionScope) {
  if (of_members_of === null) return sql`user_id = ${user_id}`;
  return sql`(user_id = ${user_id} or user_id in (
    select m.user_id from memberships m
    where m.tenant_id = ${of_members_of} and m.accepted_at is not null and not exists (
      select from memberships o
      where o.user_id = m.user_id and o.tenant_id <> m.tenant_id and o.accepted_at is not null)))`;
}

/** A page of sessions that have not ended, the newest first. */
export async function listSessions(
  sql: Tx,
  scope: SessionScope,
  { now, idle_since }: { now: Date; idle_since: Date },
  after: readonly [time_us: string, id: string] | undefined,
  limit: number,
): Promise<ListedSession[]> {
  const [time_us, id] = after ?? [];
  const beyond =
    after === undefined
      ? sql``
      : sql`and (created_at, encode(id_hash, 'hex')) <
          ('epoch'::timestamptz + ${time_us ?? ''}::bigint * interval '1 microsecond', ${id ?? ''})`;
  return sql<ListedSession[]>`
    select encode(id_hash, 'hex') as id, user_id, display_name, created_at, last_seen_at, expires_at,
      ${microseconds(sql, 'created_at')} as created_us
    from console_sessions
    where ${within(sql, scope)} and expires_at > ${now} and last_seen_at > ${idle_since} ${beyond}
    order by created_at desc, encode(id_hash, 'hex') desc limit ${limit}`;
}

/** Deletes a session of the scope by its hash; undefined when there is none. */
export async function deleteSessionWithin(
  sql: Tx,
  scope: SessionScope,
  id_hash: Buffer,
): Promise<SessionRow | undefined> {
  const rows = await sql<SessionRow[]>`
    delete from console_sessions where id_hash = ${id_hash} and ${within(sql, scope)}
    returning user_id, display_name, created_at, last_seen_at, expires_at`;
  return rows[0];
}
