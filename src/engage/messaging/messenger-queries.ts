import type { PendingQuery, Row } from 'postgres';
import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import type { Channel } from '../../tenants/config/channels.ts';
import { PROJECT_KEY, type ProjectRef } from '../../tenants/project-ref.ts';
import type { Suppression } from '../providers/message.ts';
import type { ScopePlayer } from '../templates/player-scope.ts';
import { scopeColumns, withTotals } from '../templates/scope-queries.ts';
import {
  bonusProductSql,
  isZoneKnownSql,
  quietUntilSql,
  recipientOf,
  statusSql,
  verdictSql,
  type Gate,
} from './gate-queries.ts';
import { hasComeDue, inQueue, queueOrder, type SendQueue } from './queue-queries.ts';
import { renewUnsubscriptionsSql } from './suppression-queries.ts';

/**
 * Takes the project's advisory lock until the transaction ends; false when another transaction holds it. One claim at a
 * time counts the messages of a player, because two that do not see each other could exceed a frequency cap.
 */
export async function tryLockMessages(tx: Tx, { tenant_id, project_id }: SendQueue): Promise<boolean> {
  const key = `messages ${tenant_id} ${project_id}`;
  const [row] = await tx<{ locked: boolean }[]>`
    select pg_try_advisory_xact_lock(hashtextextended(${key}, 0)) as locked`;
  return row?.locked ?? false;
}

/** How many messages of the queue are due, up to `limit`. `only`: of these, as the fence has chosen; absent: of all. */
export async function countDue(
  sql: Tx,
  queue: SendQueue,
  now: Date,
  limit: number,
  only?: readonly string[],
): Promise<number> {
  const [row] = await sql<{ due: number }[]>`
    select count(*)::integer as due from (${dueSql(sql, queue, now, { limit, only, least_tried_first: false })}) d`;
  return row?.due ?? 0;
}

/** The time zones of the players of the due messages that a claim would take next. */
export async function selectQueuedZones(
  tx: Tx,
  queue: SendQueue,
  now: Date,
  choice: DueChoice,
): Promise<(string | null)[]> {
  const rows = await tx<{ timezone: string | null }[]>`
    select distinct p.timezone
    from (${dueSql(tx, queue, now, choice)}) d
    cross join lateral (
      select timezone from players p
      where p.tenant_id = d.tenant_id and p.project_id = d.project_id and p.player_id = d.player_id offset 0) p`;
  return rows.map(({ timezone }) => timezone);
}

function dueSql(
  tx: Tx,
  { tenant_id, project_id, queue_id, is_cancelled }: SendQueue,
  now: Date,
  { limit, only, least_tried_first }: DueChoice,
) {
  const is_chosen = only === undefined ? tx`` : tx`and s.send_id = any(${plainArray(only)}::text::uuid[])`;
  // Messages of a cancelled campaign are skipped at once, without waiting for their retry.
  const is_due = is_cancelled ? tx`` : tx`and ${hasComeDue(tx, now)}`;
  const isDue = tx`s.tenant_id = ${tenant_id} and s.project_id = ${project_id} and ${inQueue(tx, queue_id)}
      and s.status = 'queued' ${is_due} ${is_chosen}`;
  const is_near = least_tried_first
    ? tx`and s.send_id = any(array(
        select s.send_id from message_sends s where ${isDue} order by ${queueOrder(tx)} limit ${MAX_COMPARED}))`
    : tx``;
  return tx`
    select s.ctid, s.tenant_id, s.project_id, s.send_id, s.player_id, s.template_id, s.journey_run_id,
      s.defers_quiet_hours
    from message_sends s
    where ${isDue} ${is_near}
    order by ${least_tried_first ? tx`s.attempts, s.send_id` : queueOrder(tx)} limit ${limit}`;
}

/** Among so many of the oldest due messages, those that were tried least are taken: no queue is read as a whole. */
const MAX_COMPARED = 1_000;

/** Which due messages are taken. */
interface DueChoice {
  limit: number;
  /** The messages that the fence lets through; absent: all. */
  only: readonly string[] | undefined;
  /** Those tried least instead of the oldest: a message that always fails must not make every probe of a provider. */
  least_tried_first: boolean;
}

