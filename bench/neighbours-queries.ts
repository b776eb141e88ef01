import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from '../src/platform/postgres/port.ts';
import type { ProjectRef } from '../src/tenants/project-ref.ts';

/** Tables that requests and processors use. Each is locked in its turn. */
export const LOCKED_TABLES = ['players', 'player_totals', 'segment_members', 'message_sends'] as const;

/** Locks the table against every reader and writer for `held_ms`, once those before it have ended. */
export async function holdTable(
  sql: Db,
  table: (typeof LOCKED_TABLES)[number],
  held_ms: number,
): Promise<void> {
  await sql.begin(async (tx) => {
    await tx.unsafe(`lock table ${table} in access exclusive mode`);
    await sleep(held_ms);
  });
}

/** The messages of a campaign: the player, and when its message was handed to the provider; null until then. */
export function selectHandOvers(
  sql: Db,
  campaign_id: string,
): Promise<{ player_id: string; sent_at: Date | null }[]> {
  return sql<{ player_id: string; sent_at: Date | null }[]>`
    select player_id, sent_at from message_sends where campaign_id = ${campaign_id}`;
}

/** How many events of the embedded log the fold has not applied yet. */
export async function countUnfolded(sql: Db): Promise<number> {
  const [row] = await sql<{ waiting: number }[]>`
    select (coalesce((select max(log_offset) + 1 from event_log.records
      where topic_id = (select topic_id from event_log.topics where topic = 'events') and partition = 0), 0)
      - (select coalesce(sum(next_offset), 0) from fold_positions where topic = 'events'))::integer as waiting`;
  return row?.waiting ?? 0;
}

/** Makes every player of the project a member of the segment. */
export async function makeAllMembers(sql: Db, project: ProjectRef, segment_id: string): Promise<void> {
  const { tenant_id, project_id } = project;
  await sql`
    insert into segment_members (tenant_id, project_id, segment_id, player_id, entered_at)
    select tenant_id, project_id, ${segment_id}::uuid, player_id, now() from players
    where tenant_id = ${tenant_id} and project_id = ${project_id}`;
}
