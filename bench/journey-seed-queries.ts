import { plainArray } from '../src/platform/postgres/arrays.ts';
import type { Db, Tx } from '../src/platform/postgres/port.ts';
import type { ProjectRef } from '../src/tenants/project-ref.ts';

/** Runs of one journey that rest at the same node. */
export interface Standing extends ProjectRef {
  journey_id: string;
  node_id: string;
  seq: number;
}

/** Runs that one statement inserts. */
const STEP = 100_000;

/**
 * Inserts running runs that rest for a month, with their timers, one of each of `player_ids`; returns their ids in the
 * order of the players.
 */
export async function insertRuns(
  sql: Db,
  { tenant_id, project_id, journey_id, node_id, seq }: Standing,
  player_ids: readonly string[],
): Promise<string[]> {
  const run_ids: string[] = [];
  for (let from = 0; from < player_ids.length; from += STEP) {
    const rows = await sql<{ run_id: string }[]>`
      with made as materialized (
        select p.player_id, p.i, uuidv7() as run_id
        from unnest(${plainArray(player_ids.slice(from, from + STEP))}::text::uuid[]) with ordinality as p (player_id, i)
      ), runs as (
        insert into journey_runs (tenant_id, project_id, run_id, journey_id, version, player_id, status, node_id, seq,
          entered_at, due_at, trigger_key, re_entry, trigger, context, started_at)
        select ${tenant_id}, ${project_id}, run_id, ${journey_id}, 1, player_id, 'running', ${node_id}, ${seq}, now(),
          now() + interval '30 days', run_id::text, 'always', '{"kind": "api"}',
          '{"trigger_payload": {"amount": 5000, "currency": "EUR"}}', now()
        from made
      ), timers as (
        insert into journey_timers (tenant_id, project_id, due_at, run_id, seq)
        select ${tenant_id}, ${project_id}, now() + interval '30 days', run_id, ${seq} from made
      )
      select run_id from made order by i`;
    run_ids.push(...rows.map(({ run_id }) => run_id));
  }
  return run_ids;
}

/**
 * Inserts running runs of players that are rows of no table, which wait for an event for 30 to 60 days, with their timers
 * and waits.
 */
export async function parkRuns(
  sql: Db,
  { tenant_id, project_id, journey_id, node_id, seq }: Standing,
  count: number,
  { event, log_id }: { event: string; log_id: string },
): Promise<void> {
  for (let from = 0; from < count; from += STEP) {
    await sql`
      with made as materialized (
        select uuidv7() as run_id, uuidv7(make_interval(secs => i - ${count}::integer)) as player_id,
          now() + interval '30 days' + i * interval '2 seconds' as due_at
        from generate_series(${from + 1}::integer, ${Math.min(from + STEP, count)}::integer) i
      ), runs as (
        insert into journey_runs (tenant_id, project_id, run_id, journey_id, version, player_id, status, node_id, seq,
          entered_at, due_at, trigger_key, re_entry, trigger, context, started_at)
        select ${tenant_id}, ${project_id}, run_id, ${journey_id}, 1, player_id, 'running', ${node_id}, ${seq}, now(),
          due_at, run_id::text, 'always', '{"kind": "api"}', '{"trigger_payload": {"amount": 5000}}', now()
        from made
      ), timers as (
        insert into journey_timers (tenant_id, project_id, due_at, run_id, seq)
        select ${tenant_id}, ${project_id}, due_at, run_id, ${seq} from made
      )
      insert into journey_waits (tenant_id, project_id, event, player_id, run_id, seq, partition, log_id, from_offset,
        since, is_checked)
      select ${tenant_id}, ${project_id}, ${event}, player_id, run_id, ${seq}, 0, ${log_id}, 0, now(), true from made`;
  }
  await sql`vacuum analyze journey_runs, journey_timers, journey_waits`;
}

