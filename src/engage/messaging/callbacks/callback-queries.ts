import type { PendingQuery, Row } from 'postgres';
import { plainArray } from '../../../platform/postgres/arrays.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import { rowsOf } from '../../../platform/postgres/rows.ts';
import { SEND_STATUSES, type SendStatus } from '../../../analytics/message-status.ts';
import { renewUnsubscriptionsSql } from '../suppression-queries.ts';
import type { Fault } from '../../providers/message.ts';

type Fragment = PendingQuery<Row[]>;

/** The statuses that a provider can report of a message. */
export type Step = Extract<SendStatus, 'sent' | 'delivered' | 'opened' | 'clicked' | 'bounced' | 'failed'>;

/** Why an address is suppressed. */
export type SuppressionReason = 'bounce' | 'complaint' | 'unsubscribe';

/** One report of a provider. Its message is found by `send_id`, or else by `provider_message_id`. */
export interface Callback {
  send_id: string | null;
  provider_message_id: string | null;
  /** The recipient in lower case; null: the report has none, and provider_message_id alone identifies the message. */
  address: string | null;
  /** Null: the report does not change the message's status. */
  step: Step | null;
  suppression: SuppressionReason | null;
  /** The owner of the address wants messages again: an unsubscription from before is lifted. */
  lifts: boolean;
  /** A mail program fetched the message by itself: it was delivered, but no person opened it. */
  is_machine_open: boolean;
  /** The provider's code and text of a bounce or failure. */
  fault: Fault | null;
  at_ms: number;
}

/** What a player answered to a text message: that there shall be no more, or that messages are welcome again. */
export interface Reply {
  /** The player's number. */
  from: string;
  wants_messages: boolean;
  /** The provider's id of the reply. */
  message_id: string;
}

/** A report of the app on a player's device about a push to that player. */
export interface Receipt {
  project_id: string;
  player_id: string;
  send_id: string;
  step: Extract<Step, 'opened' | 'clicked'>;
  at_ms: number;
}

/** A provider with the fields that checking a signature needs. */
export interface CallbackProvider {
  tenant_id: string;
  provider_id: string;
  kind: string;
  config: Record<string, unknown>;
  credentials: Buffer | null;
}

/** The provider of any tenant: the id in the URL identifies the tenant, and the signature authenticates it. */
export async function findCallbackProvider(
  sql: Tx,
  provider_id: string,
): Promise<CallbackProvider | undefined> {
  const rows = await sql<CallbackProvider[]>`
    select tenant_id, provider_id, kind, config, credentials
    from messaging_providers
    where provider_id = ${provider_id} and deleted_at is null`;
  return rows[0];
}

/**
 * Writes callbacks of a provider to the messages that were handed to it. A complaint or an unsubscription suppresses
 * its address even when the message is unknown. Returns how many messages changed or got their address suppressed, plus
 * the newly suppressed addresses of unknown messages.
 */
export async function applyCallbacks(
  tx: Tx,
  provider: { tenant_id: string; provider_id: string },
  callbacks: readonly Callback[],
  now: Date,
): Promise<number> {
  return apply(tx, provider, foundOf(tx, provider, callbacks), now);
}

/** Writes receipts from players' devices to the pushes of these players; returns how many messages changed. */
export async function applyReceipts(
  tx: Tx,
  tenant_id: string,
  receipts: readonly Receipt[],
  now: Date,
): Promise<number> {
  return apply(tx, { tenant_id, provider_id: null }, receivedOf(tx, tenant_id, receipts), now);
}

/**
 * Applies the reports in `found`. A row gets the earliest time of each stage and the furthest status, so neither order
 * nor duplicates matter; a later stage implies the earlier ones: an opened message was delivered. A reported time
 * before the message was claimed is replaced by the time of the claim; in a row without that time, the earliest
 * reported time becomes the time of the claim. Failed rows change only if their message may have gone out after all. A
 * report that adds nothing does not touch the row.
 */