/** A row of a queue after the gate: `sending` by this messenger, skipped, or `queued` until quiet hours end. */
export interface ClaimedSend extends ScopePlayer {
  send_id: string;
  status: 'sending' | 'failed' | 'capped' | 'queued';
  /** Why it is not sent; null when it is sent or waits. */
  error_code: string | null;
  /** The run that sends it; null: none. */
  journey_run_id: string | null;
  template_id: string | null;
  recipient: string;
  attempts: number;
  /** Until when the message may wait for a provider that is unavailable. */
  give_up_at: Date;
  context: unknown;
}

/** The terms of a claim. */
export interface ClaimTerms extends DueChoice {
  /** False: the messages fail with PROVIDER_NOT_CONFIGURED. */
  has_provider: boolean;
  /** Every event of the messages' players that was accepted before this moment is folded. */
  fenced_at: Date;
}

/**
 * Passes the oldest due messages of a queue through the gate. Messages that may go out become `sending`, for 30 s or as
 * long as {@link extendClaims} extends it, and count for the frequency caps, before they are handed over. A claim takes
 * at most one message of a player that may go out, and none of a player whose time zone the gate has not checked.
 * Returns the rows that it has written.
 */
export async function claimSends(
  tx: Tx,
  queue: SendQueue,
  { has_provider, fenced_at, ...choice }: ClaimTerms,
  gate: Gate,
): Promise<ClaimedSend[]> {
  const recipient = recipientOf(tx, queue.channel);
  return tx<ClaimedSend[]>`
    with due as (
      ${dueSql(tx, queue, gate.now, choice)} for update of s skip locked
    ), judged as (
      select d.ctid, ${recipient.address} as recipient, d.defers_quiet_hours, ${quietUntilSql(tx, gate)} as quiet_until,
        row_number() over (partition by d.player_id order by d.send_id) as turn,
        case
          when coalesce((
            -- Of a campaign: one look for all its messages.
            select c.status from campaigns c
            where c.tenant_id = ${queue.tenant_id} and c.project_id = ${queue.project_id} and c.campaign_id = ${queue.queue_id}
          ), (
            -- A message that was being sent when its run was cancelled, and comes back.
            select r.status from journey_runs r
            where r.run_id = d.journey_run_id and r.tenant_id = d.tenant_id and r.project_id = d.project_id
          )) = 'cancelled' then 'SKIPPED_CANCELLED'
          when t.template_id is null then 'SKIPPED_TEMPLATE_MISSING'
          when not ${has_provider} then 'PROVIDER_NOT_CONFIGURED'
          else ${verdictSql(tx, gate, recipient, bonusProductSql(tx))}
        end as verdict,
        ${isZoneKnownSql(tx, gate)} as is_zone_known
      from due d
      left join lateral (
        select * from players p
        where p.tenant_id = d.tenant_id and p.project_id = d.project_id and p.player_id = d.player_id offset 0
      ) p on true
      left join lateral (
        select template_id, bonus_product, reads_bonus from templates t
        where t.tenant_id = d.tenant_id and t.project_id = d.project_id and t.template_id = d.template_id
          and t.deleted_at is null and t.status = 'active' offset 0
      ) t on true
      offset 0
    ), decided as (
      select j.*, ${statusSql(tx, 'sending')} as status,
        j.verdict = 'SKIPPED_QUIET_HOURS' and j.defers_quiet_hours as is_deferred
      from judged j
    ), written as (
      update message_sends m set
        status = case when j.is_deferred then 'queued' else j.status end,
        error_code = case when not j.is_deferred then j.verdict end,
        recipient = coalesce(j.recipient, m.recipient),
        claimed_until = ${claimEnd(tx)},
        counted_at = case when j.verdict is null then ${fenced_at}::timestamptz end,
        gated_at = case when j.verdict is null then ${gate.now}::timestamptz else m.gated_at end,
        attempts = m.attempts + 1, retry_at = case when j.is_deferred then j.quiet_until end,
        give_up_at = case when j.is_deferred then j.quiet_until + interval '24 hours' else m.give_up_at end,
        provider_code = null, provider_message = null, changed_xid = pg_current_xact_id()
      from decided j
      -- Joins by the ctid of the locked row: no index is read again, and the planner cannot choose a wrong one.
      where m.ctid = j.ctid and (j.verdict is not null or (j.turn = 1 and j.is_zone_known))
      returning m.*
    )
    select w.send_id, w.status, w.error_code, w.journey_run_id, w.template_id, w.recipient, w.attempts, w.context,
      coalesce(w.give_up_at, w.enqueued_at + interval '24 hours') as give_up_at,
      p.*, w.player_id
    from written w
    left join lateral (
      select ${scopeColumns(tx)} from players p ${withTotals(tx)}
      where p.tenant_id = w.tenant_id and p.project_id = w.project_id and p.player_id = w.player_id offset 0
    ) p on w.status = 'sending'`;
}