/** Players of whom a run waits for the event, spread over all of them. */
export async function selectWaiting(
  sql: Db,
  { tenant_id, project_id }: ProjectRef,
  event: string,
  count: number,
): Promise<string[]> {
  const rows = await sql<{ player_id: string }[]>`
    select player_id from journey_waits
    where tenant_id = ${tenant_id} and project_id = ${project_id} and event = ${event}
    order by md5(player_id::text) limit ${count}`;
  return rows.map(({ player_id }) => player_id);
}

/** Lets the rests of these runs end: they have come due one after the other, a millisecond apart. */
export async function makeDue(sql: Db, run_ids: readonly string[]): Promise<void> {
  await scheduleRuns(sql, run_ids, new Date(Date.now() - run_ids.length - 1_000), 1);
  await sql`vacuum analyze journey_steps, message_sends`;
}

/** Lets runs come due one after the other, `every_ms` apart, the first one at `from`. */
export async function scheduleRuns(
  sql: Db,
  run_ids: readonly string[],
  from: Date,
  every_ms: number,
): Promise<void> {
  const ids = plainArray(run_ids);
  await sql`
    with due as materialized (
      select o.place, t.timer, date_trunc('milliseconds', ${from}::timestamptz + r.i * ${every_ms}::float8 * interval '1 millisecond') as at
      from unnest(${ids}::text::uuid[]) with ordinality as r (run_id, i)
      cross join lateral (
        select o.ctid as place, o.tenant_id, o.project_id, o.run_id, o.due_at from journey_runs o
        where o.run_id = r.run_id offset 0) o
      cross join lateral (
        -- By its whole key: thousands of timers may be due at the same time.
        select t.ctid as timer from journey_timers t
        where (t.tenant_id, t.project_id, t.due_at, t.run_id) >= (o.tenant_id, o.project_id, o.due_at, o.run_id)
          and (t.tenant_id, t.project_id, t.due_at, t.run_id) <= (o.tenant_id, o.project_id, o.due_at, o.run_id)
        offset 0) t
    ), timers as (
      update journey_timers t set due_at = due.at from due where t.ctid = due.timer
    )
    update journey_runs o set due_at = due.at from due where o.ctid = due.place`;
  await sql`vacuum analyze journey_timers, journey_runs`;
}

/** Whether a timer is due, of these projects or of any. */
export async function isAnyDue(sql: Db, projects?: readonly string[]): Promise<boolean> {
  const of =
    projects === undefined ? sql`` : sql`and project_id = any(${plainArray(projects)}::text::uuid[])`;
  const rows = await sql`select from journey_timers where due_at <= now() ${of} limit 1`;
  return rows.length > 0;
}

/** How many rows of runs were updated so far, and how many of these updates touched no index. */
export async function countUpdates(sql: Db): Promise<{ updates: number; hot: number }> {
  await sql`select pg_stat_clear_snapshot()`;
  const [row] = await sql<{ updates: number; hot: number }[]>`
    select n_tup_upd::float8 as updates, n_tup_hot_upd::float8 as hot from pg_stat_user_tables
    where relname = 'journey_runs'`;
  return row ?? { updates: 0, hot: 0 };
}

/** The ids of players of the project, in their order. */
export async function selectPlayers(
  sql: Db,
  { tenant_id, project_id }: ProjectRef,
  count: number,
): Promise<string[]> {
  const rows = await sql<{ player_id: string }[]>`
    select player_id from players where tenant_id = ${tenant_id} and project_id = ${project_id}
    order by player_id limit ${count}`;
  return rows.map(({ player_id }) => player_id);
}

/** Deletes timers that are due and returns their runs: the least that a claim does. */
export async function takeDue(tx: Tx, limit: number): Promise<string[]> {
  const rows = await tx<{ run_id: string }[]>`
    with due as materialized (
      select ctid from journey_timers where due_at <= now() order by due_at limit ${limit} for update skip locked)
    delete from journey_timers t using due where t.ctid = due.ctid returning t.run_id`;
  return rows.map(({ run_id }) => run_id);
}

