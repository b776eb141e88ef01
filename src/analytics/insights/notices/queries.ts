import type { PendingQuery, Row } from 'postgres';
import type { Backlog } from '../../../platform/backlog-gauge.ts';
import {
  dueBacklog,
  dueWork,
  waitingLanes,
  type QueueTable,
} from '../../../platform/call-queue/lane-queries.ts';
import { exactJson } from '../../../platform/exact-json.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import { rowsOf } from '../../../platform/postgres/rows.ts';
import type { WorkQuery } from '../../../platform/postgres/work-watch.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import type { Picture } from '../../../engage/providers/message.ts';
import type { Receiver } from './schema.ts';

/** Notices of one tenant to one host, or all of its mail, take turns: a lane. */
export interface NoticeLane {
  tenant_id: string;
  /** The host of a webhook, or {@link MAIL_LANE}. */
  lane: string;
}

/** The lane of mail; no host is called so, because hosts of webhooks have a dot or a port. */
export const MAIL_LANE = 'email';

/** A message by email. */
export interface MailContent {
  subject: string;
  text: string;
  html: string;
  /** Absent: none. */
  pictures?: readonly Picture[];
}

/** What a webhook or a message says. `payload`: JSON text, the bytes that are signed. */
export type NoticeContent = { payload: string } | MailContent;

/** A notice to one receiver. */
export interface Notice extends ProjectRef {
  notice_id: string;
  /** The alert or report. */
  owner_id: string;
  receiver: Receiver;
}

/** A notice to be sent. `content`: a {@link NoticeContent} as JSON text. */
export interface NewNotice extends Notice {
  content: string;
}

/** A notice that this process sends now. Its content is read when it has a place: it may be large. */
export interface ClaimedNotice extends Notice, NoticeLane {
  /** The number of this attempt. */
  attempts: number;
  /** The attempt before was never concluded: nobody knows whether it was made. */
  was_lost: boolean;
}

const NOTICES: QueueTable<keyof NoticeLane> = {
  table: 'insight_notices',
  lane: { tenant_id: 'uuid', lane: 'text' },
  due: 'next_at',
  waits: (tx) => tx`status = 'pending'`,
};

/** Lanes with notices that wait: see {@link waitingLanes}. */
export const selectNoticeLanes = (sql: Tx, after: NoticeLane | undefined, limit: number) =>
  waitingLanes(sql, NOTICES, after, limit);

/** Returns a row while a notice is due. */
export const noticeWork: WorkQuery = (sql, now) => dueWork(sql, NOTICES, now);

/** Notices that are due. */
export const readDueNotices = (tx: Tx, most: number): Promise<Backlog> => dueBacklog(tx, NOTICES, most);

/** Queues notices; they are due at once. */
export async function insertNotices(tx: Tx, notices: readonly NewNotice[], now: Date): Promise<void> {
  if (notices.length === 0) return;
  const rows = notices.map(({ receiver, ...one }) => ({
    ...one,
    receiver: exactJson(receiver),
    lane: receiver.kind === 'email' ? MAIL_LANE : new URL(receiver.url).host,
  }));
  await tx`
    insert into insight_notices (tenant_id, project_id, notice_id, owner_id, receiver, lane, content, next_at, created_at)
    select tenant_id, project_id, notice_id, owner_id, receiver::jsonb, lane, content::json, ${now}, ${now}
    from ${rowsOf(tx, 'n', rows, {
      tenant_id: 'uuid',
      project_id: 'uuid',
      notice_id: 'uuid',
      owner_id: 'uuid',
      receiver: 'text',
      lane: 'text',
      content: 'text',
    })}`;
}