async function apply(
  tx: Tx,
  { tenant_id, provider_id }: { tenant_id: string; provider_id: string | null },
  found: Fragment,
  now: Date,
): Promise<number> {
  const mayBeOut = tx`s.status = 'failed' and s.error_code in ('OUTCOME_UNKNOWN', 'PROVIDER_UNAVAILABLE')`;
  const rank = tx`case when ${mayBeOut} then ${rankOf(tx, tx`'sending'`)} else ${rankOf(tx, tx`s.status`)} end`;
  const isFurther = tx`t.rank > ${rank}`;
  // The message of a person who was forgotten has no recipient: what names the person does not come back.
  const isNamed = tx`s.recipient is not null`;
  // Each access passes all its keys in one array, so nested loops and merge joins are turned off. With statistics from
  // when the table was small the planner may choose a lookup per key, and read all messages of a project 1,000 times.
  const settled = tx`
    select set_config('enable_nestloop', 'off', true), set_config('enable_mergejoin', 'off', true)`;
  const written = tx<{ applied: number }[]>`
    with ${found}, ${reportedOf(tx)}, changed as (
      update message_sends s set
        status = case when ${isFurther} then t.step else s.status end,
        error_code = case
          when not ${isFurther} then s.error_code
          when t.step = 'failed' then 'DELIVERY_FAILED' end,
        provider_code = case when ${isFurther} then t.code else s.provider_code end,
        provider_message = case when ${isFurther} then case when ${isNamed} then t.message end else s.provider_message end,
        provider_id = coalesce(s.provider_id, ${provider_id}::uuid),
        provider_message_id = coalesce(s.provider_message_id, case when ${isNamed} then t.message_id end),
        counted_at = coalesce(s.counted_at, t.sent_at),
        sent_at = coalesce(s.sent_at, t.sent_at),
        delivered_at = least(s.delivered_at, t.delivered_at),
        opened_at = least(s.opened_at, t.opened_at),
        machine_opened_at = least(s.machine_opened_at, t.machine_opened_at),
        clicked_at = least(s.clicked_at, t.clicked_at),
        bounced_at = least(s.bounced_at, t.bounced_at),
        retry_at = null,
        changed_xid = pg_current_xact_id()
      from reported t
      where s.tenant_id = ${tenant_id} and s.project_id = t.project_id and s.send_id = t.send_id
        and s.project_id = any(array(select project_id from reported)) and s.send_id = any(array(select send_id from reported))
        and t.rank is not null
        and (${isFurther}
          or (s.sent_at is null and t.sent_at is not null)
          or least(s.delivered_at, t.delivered_at) is distinct from s.delivered_at
          or least(s.opened_at, t.opened_at) is distinct from s.opened_at
          or least(s.machine_opened_at, t.machine_opened_at) is distinct from s.machine_opened_at
          or least(s.clicked_at, t.clicked_at) is distinct from s.clicked_at
          or least(s.bounced_at, t.bounced_at) is distinct from s.bounced_at)
      returning s.send_id
    ), ${suppressedOf(tx, tenant_id, now)}
    select count(*)::integer as applied from (
      select send_id::text as what from changed
      union
      select coalesce(a.send_id::text, a.address) from to_suppress a join suppressed using (channel, address)
    ) a`;
  const [, rows] = await Promise.all([settled, written]);
  return rows[0]?.applied ?? 0;
}

/**
 * CTEs `to_suppress`: the addresses that reports suppress; `renewed`: unsubscriptions that were there, and count from the last
 * one on, so that a resubscription before it that is reported late lifts nothing; `suppressed`: the addresses that were not
 * suppressed before.
 */
function suppressedOf(tx: Tx, tenant_id: string, now: Date): Fragment {
  const unsubscribed = tx`select channel, address, at from to_suppress where reason = 'unsubscribe'`;
  return tx`to_suppress as (
      select r.*, suppressed_address(r.reported) as address
      from (
        select send_id, channel, recipient as reported, reason, reason_at as at from reported where reason is not null
        union all
        select null, 'email', address, reason, at
        from given
        where reason in ('complaint', 'unsubscribe') and address like '%_@_%'
          and n not in (select n from found where recipient is not null)) r
      where suppressed_address(r.reported) <> ''
    ), renewed as (
      ${renewUnsubscriptionsSql(tx, tx`${tenant_id}::uuid`, unsubscribed)} returning x.suppression_id
    ), suppressed as (
      insert into suppressions (tenant_id, channel, address, reason, created_at)
      select distinct on (channel, address) ${tenant_id}::uuid, channel, address, reason,
        case when reason = 'unsubscribe' then at else ${now}::timestamptz end
      from to_suppress
      -- What is counted first runs first.
      where (select count(*) from renewed) >= 0
      order by channel, address, reason, at desc
      on conflict do nothing
      returning channel, address
    )`;
}

/** The rank of a status: its position in SEND_STATUSES. */
function rankOf(tx: Tx, status: Fragment): Fragment {
  return tx`array_position(${plainArray(SEND_STATUSES)}::text::text[], ${status})`;
}

/** Whether a message `s` may have gone out, so that a provider or device can report on it. */
function mayBeReported(tx: Tx): Fragment {
  return tx`(s.status <> 'capped' and (s.error_code is null
    or s.error_code in ('OUTCOME_UNKNOWN', 'PROVIDER_UNAVAILABLE', 'DELIVERY_FAILED')))`;
}

/**
 * The columns of `found` for a message `s`. No reported time may be before `not_before`, even if the reporter's clock
 * says so: the later of the row's creation and, if recorded, its claim.
 */
function itsColumns(tx: Tx): Fragment {
  return tx`s.project_id, s.send_id, s.channel, lower(s.recipient) as recipient,
        greatest(s.enqueued_at, s.counted_at) as not_before`;
}