/** What a run writes that goes from a wait over a message to the next wait. */
export interface Move extends ProjectRef {
  journey_id: string;
  queue_id: string;
  template_id: string;
  provider_id: string;
  from_node: string;
  send_node: string;
  to_node: string;
  /** Of the step at `from_node`. */
  seq: number;
}

/** The rows that the moves of these runs make, one statement per table. */
export async function writeMoves(
  tx: Tx,
  run_ids: readonly string[],
  player_ids: readonly string[],
  move: Move,
): Promise<void> {
  const { tenant_id, project_id, journey_id, queue_id, template_id, provider_id } = move;
  const { from_node, send_node, to_node, seq } = move;
  const ids = plainArray(run_ids);
  const now = new Date();
  const due = new Date(now.getTime() + 30 * 86_400_000);
  const runs = tx`unnest(${ids}::text::uuid[]) as r (run_id)`;
  await Promise.all([
    tx`
      update journey_runs o set node_id = ${to_node}, seq = ${seq + 2}, entered_at = ${now}, due_at = ${due}, woken_by = null
      from ${runs}
      cross join lateral (
        select o.ctid from journey_runs o
        where o.run_id = r.run_id and o.tenant_id = ${tenant_id} and o.project_id = ${project_id} offset 0) found
      where o.ctid = found.ctid`,
    tx`
      insert into journey_steps (tenant_id, project_id, run_id, seq, node_id, node_type, status, outcome, next_node_id,
        entered_at, completed_at)
      select ${tenant_id}, ${project_id}, r.run_id, s.seq, s.node_id, s.node_type, 'completed', s.outcome, s.next_node_id,
        ${now}, ${now}
      from ${runs}, (values (${seq}::integer, ${from_node}::text, 'wait', 'elapsed', ${send_node}::text),
        (${seq + 1}::integer, ${send_node}::text, 'send_message', 'queued', ${to_node}::text)
      ) as s (seq, node_id, node_type, outcome, next_node_id)`,
    tx`
      insert into message_sends (tenant_id, project_id, send_id, journey_id, journey_run_id, dedup_key, queue_id, player_id,
        channel, template_id, provider_id, status, defers_quiet_hours, context, enqueued_at)
      select ${tenant_id}, ${project_id}, uuidv7(), ${journey_id}, r.run_id, ${send_node}, ${queue_id}, r.player_id, 'email',
        ${template_id}, ${provider_id}, 'queued', false, '{"trigger_payload": {"amount": 5000, "currency": "EUR"}}', ${now}
      from unnest(${ids}::text::uuid[], ${plainArray(player_ids)}::text::uuid[]) as r (run_id, player_id)`,
    tx`
      insert into journey_timers (tenant_id, project_id, due_at, run_id, seq)
      select ${tenant_id}, ${project_id}, ${due}, run_id, ${seq + 2} from ${runs}`,
  ]);
}

