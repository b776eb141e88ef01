import type { TestService } from '../test/engines/service.ts';
import type { CampaignRef } from '../src/engage/campaigns/queries.ts';
import type { Db } from '../src/platform/postgres/port.ts';
import type { ProjectRef } from '../src/tenants/project-ref.ts';

/** Inserts a deposit within a day after the message for a tenth of the campaign's recipients. */
export async function insertGoals(
  { platform, tenant_id, project_id }: TestService,
  campaign_id: string,
): Promise<void> {
  await platform.clickhouse.command(
    `insert into events (tenant_id, project_id, event, player_id, occurred_at, received_at, ingestion_id, event_index,
      base_amount, properties, revision)
    select tenant_id, project_id, 'deposit_confirmed', player_id, assumeNotNull(sent_at) + toIntervalHour(cityHash64(player_id) % 24),
      now64(3), generateUUIDv4(), 0, cityHash64(player_id) % 20000, '{}', 1
    from campaign_sends final
    where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}
      and assumeNotNull(campaign_id) = {campaign_id:UUID} and cityHash64(player_id, 1) % 10 = 0`,
    { tenant_id, project_id, campaign_id },
  );
}

/** The funnel as it is without kept counts. */
export async function recountByHand(
  sql: Db,
  { tenant_id, project_id, campaign_id }: CampaignRef,
): Promise<void> {
  await sql`
    select count(*) as recipients_total,
      count(*) filter (where sent_at is not null
        or status in ('sent', 'delivered', 'opened', 'clicked', 'bounced')) as sent,
      count(*) filter (where delivered_at is not null or opened_at is not null or clicked_at is not null
        or status in ('delivered', 'opened', 'clicked')) as delivered,
      count(*) filter (where opened_at is not null or clicked_at is not null
        or status in ('opened', 'clicked')) as opened,
      count(*) filter (where clicked_at is not null or status = 'clicked') as clicked,
      count(*) filter (where bounced_at is not null or status = 'bounced') as bounced,
      count(*) filter (where status = 'failed') as failed, count(*) filter (where status = 'capped') as capped
    from message_sends
    where tenant_id = ${tenant_id} and project_id = ${project_id} and campaign_id = ${campaign_id}`;
}

/** Ids of messages of the campaign, in so many parts of about a thousand each. */
export async function drawMessages(
  sql: Db,
  { tenant_id, project_id }: ProjectRef,
  campaign_id: string,
  parts: number,
): Promise<string[][]> {
  const rows = await sql<{ send_ids: string[] }[]>`
    select array_agg(send_id::text) as send_ids from (
      select send_id, row_number() over () % ${parts} as part from (
        select send_id from message_sends
        where tenant_id = ${tenant_id} and project_id = ${project_id} and campaign_id = ${campaign_id}
        order by random() limit ${parts * 1_000}) d) s
    group by part`;
  return rows.map(({ send_ids }) => send_ids);
}

/** Changes these messages, a statement for each part, as a provider's reports do; returns how many messages. */
export async function reportClicks(
  sql: Db,
  { tenant_id, project_id }: ProjectRef,
  parts: readonly (readonly string[])[],
): Promise<number> {
  let messages = 0;
  for (const part of parts) {
    const { count } = await sql`
      update message_sends set status = 'clicked', clicked_at = clock_timestamp(), changed_xid = pg_current_xact_id()
      where tenant_id = ${tenant_id} and project_id = ${project_id} and send_id = any(${[...part]}::text[]::uuid[])`;
    messages += count;
  }
  return messages;
}

/** Whether changes of messages are counted. */
export async function setCounting(sql: Db, is_counted: boolean): Promise<void> {
  await sql.unsafe(
    `alter table message_sends ${is_counted ? 'enable' : 'disable'} trigger campaign_messages_changed`,
  );
}
