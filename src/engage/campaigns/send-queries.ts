import type { PendingQuery, Row } from 'postgres';
import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Db, Tx } from '../../platform/postgres/port.ts';
import type { WorkQuery } from '../../platform/postgres/work-watch.ts';
import type { CampaignRef } from './queries.ts';

/** The most campaigns that are marked as sent at once. */
const MAX_FINISHED = 1_000;

/** The templates of these ids that exist and are not deleted, and whether each is active. */
export async function selectTemplateStates(
  tx: Tx,
  { tenant_id, project_id }: Pick<CampaignRef, 'tenant_id' | 'project_id'>,
  template_ids: readonly string[],
): Promise<{ template_id: string; name: string; is_active: boolean }[]> {
  return tx<{ template_id: string; name: string; is_active: boolean }[]>`
    select template_id, name, status = 'active' as is_active from templates
    where tenant_id = ${tenant_id} and project_id = ${project_id} and deleted_at is null
      and template_id in ${tx(template_ids)}`;
}

/** Marks the campaign as `sending` through this provider. */
export async function markSending(tx: Tx, ref: CampaignRef, provider_id: string, now: Date): Promise<void> {
  await tx`
    update campaigns
    set status = 'sending', provider_id = ${provider_id}, started_at = ${now}, last_error = null, updated_at = ${now}
    where tenant_id = ${ref.tenant_id} and project_id = ${ref.project_id} and campaign_id = ${ref.campaign_id}`;
}

/** Marks the campaign as `cancelled`. */
export async function markCancelled(tx: Tx, ref: CampaignRef, now: Date): Promise<void> {
  await tx`
    update campaigns set status = 'cancelled', finished_at = ${now}, retry_failed_until = null, updated_at = ${now}
    where tenant_id = ${ref.tenant_id} and project_id = ${ref.project_id} and campaign_id = ${ref.campaign_id}`;
}

/** Makes a due campaign that could not be sent a draft again; `last_error` keeps the reason for its editor. */
export async function markUnsendable(tx: Tx, ref: CampaignRef, message: string, now: Date): Promise<void> {
  await tx`
    update campaigns set status = 'draft', schedule_at = null, last_error = ${message}, updated_at = ${now}
    where tenant_id = ${ref.tenant_id} and project_id = ${ref.project_id} and campaign_id = ${ref.campaign_id}
      and status = 'scheduled' and schedule_at <= ${now}`;
}

/** Scheduled campaigns that are due, except those in `but_not`, the earliest `schedule_at` first. */
export function selectDueCampaigns(
  sql: Tx,
  now: Date,
  but_not: readonly string[],
  limit: number,
): PendingQuery<CampaignRef[]> {
  return sql<CampaignRef[]>`
    select tenant_id, project_id, campaign_id from campaigns
    where status = 'scheduled' and deleted_at is null and schedule_at <= ${now}
      and campaign_id <> all(${plainArray(but_not)}::text::uuid[])
    order by schedule_at limit ${limit}`;
}

/** Whether the campaign `c` has no range left to fan out and no message left to send or to retry. */
function isDone(tx: Tx): PendingQuery<Row[]> {
  return tx`c.status = 'sending' and c.type <> 'triggered' and c.retry_failed_until is null
      and not exists (
        select from member_ranges r
        where r.tenant_id = c.tenant_id and r.project_id = c.project_id and r.owner_id = c.campaign_id offset 0)
      and not exists (
        select from message_sends s
        where s.tenant_id = c.tenant_id and s.project_id = c.project_id
          and coalesce(s.queue_id, s.campaign_id) = c.campaign_id and s.status in ('queued', 'sending') offset 0)`;
}

/** Returns a row while a campaign is due, or is done and still marked as `sending`. */
export const campaignWork: WorkQuery = (sql, now) => sql`
  (select true as is_found from campaigns c where ${isDone(sql)} order by c.campaign_id limit 1)
  union all
  (select true from (${selectDueCampaigns(sql, now, [], 1)}) d)`;

/**
 * Marks campaigns as `sent` that have no range left to fan out and no message left to send or to retry. Triggered campaigns go on
 * until they are cancelled.
 *
 * A statement of its own locks the campaigns first, so that the next one sees messages that a transaction queued
 * meanwhile. Campaigns that are being changed are left for the next time.
 */
export async function finishCampaigns(sql: Db, now: Date): Promise<void> {
  await sql.begin(async (tx) => {
    const locked = await tx<{ campaign_id: string }[]>`
      select c.campaign_id from campaigns c where ${isDone(tx)}
      order by c.campaign_id limit ${MAX_FINISHED} for update skip locked`;
    const ids = plainArray(locked.map(({ campaign_id }) => campaign_id));
    if (locked.length === 0) return;
    await tx`
      update campaigns c set status = 'sent', finished_at = ${now}, updated_at = ${now}
      where c.campaign_id = any(${ids}::text::uuid[]) and ${isDone(tx)}`;
  });
}