/** CTEs `given`: the provider's callbacks, numbered; `found`: the messages that they are about. */
function foundOf(
  tx: Tx,
  { tenant_id, provider_id }: { tenant_id: string; provider_id: string },
  c: readonly Callback[],
): Fragment {
  return tx`given as (
      select n, send_id, message_id, address, step, reason, is_machine, code, message,
        'epoch'::timestamptz + at_ms * interval '1 millisecond' as at
      from ${rowsOf(tx, 'g', c, {
        send_id: 'uuid',
        message_id: ['text', (r) => r.provider_message_id],
        address: 'text',
        step: 'text',
        reason: ['text', (r) => r.suppression],
        is_machine: ['boolean', (r) => r.is_machine_open],
        at_ms: 'bigint',
        code: ['text', (r) => r.fault?.code ?? null],
        message: ['text', (r) => r.fault?.text ?? null],
        n: 'ordinality',
      })}
    ), by_our_id as (
      select g.n, ${itsColumns(tx)}
      from given g
      join message_sends s on s.send_id = g.send_id
      where s.tenant_id = ${tenant_id}
        and s.project_id = any(array(select project_id from projects where tenant_id = ${tenant_id}))
        and s.send_id = any(array(select send_id from given where send_id is not null))
        and (s.provider_id = ${provider_id} or s.provider_id is null) and ${mayBeReported(tx)}
    ), by_their_id as (
      select g.n, ${itsColumns(tx)}
      from given g
      join message_sends s on s.provider_message_id = g.message_id
      where s.tenant_id = ${tenant_id} and s.provider_id = ${provider_id}
        and s.provider_message_id = any(array(select message_id from given where message_id is not null))
        and g.n not in (select n from by_our_id) and (g.address is null or g.address = lower(s.recipient))
        and ${mayBeReported(tx)}
    ), found as (
      select * from by_our_id union all select * from by_their_id
    )`;
}

/** CTEs `given`: the devices' receipts, numbered; `found`: the pushes that they are about. */
function receivedOf(tx: Tx, tenant_id: string, r: readonly Receipt[]): Fragment {
  return tx`given as (
      select n, project_id, player_id, send_id, null::text as message_id, null::text as address, step,
        null::text as reason, false as is_machine, null::text as code, null::text as message, 'epoch'::timestamptz + at_ms * interval '1 millisecond' as at
      from ${rowsOf(tx, 'g', r, {
        project_id: 'uuid',
        player_id: 'uuid',
        send_id: 'uuid',
        step: 'text',
        at_ms: 'bigint',
        n: 'ordinality',
      })}
    ), found as (
      select g.n, ${itsColumns(tx)}
      from given g
      join message_sends s on s.project_id = g.project_id and s.send_id = g.send_id and s.player_id = g.player_id
      where s.tenant_id = ${tenant_id} and s.project_id = any(array(select project_id from given))
        and s.send_id = any(array(select send_id from given)) and s.channel = 'push' and ${mayBeReported(tx)}
    )`;
}

/** CTE `reported`: the reports on each message in `found`, combined into one row. */
function reportedOf(tx: Tx): Fragment {
  const rank = rankOf(tx, tx`g.step`);
  return tx`reported as (
      select m.project_id, m.send_id, m.channel, m.recipient, min(g.message_id) as message_id, min(g.reason) as reason,
        max(c.at) filter (where g.reason is not null) as reason_at,
        max(${rank}) as rank,
        (array_agg(g.step order by ${rank} desc nulls last))[1] as step,
        (array_agg(g.code order by ${rank} desc nulls last))[1] as code,
        (array_agg(g.message order by ${rank} desc nulls last))[1] as message,
        min(c.at) filter (where g.step <> 'failed') as sent_at,
        min(c.at) filter (where g.step in ('delivered', 'opened', 'clicked')) as delivered_at,
        min(c.at) filter (where g.step in ('opened', 'clicked')) as opened_at,
        min(c.at) filter (where g.is_machine) as machine_opened_at,
        min(c.at) filter (where g.step = 'clicked') as clicked_at,
        min(c.at) filter (where g.step = 'bounced') as bounced_at
      from found m
      join given g using (n)
      cross join lateral (select greatest(g.at, m.not_before) as at) c
      group by m.project_id, m.send_id, m.channel, m.recipient
    )`;
}

/** Notes a reply to a provider's messages; false when it was noted before. */
export async function insertReply(
  tx: Tx,
  { tenant_id, provider_id }: { tenant_id: string; provider_id: string },
  { message_id, wants_messages }: Reply,
  now: Date,
): Promise<boolean> {
  const { count } = await tx`
    insert into sms_replies (tenant_id, provider_id, message_id, wants_messages, received_at)
    values (${tenant_id}, ${provider_id}, ${message_id}, ${wants_messages}, ${now})
    on conflict do nothing`;
  return count > 0;
}
