import type { ClickHouse } from '../platform/clickhouse/port.ts';
import type { Tx } from '../platform/postgres/port.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';
import { isDateColumn, MESSAGES, type PassingWindow } from './dependencies.ts';
import { runBounded, compiled, OVER_SOME } from './evaluation-queries.ts';
import { ATTRIBUTE_PREFIX } from './language/fields.ts';
import { Bindings } from './sql/bindings.ts';
import { jsonDate } from './sql/json-sql.ts';
import { REACHED_AT } from './sql/message-sql.ts';

/** A project whose realtime segments have moving windows; without those that are swept alone. */
export interface SweepTask extends ProjectRef {
  windows: PassingWindow[];
  /**
   * Where the sweep begins: the stored position or the time when the oldest segment was defined, the later of them.
   * Earlier edges were found before, or are part of the first refresh.
   */
  swept_ms: bigint;
  /** The position as it is stored; null: the project was never swept. */
  stored_ms: bigint | null;
}

/** Projects with moving windows that were not swept since `until`; `of`: this one only. */
export async function selectSweeps(sql: Tx, until: Date, of?: ProjectRef): Promise<SweepTask[]> {
  const is_asked =
    of === undefined ? sql`` : sql`and s.tenant_id = ${of.tenant_id} and s.project_id = ${of.project_id}`;
  return sql<SweepTask[]>`
    select s.tenant_id, s.project_id, jsonb_agg(distinct w.window) as windows,
      epoch_ms(greatest(max(p.swept_at), min(s.defined_at))) as swept_ms,
      epoch_ms(max(p.swept_at)) as stored_ms
    from segments s
    cross join lateral jsonb_array_elements(s.windows) as w ("window")
    left join segment_sweeps p on p.tenant_id = s.tenant_id and p.project_id = s.project_id
    where s.refresh_strategy = 'realtime' and s.deleted_at is null ${is_asked}
      and not exists (
        select from segment_window_sweeps a where a.tenant_id = s.tenant_id and a.project_id = s.project_id
          and a.passing_window = w.window)
    group by s.tenant_id, s.project_id
    having greatest(max(p.swept_at), min(s.defined_at)) < ${until}`;
}

/** Moves the project's sweep position (compare-and-set); false when another processor has moved it meanwhile. */
export async function markSwept(
  tx: Tx,
  { tenant_id, project_id, stored_ms }: SweepTask,
  swept_at: Date,
): Promise<boolean> {
  const moved = await tx`
    insert into segment_sweeps as p (tenant_id, project_id, swept_at)
    values (${tenant_id}, ${project_id}, ${swept_at})
    on conflict (tenant_id, project_id) do update set swept_at = excluded.swept_at
      where epoch_ms(p.swept_at) = ${stored_ms}`;
  return moved.count === 1;
}

/** A window that is swept alone, because its sweep has failed. */
export interface LateWindow extends ProjectRef {
  window: PassingWindow;
  /** Up to when it was swept. */
  swept_ms: bigint;
  last_error: string | null;
  /** False: no realtime segment has the window any more. */
  is_used: boolean;
}

/** The windows to be swept alone that are due; `of`: this one only. */
export async function selectLateWindows(
  sql: Tx,
  now: Date,
  limit: number,
  of?: Pick<LateWindow, 'tenant_id' | 'project_id' | 'window'>,
): Promise<LateWindow[]> {
  const is_asked =
    of === undefined
      ? sql``
      : sql`and a.tenant_id = ${of.tenant_id} and a.project_id = ${of.project_id}
          and a.passing_window = ${JSON.stringify(of.window)}::text::jsonb`;
  return sql<LateWindow[]>`
    select a.tenant_id, a.project_id, a.passing_window as window, epoch_ms(a.swept_at) as swept_ms, a.last_error,
      exists (
        select from segments s where s.tenant_id = a.tenant_id and s.project_id = a.project_id
          and s.refresh_strategy = 'realtime' and s.deleted_at is null
          and s.windows @> jsonb_build_array(a.passing_window)) as is_used
    from segment_window_sweeps a where a.retry_at <= ${now} ${is_asked} order by a.retry_at limit ${limit}`;
}

/**
 * Has a window swept alone from `swept_at` on, or keeps it so, and records why, also in its segments. It is due after 30
 * seconds, one minute … half an hour.
 */
export async function quarantineWindow(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  window: PassingWindow,
  { swept_at, now, reason }: { swept_at: Date; now: Date; reason: string },
): Promise<void> {
  const passing_window = tx`${JSON.stringify(window)}::text::jsonb`;
  // The segments first, as everybody who changes a plan.
  await tx`
    update segments set last_error = ${reason}
    where tenant_id = ${tenant_id} and project_id = ${project_id} and refresh_strategy = 'realtime'
      and deleted_at is null and windows @> jsonb_build_array(${passing_window})`;
  await tx`
    insert into segment_window_sweeps as a (tenant_id, project_id, passing_window, swept_at, failures, last_error, retry_at)
    values (${tenant_id}, ${project_id}, ${passing_window}, ${swept_at}, 1, ${reason},
      ${now}::timestamptz + interval '30 seconds')
    on conflict (tenant_id, project_id, passing_window) do update set
      failures = a.failures + 1, last_error = excluded.last_error,
      retry_at = ${now}::timestamptz + least(30 * power(2, least(a.failures, 10)), 1800) * interval '1 second'`;
}

