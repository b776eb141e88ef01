import type { PendingQuery } from 'postgres';
import type { Backlog } from '../../platform/backlog-gauge.ts';
import {
  dueBacklog,
  dueWork,
  waitingLanes,
  type QueueTable,
} from '../../platform/call-queue/lane-queries.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { WorkQuery } from '../../platform/postgres/work-watch.ts';
import { PROJECT_KEY, type ProjectRef } from '../../tenants/project-ref.ts';
import type { PlayerRef } from '../player-ref.ts';

/** A call of a platform about a player, under a claim. */
export interface ClaimedCall extends PlayerRef {
  call_id: string;
  action: 'initiate' | 'update';
  /** The bytes to send. */
  body: string;
  /** This attempt's number, from 1. */
  attempts: number;
  created_at: Date;
}

/** A call as its player's KYC shows it. */
export interface OpenCall {
  action: 'initiate' | 'update';
  attempts: number;
  next_attempt_at: Date | null;
  last_error: string | null;
  created_at: Date;
}

/**
 * Adds a call. An update says what a player's KYC is now, so it replaces the player's calls that were not answered; an
 * initiate replaces an earlier one, and all replace what was given up. A call of which an attempt runs is not repeated,
 * but stays until that attempt ends, because the platform must not hear of the newer one before it.
 */
export async function insertCall(
  tx: Tx,
  call: Omit<ClaimedCall, 'attempts'>,
  next_attempt_at: Date,
): Promise<void> {
  const { tenant_id, project_id, player_id, call_id, action, body, created_at } = call;
  const ofPlayer = tx`tenant_id = ${tenant_id} and project_id = ${project_id} and player_id = ${player_id}`;
  const replaced = tx`(${action} = 'update' or action = 'initiate' or next_attempt_at is null)`;
  // The lock first: an attempt that has just begun is seen.
  await tx`select from kyc_calls where ${ofPlayer} order by call_id for update`;
  await Promise.all([
    tx`
      delete from kyc_calls
      where ${ofPlayer} and ${replaced} and (claimed_until is null or claimed_until <= ${created_at})`,
    tx`update kyc_calls set is_superseded = true where ${ofPlayer} and ${replaced}`,
    tx`
      insert into kyc_calls (tenant_id, project_id, player_id, call_id, action, body, next_attempt_at, created_at)
      values (${tenant_id}, ${project_id}, ${player_id}, ${call_id}, ${action}, ${body}, ${next_attempt_at}, ${created_at})`,
  ]);
}

/** The player's calls that have not been answered, the oldest first. */
export function selectCalls(
  tx: Tx,
  { tenant_id, project_id, player_id }: PlayerRef,
): PendingQuery<OpenCall[]> {
  return tx<OpenCall[]>`
    select action, attempts, next_attempt_at, last_error, created_at from kyc_calls
    where tenant_id = ${tenant_id} and project_id = ${project_id} and player_id = ${player_id} and not is_superseded
    order by created_at, call_id
    limit 100`;
}

/** The queue of calls that were not answered and not given up. */
const CALLS: QueueTable<keyof ProjectRef> = {
  table: 'kyc_calls',
  lane: PROJECT_KEY,
  due: 'next_attempt_at',
  waits: (tx) => tx`next_attempt_at is not null`,
};

/** Projects with calls to make: see {@link waitingLanes}. */
export const selectWaitingProjects = (sql: Tx, after: ProjectRef | undefined, limit: number) =>
  waitingLanes(sql, CALLS, after, limit);

/** Returns a row while a call is due. */
export const kycCallWork: WorkQuery = (sql, now) => dueWork(sql, CALLS, now);

/** Claims due calls of a project until `until`, in the order in which they were made; of one player one at a time. */
export async function claimCalls(
  sql: Tx,
  { tenant_id, project_id }: ProjectRef,
  { now, until, limit }: { now: Date; until: Date; limit: number },
): Promise<ClaimedCall[]> {
  // Those that were replaced while a process made them that has ended since.
  await sql`
    with replaced as materialized (
      select ctid from kyc_calls
      where tenant_id = ${tenant_id} and project_id = ${project_id} and next_attempt_at <= ${now}
        and next_attempt_at is not null and is_superseded
      for update skip locked)
    delete from kyc_calls c using replaced where c.ctid = replaced.ctid`;
  return sql<ClaimedCall[]>`
    with due as materialized (
      select c.call_id from kyc_calls c
      where c.tenant_id = ${tenant_id} and c.project_id = ${project_id} and c.next_attempt_at <= ${now}
        and c.next_attempt_at is not null and not c.is_superseded
        and not exists (
          select from kyc_calls o where o.tenant_id = c.tenant_id and o.project_id = c.project_id
            and o.player_id = c.player_id and o.next_attempt_at is not null
            and (o.created_at, o.call_id) < (c.created_at, c.call_id) offset 0)
      order by c.next_attempt_at
      limit ${limit}
      for update skip locked)
    update kyc_calls c set attempts = c.attempts + 1, next_attempt_at = ${until}, claimed_until = ${until}
    from due
    where c.tenant_id = ${tenant_id} and c.project_id = ${project_id} and c.call_id = due.call_id
      and c.next_attempt_at <= ${now}
    returning c.tenant_id, c.project_id, c.player_id, c.call_id, c.action, c.body, c.attempts, c.created_at`;
}