/** Transactions of the database so far: each statement outside of one counts as one. */
export async function countTransactions(sql: Db): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select (xact_commit + xact_rollback)::float8 as count from pg_stat_database where datname = current_database()`;
  return row?.count ?? 0;
}

/** The runs of the project with steps of transactions since `from`, and from where to look the next time. */
export async function selectStepsSince(
  sql: Db,
  project_id: string,
  from: string | undefined,
): Promise<{ run_ids: string[]; next: string }> {
  const [row] = await sql<{ run_ids: string[] | null; next: string }[]>`
    select pg_snapshot_xmin(pg_current_snapshot())::text as next, (
      select array_agg(distinct run_id::text) from journey_steps
      where changed_xid >= ${from ?? null}::text::xid8 and project_id = ${project_id}) as run_ids`;
  return { run_ids: row?.run_ids ?? [], next: row?.next ?? '' };
}

/** The running runs of a journey whose waits are checked, with the anonymous ids of their players. */
export async function selectWaitingRuns(
  sql: Db,
  { tenant_id, project_id }: ProjectRef,
  journey_id: string,
): Promise<{ run_id: string; anonymous_id: string }[]> {
  return sql<{ run_id: string; anonymous_id: string }[]>`
    select r.run_id, i.anonymous_id from journey_runs r
    join journey_waits w on w.run_id = r.run_id and w.seq = r.seq and w.is_checked
    join player_identities i on i.tenant_id = r.tenant_id and i.project_id = r.project_id and i.player_id = r.player_id
    where r.tenant_id = ${tenant_id} and r.project_id = ${project_id} and r.journey_id = ${journey_id}
      and r.status = 'running'`;
}

/** How far the entry of an audience is: runs that have begun, open ranges, and messages that are queued. */
export async function selectEntry(
  sql: Db,
  { tenant_id, project_id }: ProjectRef,
  journey_id: string,
): Promise<{ has_begun: boolean; has_ended: boolean; due: boolean }> {
  const [row] = await sql<{ has_begun: boolean; has_ended: boolean; due: boolean }[]>`
    select exists (select from journey_occasions where journey_id = ${journey_id}) as has_begun,
      not exists (select from member_ranges where owner_id = ${journey_id}) as has_ended,
      exists (select from journey_timers where tenant_id = ${tenant_id} and project_id = ${project_id}
        and due_at <= now()) as due`;
  return row ?? { has_begun: false, has_ended: false, due: true };
}

/** How many runs a journey has, and messages. */
export async function countEntered(sql: Db, journey_id: string): Promise<{ runs: number; messages: number }> {
  const [row] = await sql<{ runs: number; messages: number }[]>`
    select (select count(*)::integer from journey_runs where journey_id = ${journey_id}) as runs,
      (select count(*)::integer from message_sends where journey_id = ${journey_id}) as messages`;
  return row ?? { runs: 0, messages: 0 };
}

/** Inserts pending webhooks of runs that wait for their outcome; they are due now. */
export async function insertCalls(
  sql: Db,
  { tenant_id, project_id, journey_id, node_id, seq }: Standing,
  run_ids: readonly string[],
  { url, timeout_ms }: { url: string; timeout_ms: number },
): Promise<void> {
  await sql`
    insert into webhook_deliveries (tenant_id, project_id, event_id, journey_id, journey_version, run_id, node_id, seq,
      player_id, url, host, headers, timeout_ms, max_attempts, backoff_ms, wait_for_response, source, status, next_at,
      created_at, expires_at)
    select ${tenant_id}, ${project_id}, uuidv7(), ${journey_id}, 1, run_id, ${node_id}, ${seq}, md5(i::text)::uuid, ${url},
      ${new URL(url).host}, '{}', ${timeout_ms}, 5, 1000, true,
      '{"player": null, "context": {"trigger_payload": {"amount": 5000}}, "data": {"text": "Hello {{first_name}}"}}',
      'pending', now(), now(), now() + interval '7 days'
    from unnest(${plainArray(run_ids)}::text::uuid[]) with ordinality as r (run_id, i)`;
  await sql`vacuum analyze webhook_deliveries, journey_runs, journey_timers`;
}

/** How many webhooks to this host are pending. */
export async function countPending(sql: Db, url: string): Promise<number> {
  const [row] = await sql<{ pending: number }[]>`
    select count(*)::integer as pending from webhook_deliveries
    where host = ${new URL(url).host} and status = 'pending'`;
  return row?.pending ?? 0;
}

/** Deletes all webhooks, and the runs and timers of their journey. */
export async function deleteCalls(sql: Db, journey_id: string): Promise<void> {
  await sql`truncate webhook_deliveries, journey_timers`;
  await sql`delete from journey_runs where journey_id = ${journey_id}`;
}

/** Activates all journeys again, or takes them away as if there were none. */
export async function switchJourneys(sql: Db, on: boolean): Promise<void> {
  await sql`update journeys set status = ${on ? 'active' : 'paused'}`;
  await sql`create table if not exists bench_watched as select * from journey_watched`;
  await sql`truncate journey_watched`;
  if (on) await sql`insert into journey_watched select * from bench_watched`;
}