/**
 * Has a window that was swept alone up to `swept_at` swept with the others again. The project's position moves back to
 * that time, and by a millisecond at least, so that a sweep of the others that runs meanwhile is repeated with it.
 */
export async function rejoinWindow(
  tx: Tx,
  { tenant_id, project_id, window, last_error, is_used }: LateWindow,
  swept_at: Date,
): Promise<void> {
  const passing_window = tx`${JSON.stringify(window)}::text::jsonb`;
  const of_project = tx`tenant_id = ${tenant_id} and project_id = ${project_id}`;
  if (is_used) {
    await tx`
      insert into segment_sweeps as p (tenant_id, project_id, swept_at)
      values (${tenant_id}, ${project_id}, ${swept_at})
      on conflict (tenant_id, project_id) do update
      set swept_at = least(p.swept_at - interval '1 millisecond', excluded.swept_at)`;
    await tx`
      update segments set last_error = null
      where ${of_project} and windows @> jsonb_build_array(${passing_window}) and last_error = ${last_error}`;
  }
  await tx`delete from segment_window_sweeps where ${of_project} and passing_window = ${passing_window}`;
}

/** A player whose events, messages or dates crossed the edge of a window; `reads`: which of them. */
export interface PassedWindow {
  player_id: string;
  reads: string;
}

/**
 * Players with an event, a message or a date that crossed the edge of a window after `since_ms` and up to `now_ms`: it
 * left the window, or, if its time was in the future when it was received, it entered the window. The query scans the
 * events of those moments once (for a date in a property, all events of the name), the players once for dates, and the
 * messages once.
 */
export async function findPassedWindows(
  clickhouse: ClickHouse,
  project: ProjectRef,
  windows: readonly PassingWindow[],
  since_ms: number,
  now_ms: number,
): Promise<PassedWindow[]> {
  const { parts, params } = compiled(() => compileEdges(windows));
  return runBounded<PassedWindow>(clickhouse, parts.join('\nunion all\n'), OVER_SOME, {
    ...params,
    ...project,
    since_ms,
    now_ms,
  });
}

/** The parts of a union over events, players and messages, each with the edges of its windows. */
function compileEdges(windows: readonly PassingWindow[]): {
  parts: string[];
  params: Record<string, unknown>;
} {
  const bindings = new Bindings();
  const ago = (span_ms: number) => bindings.bind('Int64', span_ms);
  const crossed = (time: string, span: string) =>
    `(${time} > fromUnixTimestamp64Milli({since_ms:Int64} - ${span}, 'UTC') and ` +
    `${time} <= fromUnixTimestamp64Milli({now_ms:Int64} - ${span}, 'UTC'))`;
  const scope = 'tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}';
  const of_events = windows.filter(({ reads }) => reads.startsWith('event:'));
  const of_messages = windows.filter(({ reads }) => reads === MESSAGES);
  const of_fields = windows.filter(({ reads }) => !reads.startsWith('event:') && reads !== MESSAGES);
  const parts: string[] = [];
  if (of_events.length > 0) {
    const edges = of_events.map(({ reads, span_ms, property }) => {
      const event = `event = ${bindings.bind('String', reads.slice('event:'.length))}`;
      if (property !== undefined) {
        const date = jsonDate({ column: 'properties', key: property }, bindings);
        return `(${event} and (${crossed(date, ago(span_ms))} or ${crossed(date, ago(0))}))`;
      }
      const entered = `(${crossed('occurred_at', ago(0))} and occurred_at > received_at)`;
      return `(${event} and (${crossed('occurred_at', ago(span_ms))} or ${entered}))`;
    });
    parts.push(
      `select distinct player_id, concat('event:', event) as reads from events where ${scope} and (${edges.join(' or ')})`,
    );
  }
  if (of_fields.length > 0) {
    const edges = of_fields.map(({ reads, span_ms }) => {
      const time = isDateColumn(reads)
        ? reads
        : jsonDate({ column: 'custom_attributes', key: reads.slice(ATTRIBUTE_PREFIX.length) }, bindings);
      return `${crossed(time, ago(span_ms))} or ${crossed(time, ago(0))}`;
    });
    parts.push(
      `select player_id, 'profile' as reads from players final where ${scope} and (${edges.join(' or ')})`,
    );
  }
  if (of_messages.length > 0) {
    const edges = of_messages.map(({ span_ms, status = 'sent' }) => {
      const time = REACHED_AT[status];
      return `${crossed(time, ago(span_ms))} or (${crossed(time, ago(0))} and ${time} > mirrored_at)`;
    });
    parts.push(
      `select distinct player_id, '${MESSAGES}' as reads from message_sends where ${scope} and (${edges.join(' or ')})`,
    );
  }
  return { parts, params: bindings.params };
}