/** Claims due notices, of each lane as many as it has places; a claim is over after `lost_after_ms`. */
export async function claimNotices(
  sql: Tx,
  lanes: readonly (NoticeLane & { places: number })[],
  now: Date,
  lost_after_ms: number,
): Promise<ClaimedNotice[]> {
  return sql<ClaimedNotice[]>`
    with due as materialized (
      select n.ctid, n.is_claimed from ${rowsOf(sql, 'l', lanes, { tenant_id: 'uuid', lane: 'text', places: 'integer' })}
      cross join lateral (
        select n.ctid, n.is_claimed from insight_notices n
        where n.tenant_id = l.tenant_id and n.lane = l.lane and n.status = 'pending' and n.next_at <= ${now}
        order by n.next_at limit l.places for update skip locked) n
    )
    update insight_notices n
    set attempts = n.attempts + 1, is_claimed = true, next_at = ${now}::timestamptz + ${lost_after_ms}::integer * interval '1 millisecond'
    from due where n.ctid = due.ctid
    returning n.tenant_id, n.project_id, n.notice_id, n.owner_id, n.lane, n.receiver, n.attempts,
      due.is_claimed as was_lost`;
}

/** What a notice says; undefined: it is over. */
export async function readContent(
  sql: Tx,
  { tenant_id, notice_id }: ClaimedNotice,
): Promise<NoticeContent | undefined> {
  const [row] = await sql<{ content: NoticeContent }[]>`
    select content from insight_notices
    where tenant_id = ${tenant_id} and notice_id = ${notice_id} and status = 'pending'`;
  return row?.content;
}

/** What an attempt has led to; `pending`: it is made again at `next_at`, and counts unless `was_not_made`. */
export interface NoticeResult {
  status: 'pending' | 'sent' | 'failed';
  error: string | null;
  next_at: Date;
  was_not_made: boolean;
}

/** Writes a result, if no other attempt was claimed since. What is not sent again needs no content. */
export async function writeNotice(
  sql: Tx,
  { tenant_id, notice_id, attempts }: ClaimedNotice,
  { status, error, next_at, was_not_made }: NoticeResult,
  now: Date,
): Promise<void> {
  await sql`
    update insight_notices set status = ${status}, error = ${error}, next_at = ${next_at}, is_claimed = false,
      attempts = attempts - ${was_not_made ? 1 : 0}::integer,
      completed_at = ${status === 'pending' ? null : now},
      content = case when ${status === 'pending'}::boolean then content else '{}' end
    where tenant_id = ${tenant_id} and notice_id = ${notice_id} and status = 'pending' and attempts = ${attempts}`;
}

/** The newest notices of the alert or report whose id a column has, as JSON text, for a select list. */
export function noticesOf(tx: Tx, owner_id: PendingQuery<Row[]>, owner: PendingQuery<Row[]>, most: number) {
  return tx`(
    select coalesce(json_agg(json_build_object('id', n.notice_id, 'receiver', n.receiver, 'status', n.status,
      'attempts', n.attempts, 'error', n.error, 'created_at', iso_time(n.created_at))
      order by n.created_at desc, n.notice_id desc), '[]')::text
    from (
      select * from insight_notices n where (n.tenant_id, n.project_id) = (${owner}) and n.owner_id = ${owner_id}
      order by n.created_at desc, n.notice_id desc limit ${most}) n)`;
}

/** Whether the user is a member of the tenant: has accepted an invitation. */
export async function selectMembers(
  tx: Tx,
  tenant_id: string,
  user_ids: readonly string[],
): Promise<Set<string>> {
  const rows = await tx<{ user_id: string }[]>`
    select m.user_id from ${rowsOf(
      tx,
      'u',
      user_ids.map((user_id) => ({ user_id })),
      { user_id: 'text' },
    )}
    cross join lateral (
      select m.user_id from memberships m
      where m.tenant_id = ${tenant_id} and m.user_id = u.user_id and m.accepted_at is not null) m`;
  return new Set(rows.map(({ user_id }) => user_id));
}

/** Removes notices of before this time, up to `most`; returns how many. */
export async function removeNotices(sql: Tx, before: Date, most: number): Promise<number> {
  const { count } = await sql`
    delete from insight_notices where ctid = any(array(
      select ctid from insight_notices where created_at < ${before} order by created_at limit ${most}))`;
  return count;
}
