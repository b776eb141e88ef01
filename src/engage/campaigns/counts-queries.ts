import type { PendingQuery } from 'postgres';
import type { FailureCode, SkipCode } from '../messaging/send-row.ts';
import { NIL_ID } from '../../platform/ids.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import type { CampaignRef } from './queries.ts';

/** The stages of messages that have a time, in the order in which they are reached. */
export const STAGES = ['sent', 'delivered', 'opened', 'clicked'] as const;
export type Stage = (typeof STAGES)[number];

/**
 * What messages of a campaign are counted as. Each counts for every stage that it has reached; a later one implies the
 * earlier ones, because a callback can be lost. `machine_opened`: fetched by a mail program by itself. `failed` includes
 * skipped messages, except those that a frequency cap skipped: `capped`.
 */
export const COUNTERS = ['recipients_total', ...STAGES, 'bounced', 'failed', 'capped'] as const;
export type Counted = (typeof COUNTERS)[number] | 'machine_opened' | SkipCode | FailureCode;

/** The rows of the campaign's counts. */
function countsOf(tx: Tx, { tenant_id, project_id, campaign_id }: CampaignRef) {
  return tx`from campaign_counts
    where tenant_id = ${tenant_id} and project_id = ${project_id} and campaign_id = ${campaign_id}`;
}

/** How many messages of the campaign are counted as what, without what none is counted as. */
export function selectCounts(
  tx: Tx,
  ref: CampaignRef,
): PendingQuery<{ counted: Counted; messages: bigint }[]> {
  return tx<{ counted: Counted; messages: bigint }[]>`
    select counted, sum(messages) as messages ${countsOf(tx, ref)} group by counted having sum(messages) > 0`;
}

/** How many messages reached a stage in an interval, which begins `at_ms` after the epoch. */
export interface StageCount {
  at_ms: bigint;
  stage: Stage;
  messages: bigint;
}

/** Counts messages by the interval in which they reached each stage, without those in which none did. */
export function selectStagesByTime(tx: Tx, ref: CampaignRef, interval_s: number): PendingQuery<StageCount[]> {
  return tx<StageCount[]>`
    select epoch_ms(date_bin(make_interval(secs => ${interval_s}), at, 'epoch')) as at_ms, counted as stage,
      sum(messages) as messages
    ${countsOf(tx, ref)} and counted = any(${[...STAGES]}) and at > '-infinity'
    group by 1, 2 having sum(messages) > 0`;
}

/** What a count lacks; `at` null: the time is not known, or not counted. */
export interface MissingCount {
  counted: string;
  variant_id: string;
  at: Date | null;
  messages: number;
}

/**
 * What the campaign's counts lack of all its messages; nothing once it is counted. It reads the messages. Both are read at
 * one moment, and what changes later is counted by itself, so the difference may be added at any time, once.
 */
export function selectMissing(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: CampaignRef,
): PendingQuery<MissingCount[]> {
  return tx<MissingCount[]>`
    select counted, variant_id, nullif(at, '-infinity') as at, sum(messages)::integer as messages
    from (
      select c.counted, coalesce(s.variant_id, ${NIL_ID}) as variant_id, c.at, s.messages
      from (
        select variant_id, status, error_code, quarter_of(sent_at) as sent, quarter_of(delivered_at) as delivered,
          quarter_of(opened_at) as opened, quarter_of(clicked_at) as clicked,
          machine_opened_at is not null as is_machine_opened, bounced_at is not null as is_bounced, count(*) as messages
        from message_sends
        where tenant_id = ${tenant_id} and project_id = ${project_id} and campaign_id = ${campaign_id}
        group by 1, 2, 3, 4, 5, 6, 7, 8, 9
      ) s
      cross join lateral counted_as(s.status, s.error_code, s.sent, s.delivered, s.opened, s.clicked,
        s.is_machine_opened, s.is_bounced) c
      union all
      select counted, variant_id, at, -messages ${countsOf(tx, { tenant_id, project_id, campaign_id })}
    ) d
    group by 1, 2, 3 having sum(messages) <> 0`;
}

/** Adds to the counts of the campaign what they lack, unless that was done before. */
export async function addMissing(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: CampaignRef,
  missing: readonly MissingCount[],
): Promise<void> {
  const { count } = await tx`
    update campaigns set is_counted = true
    where tenant_id = ${tenant_id} and project_id = ${project_id} and campaign_id = ${campaign_id} and not is_counted`;
  if (count === 0) return;
  await tx`
    insert into campaign_counts (tenant_id, project_id, campaign_id, counted, variant_id, at, messages)
    select ${tenant_id}, ${project_id}, ${campaign_id}, counted, variant_id, coalesce(at, '-infinity'), messages
    from ${rowsOf(tx, 'm', missing, { counted: 'text', variant_id: 'uuid', at: 'timestamptz', messages: 'integer' })}`;
}
