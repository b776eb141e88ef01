import type { ClickHouse } from '../src/platform/clickhouse/port.ts';
import type { ProjectRef } from '../src/tenants/project-ref.ts';

const PLAYER_ID = (n: string) => `toUUID(lower(hex(MD5(toString(${n})))))`;

/** Inserts messages of a campaign, half of each variant, sent within an hour from 10 days ago on. */
export async function seedSends(
  clickhouse: ClickHouse,
  project: ProjectRef,
  campaign_id: string,
  variants: readonly [string, string],
  count: number,
): Promise<void> {
  await clickhouse.command(
    `insert into message_sends (tenant_id, project_id, player_id, send_id, campaign_id, variant_id, channel, status,
      enqueued_at, sent_at, revision)
    select {tenant_id:UUID}, {project_id:UUID}, ${PLAYER_ID('number + 1')}, ${PLAYER_ID("concat('send', toString(number))")},
      {campaign_id:UUID}, if(number % 2 = 0, {a:UUID}, {b:UUID}), 'email', 'sent',
      now64(3) - toIntervalDay(10) as at, at + toIntervalMillisecond(number % 3600000), 1
    from numbers({count:UInt64})`,
    { ...project, campaign_id, a: variants[0], b: variants[1], count },
  );
  for (const table of ['message_sends', 'campaign_sends'])
    await clickhouse.command(`optimize table ${table} final`);
}

/** The same query as an expert would write it by hand: join, filter, take the first event of each message. */
export async function askExpert(
  clickhouse: ClickHouse,
  project: ProjectRef,
  campaign_id: string,
  goal: { event: string; window_ms: number },
): Promise<{ variant_id: string; recipients: string; conversions: string; value: string }[]> {
  return clickhouse.query(
    `select variant_id, toString(count()) as recipients, toString(countIf(converted)) as conversions,
      toString(sumIf(worth, converted)) as value
    from (
      select send_id, any(variant_id) as variant_id, countIf(hit) > 0 as converted,
        argMinIf(toInt128(ifNull(base_amount, 0)), (occurred_at, ingestion_id, event_index), hit) as worth
      from (
        select s.send_id as send_id, s.variant_id as variant_id, e.occurred_at as occurred_at,
          e.ingestion_id as ingestion_id, e.event_index as event_index, e.base_amount as base_amount,
          e.occurred_at >= s.sent_at and e.occurred_at < s.sent_at + toIntervalMillisecond({window_ms:Int64}) as hit
        from (
        select send_id, player_id, assumeNotNull(variant_id) as variant_id, assumeNotNull(sent_at) as sent_at
        from campaign_sends final
        where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and assumeNotNull(campaign_id) = {campaign_id:UUID}
          and sent_at is not null
      ) s
      left join (
        select player_id, occurred_at, ingestion_id, event_index, base_amount from events final
        where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and event = {event:String}
          and occurred_at >= now64(3) - toIntervalDay(10) - toIntervalHour(1)
          and occurred_at < now64(3) - toIntervalDay(10) + toIntervalHour(2) + toIntervalMillisecond({window_ms:Int64})
        ) e on e.player_id = s.player_id
      )
      group by send_id
    )
    group by variant_id`,
    { ...project, campaign_id, ...goal },
  );
}
