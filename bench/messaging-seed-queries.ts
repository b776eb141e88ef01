import type { Db } from '../src/platform/postgres/port.ts';
import type { ProjectRef } from '../src/tenants/project-ref.ts';

/**
 * Inserts players with an address and one of three time zones or none, all of them in the segment. Their ids are
 * UUIDv7, one second apart, because the ids that the service makes follow time, too.
 */
export async function insertMembers(
  sql: Db,
  { tenant_id, project_id }: ProjectRef,
  segment_id: string,
  count: number,
): Promise<void> {
  await sql`
    insert into players (tenant_id, project_id, player_id, anonymous_ids, email, timezone, default_currency_code,
      created_at, updated_at)
    select ${tenant_id}, ${project_id}, player_id, array['device-' || i], player_id || '@example.com',
      (array['Europe/Malta', 'Europe/London', 'America/New_York', null])[1 + i % 4], 'EUR', now(), now()
    from (
      select i, uuidv7(make_interval(secs => i - ${count}::integer)) as player_id
      from generate_series(1, ${count}::integer) i
    ) ids`;
  await joinAll(sql, { tenant_id, project_id }, segment_id);
}

/** Gives all players of the project an address and one of three time zones or none; all of them are in the segment. */
export async function makeMembers(
  sql: Db,
  { tenant_id, project_id }: ProjectRef,
  segment_id: string,
): Promise<void> {
  await sql`
    update players set email = player_id || '@example.com',
      timezone = (array['Europe/Malta', 'Europe/London', 'America/New_York', null])[1 + get_byte(uuid_send(player_id), 0) % 4]
    where tenant_id = ${tenant_id} and project_id = ${project_id}`;
  await joinAll(sql, { tenant_id, project_id }, segment_id);
}

/** Makes all players of the project members of the segment, and counts and publishes them as the service does. */
async function joinAll(sql: Db, { tenant_id, project_id }: ProjectRef, segment_id: string): Promise<void> {
  await sql`
    insert into segment_members (tenant_id, project_id, segment_id, player_id, entered_at)
    select tenant_id, project_id, ${segment_id}::uuid, player_id, now() from players
    where tenant_id = ${tenant_id} and project_id = ${project_id}`;
  await sql`
    insert into segment_changes (tenant_id, project_id, segment_id, has_entered, player_ids, changed_at)
    select ${tenant_id}, ${project_id}, ${segment_id}::uuid, true, array_agg(player_id), now()
    from (select player_id, row_number() over () / 1000 as part from players
      where tenant_id = ${tenant_id} and project_id = ${project_id}) p
    group by part`;
  await sql`
    update segments set estimated_size = (
      select count(*) from players where tenant_id = ${tenant_id} and project_id = ${project_id})
    where tenant_id = ${tenant_id} and project_id = ${project_id} and segment_id = ${segment_id}`;
  await sql`vacuum analyze players, segment_members`;
}

/**
 * Inserts a message of the campaign for every player of the project, half of each variant, sent within an hour from 10 days
 * ago on: three of four delivered, half of these opened, an eighth clicked. The campaign has been sent.
 */
export async function insertSent(
  sql: Db,
  { tenant_id, project_id }: ProjectRef,
  campaign_id: string,
  variants: readonly [string, string],
): Promise<void> {
  await sql`
    insert into message_sends (tenant_id, project_id, send_id, campaign_id, player_id, channel, variant_id, recipient,
      status, enqueued_at, gated_at, counted_at, sent_at, delivered_at, opened_at, clicked_at)
    select tenant_id, project_id, new_id(), ${campaign_id}::uuid, player_id, 'email',
      case when n % 2 = 0 then ${variants[0]}::uuid else ${variants[1]}::uuid end, email,
      case when n % 8 = 7 then 'clicked' when n % 8 > 4 then 'opened' when n % 4 > 0 then 'delivered' else 'sent' end,
      at, at, at, at,
      case when n % 4 > 0 then at + interval '1 minute' end,
      case when n % 8 > 4 then at + interval '1 hour' end,
      case when n % 8 = 7 then at + interval '2 hours' end
    from (
      select *, get_byte(uuid_send(player_id), 1) as n,
        now() - interval '10 days' + get_byte(uuid_send(player_id), 2) * interval '14 seconds' as at
      from players
      where tenant_id = ${tenant_id} and project_id = ${project_id}
    ) p`;
  await sql`
    update campaigns set status = 'sent', started_at = now() - interval '10 days',
      finished_at = now() - interval '239 hours'
    where tenant_id = ${tenant_id} and project_id = ${project_id} and campaign_id = ${campaign_id}`;
  await sql`vacuum analyze message_sends`;
}

/** Creates a table like `message_sends`, with its indexes, and a file with the rows of `message_sends`. */
export async function prepareCopy(sql: Db, file: string): Promise<void> {
  await sql`drop table if exists bench_sends`;
  await sql`create table bench_sends (like message_sends including all)`;
  await sql.unsafe(`copy message_sends to '${file}'`);
}

/** Copies the rows of the file into that table; returns how many. */
export async function copyRows(sql: Db, file: string): Promise<number> {
  const { count } = await sql.unsafe(`copy bench_sends from '${file}'`);
  return count;
}

export async function emptySends(sql: Db): Promise<void> {
  await sql`truncate message_sends, sandbox_messages`;
  await sql`drop table if exists bench_sends`;
}

export async function emptyCopy(sql: Db): Promise<void> {
  await sql`truncate bench_sends`;
}

export async function countSends(
  sql: Db,
  campaign_id: string,
): Promise<{ total: number; queued: number; sent: number }> {
  const [row] = await sql<{ total: number; queued: number; sent: number }[]>`
    select count(*)::integer as total, (count(*) filter (where status = 'queued'))::integer as queued,
      (count(*) filter (where status = 'sent'))::integer as sent
    from message_sends where campaign_id = ${campaign_id}`;
  return row ?? { total: 0, queued: 0, sent: 0 };
}

/** Whether members of the campaign's segment wait for their send rows. */
export async function hasRanges(owner: Db, campaign_id: string): Promise<boolean> {
  const rows = await owner`select from member_ranges where owner_id = ${campaign_id} limit 1`;
  return rows.length > 0;
}