/** A template with the fields that rendering needs. */
export interface SourceTemplate {
  template_id: string;
  channel: Channel;
  subject: string | null;
  preheader: string | null;
  body: string;
  data: Record<string, string>;
  updated_at: Date;
}

/** The templates of these ids, deleted ones too: the claim has checked them. */
export async function selectSources(
  sql: Tx,
  { tenant_id, project_id }: Pick<SendQueue, 'tenant_id' | 'project_id'>,
  template_ids: readonly string[],
): Promise<SourceTemplate[]> {
  return sql<SourceTemplate[]>`
    select template_id, channel, subject, preheader, body, data, updated_at from templates
    where tenant_id = ${tenant_id} and project_id = ${project_id}
      and template_id = any(${plainArray(template_ids)}::text::uuid[])`;
}

/** One attempt to send a message. Each claim of a row counts one, and nothing counts back: the number names the claim. */
export interface Attempt {
  send_id: string;
  attempts: number;
}

/** The result of an attempt to send a message. */
export interface SendResultRow extends Attempt {
  status: 'sent' | 'queued' | 'failed';
  error_code: string | null;
  provider_message_id: string | null;
  /** The provider's own code and text of a failure. */
  provider_code: string | null;
  provider_message: string | null;
  retry_at: Date | null;
  /** Why the provider's refusal suppresses the address; null: it does not. */
  suppresses: Suppression | null;
  /** Whether the message may have gone out, and so counts for the frequency caps. */
  counts: boolean;
}

/**
 * Writes the results of attempts. A result changes only a row that is still of its claim, so writing it again changes
 * nothing, also when the message was claimed anew in between. A callback may have arrived first; then its status stays,
 * because it is further. The result replaces OUTCOME_UNKNOWN of a message that was given up meanwhile.
 */
