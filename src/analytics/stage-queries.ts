import { readMirrorPosition } from './mirror-queries.ts';
import { SENDS_MIRROR } from './mirrors.ts';
import type { Backlog } from '../platform/backlog-gauge.ts';
import type { Tx } from '../platform/postgres/port.ts';
import { rowsOf } from '../platform/postgres/rows.ts';
import { PROJECT_KEY, type ProjectRef } from '../tenants/project-ref.ts';
import type { WorkQuery } from '../platform/postgres/work-watch.ts';
import type { Channel } from '../tenants/config/channels.ts';

/** A stage of a message whose event is to be on the log. */
export interface ReachedStage extends ProjectRef {
  stage_id: bigint;
  send_id: string;
  stage: 'sent' | 'opened' | 'clicked' | 'bounced';
  reached_at: Date;
  /** Null: the message does not exist any more. */
  message: StageMessage | null;
}

/** What an event says about the message of a stage, as the message is now. */
export interface StageMessage {
  player_id: string;
  channel: Channel;
  campaign_id: string | null;
  journey_id: string | null;
  journey_run_id: string | null;
  variant_id: string | null;
  template_id: string | null;
}

/**
 * The oldest stages that wait, of those messages that are in ClickHouse as they are now: a journey that an event wakes asks
 * ClickHouse what became of the message.
 */
export async function selectReachedStages(sql: Tx, limit: number): Promise<ReachedStage[]> {
  const { changed_xid, row_id } = await readMirrorPosition(sql, SENDS_MIRROR);
  return sql<ReachedStage[]>`
    select s.tenant_id, s.project_id, s.stage_id, s.send_id, s.stage, s.reached_at, m.message
    from (select * from message_stages order by stage_id limit ${limit}) s
    left join lateral (
      select m.changed_xid, jsonb_build_object('player_id', m.player_id, 'channel', m.channel,
        'campaign_id', m.campaign_id, 'journey_id', m.journey_id, 'journey_run_id', m.journey_run_id,
        'variant_id', m.variant_id, 'template_id', m.template_id) as message
      from message_sends m
      where m.tenant_id = s.tenant_id and m.project_id = s.project_id and m.send_id = s.send_id offset 0) m on true
    where m.changed_xid is null or (m.changed_xid, s.send_id) <= (${changed_xid}::text::xid8, ${row_id}::uuid)
    order by s.stage_id`;
}

/** Returns a row while a stage waits. */
export const reachedStagesWork: WorkQuery = (sql) =>
  sql`select from message_stages order by stage_id limit 1`;

/** Removes stages whose events are on the log. */
export async function deleteStages(tx: Tx, stages: readonly ReachedStage[]): Promise<void> {
  await tx`
    delete from message_stages s
    using ${rowsOf(tx, 'r', stages, { ...PROJECT_KEY, stage_id: 'bigint' })}
    where s.tenant_id = r.tenant_id and s.project_id = r.project_id and s.stage_id = r.stage_id`;
}

/** The newest stage that waits; undefined when none does. */
export async function newestStage(sql: Tx): Promise<bigint | undefined> {
  const [row] = await sql<
    { stage_id: bigint | null }[]
  >`select max(stage_id) as stage_id from message_stages`;
  return row?.stage_id ?? undefined;
}

/** Whether stages up to this one wait. */
export async function waitsUpTo(sql: Tx, stage_id: bigint): Promise<boolean> {
  const rows = await sql`select from message_stages where stage_id <= ${stage_id} order by stage_id limit 1`;
  return rows.length > 0;
}

/** Stages whose events are not on the log yet, for the metrics. */
export async function readStagesToPublish(tx: Tx, most: number): Promise<Backlog> {
  const [row] = await tx<Backlog[]>`
    select count(*)::integer as items, epoch_ms(min(reached_at))::float8 as oldest_ms from (
      select reached_at from message_stages order by stage_id limit ${most}) s`;
  return row ?? { items: 0, oldest_ms: null };
}