/** Claims the call at once, if it is the player's only one; undefined when another is before it. */
export async function claimNewCall(
  sql: Tx,
  { tenant_id, project_id, player_id, call_id }: PlayerRef & { call_id: string },
  until: Date,
): Promise<ClaimedCall | undefined> {
  const [row] = await sql<ClaimedCall[]>`
    update kyc_calls c set attempts = attempts + 1, next_attempt_at = ${until}, claimed_until = ${until}
    where tenant_id = ${tenant_id} and project_id = ${project_id} and call_id = ${call_id} and attempts = 0
      and not is_superseded
      and not exists (
        select from kyc_calls o where o.tenant_id = ${tenant_id} and o.project_id = ${project_id}
          and o.player_id = ${player_id} and o.next_attempt_at is not null and o.call_id <> ${call_id})
    returning tenant_id, project_id, player_id, call_id, action, body, attempts, created_at`;
  return row;
}

/** What the player's KYC is now; no row when the player was merged or is deleted. */
export function selectPresent(
  sql: Tx,
  { tenant_id, project_id, player_id }: PlayerRef,
): PendingQuery<{ status: string; level: number }[]> {
  return sql<{ status: string; level: number }[]>`
    select kyc_status as status, kyc_level as level from players
    where tenant_id = ${tenant_id} and project_id = ${project_id} and player_id = ${player_id} and deleted_at is null`;
}

/** The platform has taken the call. In one transaction: what it calls the verification is stored, and the call removed. */
export async function removeCall(
  tx: Tx,
  { tenant_id, project_id, call_id }: ClaimedCall,
  provider_ref: string | null,
): Promise<void> {
  if (provider_ref !== null)
    // The player that the call is about now: it may have been merged meanwhile.
    await tx`
      update players p set kyc_provider_ref = ${provider_ref} from kyc_calls c
      where c.tenant_id = ${tenant_id} and c.project_id = ${project_id} and c.call_id = ${call_id}
        and p.tenant_id = ${tenant_id} and p.project_id = ${project_id} and p.player_id = c.player_id`;
  await tx`
    delete from kyc_calls
    where tenant_id = ${tenant_id} and project_id = ${project_id} and call_id = ${call_id}`;
}

/**
 * The platform has not taken the call; `next_attempt_at` is null when it is given up. One that was replaced meanwhile is
 * removed.
 */
export async function postponeCall(
  tx: Tx,
  { tenant_id, project_id, call_id, attempts }: ClaimedCall,
  next_attempt_at: Date | null,
  last_error: string,
): Promise<void> {
  const claimed = tx`
    tenant_id = ${tenant_id} and project_id = ${project_id} and call_id = ${call_id} and attempts = ${attempts}`;
  await tx`
    update kyc_calls set next_attempt_at = ${next_attempt_at}, claimed_until = null, last_error = ${last_error}
    where ${claimed}`;
  await tx`delete from kyc_calls where ${claimed} and is_superseded`;
}

/** Removes at most `limit` calls that were made before `before` and given up; returns how many. */
export async function removeOldCalls(sql: Tx, before: Date, limit: number): Promise<number> {
  const { count } = await sql`
    with old as materialized (
      select ctid from kyc_calls where next_attempt_at is null and created_at < ${before} order by created_at
      limit ${limit} for update skip locked)
    delete from kyc_calls c using old where c.ctid = old.ctid`;
  return count;
}

/** Calls that were made more than a day ago and that platforms have not taken, also those given up, for the metrics. */
export async function readLateCalls(tx: Tx, most: number): Promise<Backlog> {
  const [row] = await tx<Backlog[]>`
    select count(*)::integer as items, epoch_ms(min(created_at))::float8 as oldest_ms from (
      select created_at from kyc_calls where created_at <= now() - interval '1 day' and not is_superseded
      order by created_at limit ${most}) d`;
  return row ?? { items: 0, oldest_ms: null };
}

/** Calls that are due, for the metrics. */
export const readDueCalls = (tx: Tx, most: number): Promise<Backlog> => dueBacklog(tx, CALLS, most);