export async function recordResults(
  tx: Tx,
  { tenant_id, project_id }: Pick<SendQueue, 'tenant_id' | 'project_id'>,
  results: readonly SendResultRow[],
  now: Date,
): Promise<void> {
  if (results.length === 0) return;
  const given = rowsOf(tx, 'g', results, {
    send_id: 'uuid',
    attempts: 'integer',
    status: 'text',
    error_code: 'text',
    provider_message_id: 'text',
    provider_code: 'text',
    provider_message: 'text',
    retry_ms: ['bigint', (r) => r.retry_at?.getTime() ?? null],
    counts: 'boolean',
    suppresses: 'text',
  });
  // The row is of the claim while it has its attempt and is not queued again. A callback and giving up make no new attempt.
  const found = tx`
    select o.ctid, o.status, o.error_code, o.channel, o.recipient from message_sends o
    where o.tenant_id = ${tenant_id} and o.project_id = ${project_id} and o.send_id = g.send_id
      and o.attempts = g.attempts and o.status <> 'queued' offset 0`;
  // The first statement locks the rows in order of send_id, as claims and merges do, which avoids deadlocks. The next
  // one sees the changes of other transactions, and finds the rows by their ctid, which cannot change any more.
  const locked = tx`
    select from (select * from ${given} order by g.send_id) g cross join lateral (${found} for update) o`;
  const written = tx`
    update message_sends m set
      status = case when is_open then r.status else m.status end,
      error_code = case when is_open then r.error_code else m.error_code end,
      provider_message_id = coalesce(r.provider_message_id, m.provider_message_id),
      provider_code = case when is_open then r.provider_code else m.provider_code end,
      provider_message = case when is_open then r.provider_message else m.provider_message end,
      sent_at = case when r.status = 'sent' then coalesce(m.sent_at, ${now}) else m.sent_at end,
      counted_at = case when r.counts or not is_open then m.counted_at end,
      retry_at = case when is_open then r.retry_at end,
      changed_xid = pg_current_xact_id()
    from (
      select g.status, g.error_code, g.provider_message_id, g.provider_code, g.provider_message, g.counts, o.ctid,
        'epoch'::timestamptz + g.retry_ms * interval '1 millisecond' as retry_at,
        o.status = 'sending' or (o.status = 'failed' and o.error_code = 'OUTCOME_UNKNOWN') as is_open
      from ${given} cross join lateral (${found}) o
    ) r
    where m.ctid = r.ctid`;
  // Before the results are written, which ends the claim.
  const suppressing = tx`
    select o.channel, suppressed_address(o.recipient) as address, g.suppresses as reason, g.provider_code as detail,
      ${now}::timestamptz as at
    from ${given} cross join lateral (${found}) o
    where g.suppresses is not null and suppressed_address(o.recipient) <> ''`;
  const renewed = renewUnsubscriptionsSql(
    tx,
    tx`${tenant_id}::uuid`,
    tx`select * from (${suppressing}) s where s.reason = 'unsubscribe'`,
  );
  const suppressed = tx`
    insert into suppressions (tenant_id, channel, address, reason, detail, created_at)
    select distinct on (s.channel, s.address) ${tenant_id}::uuid, s.channel, s.address, s.reason, s.detail, s.at
    from (${suppressing}) s
    order by s.channel, s.address, s.reason desc
    on conflict do nothing`;
  const has_any = results.some(({ suppresses }) => suppresses !== null);
  await Promise.all([locked, ...(has_any ? [renewed, suppressed] : []), written]);
}

/** Until when a message is claimed that is claimed now, by the clock of Postgres. Most deliveries end before. */
function claimEnd(sql: Tx): PendingQuery<Row[]> {
  return sql`now() + interval '30 seconds'`;
}

/** Messages per statement of {@link extendClaims}. */
const MAX_EXTENDED = 1_000;

/**
 * Extends the claims of messages that are being delivered to 30 s from now. It writes only those of which less than 15 s
 * are left, and waits for no row that is locked: the next call, some seconds later, extends its claim.
 */
export async function extendClaims(sql: Tx, delivering: readonly (ProjectRef & Attempt)[]): Promise<void> {
  for (let from = 0; from < delivering.length; from += MAX_EXTENDED) {
    const columns = { ...PROJECT_KEY, send_id: 'uuid', attempts: 'integer' } as const;
    const given = rowsOf(sql, 'g', delivering.slice(from, from + MAX_EXTENDED), columns);
    await sql`
      with ending as materialized (
        select o.ctid from ${given} cross join lateral (
          select m.ctid from message_sends m
          where m.tenant_id = g.tenant_id and m.project_id = g.project_id and m.send_id = g.send_id
            and m.attempts = g.attempts and m.status = 'sending' and m.claimed_until < now() + interval '15 seconds'
          for update skip locked) o
      )
      update message_sends m set claimed_until = ${claimEnd(sql)} from ending where m.ctid = ending.ctid`;
  }
}

/**
 * Gives up messages that are `sending` although their claim has passed, because their messenger died, with
 * OUTCOME_UNKNOWN. They may have gone out, so they are never sent again and still count for the frequency caps. Returns
 * how many.
 */
export async function giveUpAbandoned(sql: Tx): Promise<number> {
  const { count } = await sql`
    with abandoned as materialized (
      select o.ctid from message_sends o
      where o.status = 'sending' and coalesce(o.claimed_until, '-infinity') <= now()
      for update skip locked
    )
    update message_sends m
    set status = 'failed', error_code = 'OUTCOME_UNKNOWN', provider_code = null, provider_message = null,
      changed_xid = pg_current_xact_id()
    from abandoned
    where m.ctid = abandoned.ctid`;
  return count;
}
