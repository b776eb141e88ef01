import { groupByEvent, type PlayerEvent } from '../../ingest/events/envelope.ts';
import type { LogBatch, LogRecord } from '../../platform/event-log/port.ts';
import { TOPICS } from '../../platform/event-log/topics.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Listener, TriggerKind } from './kind.ts';
import { insertTriggerEvents, type NewTriggerEvent } from './trigger-queries.ts';
import { keepUnrated, type UndecidedEvent } from './unrated.ts';
import { parseExact } from '../../platform/exact-json.ts';

/** An event that happened longer ago fires nothing. It is long enough for a device that was offline. */
const LONGEST_DELAY_MS = 24 * 3_600_000;
/** Added to the time for which a decided event is kept, for processes whose clocks differ. */
const CLOCK_MARGIN_MS = 3_600_000;
/** Limits of an insert: its rows, and the UTF-16 units of their values. A single row may exceed the latter. */
const MAX_ROWS = 1_000;
const MAX_CHARS = 8 * 1024 * 1024;

/**
 * Records the resolved events that listeners wait for; `TriggerDecider` decides them. Without listeners in the
 * projects of the batch it costs one query per kind. A repeated event is recorded once.
 *
 * An event fires the listeners that were in force before it was received, if it happened within the last 24 hours. So an
 * event that a device kept for an hour fires, even if it happened just before the listener was started. An imported
 * history fires nothing, and neither does an old event that is on the log again, however long the listener has been in
 * force. Returns how many were recorded.
 *
 * `log_id`: the log in which the records have their offsets, given for events that are looked at again because their rates
 * are known; null: nobody knows it. They are not kept again: an amount that has no rate now gets none. Absent: the present log.
 */
export async function recordTriggerEvents(
  { postgres, clock, eventLog }: Pick<Platform, 'postgres' | 'clock' | 'eventLog'>,
  kinds: readonly TriggerKind[],
  {
    partition,
    records,
    log_id: own_log,
  }: Pick<LogBatch, 'partition' | 'records'> & { log_id?: string | null },
): Promise<number> {
  const { byTrigger, projects } = grouped(records);
  if (projects.length === 0) return 0;
  const now_ms = clock.now_ms();
  const read = new Map<string, { record: LogRecord; event: PlayerEvent }[]>();
  const found: Omit<NewTriggerEvent, 'log_id'>[] = [];
  const undecided = new Map<LogRecord, UndecidedEvent>();
  for (const kind of kinds) {
    for (const listener of await kind.listeners(postgres.service, projects)) {
      const trigger = triggerOf(listener);
      const of_trigger = byTrigger.get(trigger);
      if (of_trigger === undefined) continue;
      const events =
        read.get(trigger) ??
        of_trigger.flatMap((place) => {
          const record = records[place];
          return record === undefined ? [] : { record, event: parseExact(record.value) as PlayerEvent };
        });
      read.set(trigger, events);
      for (const { record, event } of events) {
        if (!mayFire(event, listener, now_ms)) continue;
        const is_accepted = listener.accepts === undefined || listener.accepts(event);
        if (is_accepted === undefined) undecided.set(record, { record, event });
        if (is_accepted !== true) continue;
        const { tenant_id, project_id, listener_id } = listener;
        found.push({
          tenant_id,
          project_id,
          listener_id,
          listener_kind: kind.kind,
          event_key: `${event.ingestion_id}:${event.event_index}`,
          player_id: event.player_id,
          partition,
          log_offset: record.offset,
          value: record.value,
          keep_until: new Date(Math.max(event.occurred_at, now_ms) + LONGEST_DELAY_MS + CLOCK_MARGIN_MS),
        });
      }
    }
  }
  if (found.length === 0 && undecided.size === 0) return 0;
  const log_id = own_log === undefined ? await eventLog.idOf(TOPICS.playerEvents) : own_log;
  if (own_log === undefined) {
    await keepUnrated(postgres.service, { log_id, partition }, undecided.values(), new Date(now_ms));
  }
  for (const part of parts(found)) {
    const rows = part.map((row) => ({ ...row, log_id }));
    await insertTriggerEvents(postgres.service, rows, new Date(now_ms));
  }
  return found.length;
}

/** The places of records by project and event name, and their projects. */
function grouped(records: readonly LogRecord[]): {
  byTrigger: Map<string, readonly number[]>;
  projects: ProjectRef[];
} {
  const byTrigger = new Map<string, readonly number[]>();
  const projects = new Map<string, ProjectRef>();
  for (const { name, places } of groupByEvent(records)) {
    const { tenant_id, project_id } = name;
    byTrigger.set(triggerOf(name), places);
    projects.set(`${tenant_id} ${project_id}`, { tenant_id, project_id });
  }
  return { byTrigger, projects: [...projects.values()] };
}

/** The key of a trigger: an event name in a project. */
function triggerOf({ tenant_id, project_id, event }: ProjectRef & { event: string }): string {
  return `${tenant_id} ${project_id} ${event}`;
}

function mayFire({ occurred_at, received_at }: PlayerEvent, { since }: Listener, now_ms: number): boolean {
  return received_at >= since.getTime() && occurred_at >= now_ms - LONGEST_DELAY_MS;
}

/** The rows in parts of limited size, each with at least one row. */
function* parts<Row extends { value: string }>(rows: readonly Row[]): Generator<Row[]> {
  let part: Row[] = [];
  let chars = 0;
  for (const row of rows) {
    if (part.length === MAX_ROWS || (part.length > 0 && chars + row.value.length > MAX_CHARS)) {
      yield part;
      [part, chars] = [[], 0];
    }
    part.push(row);
    chars += row.value.length;
  }
  if (part.length > 0) yield part;
}
