import { z } from 'zod';
import { nearestOf } from '../../../http/quoted.ts';
import { isObject } from '../../../platform/json-object.ts';
import { eventName, flag, safeText, segmentId, timeZone } from './fields.ts';
import { quoted, type Place } from './issues.ts';
import { readWhere } from './read-where.ts';
import { ScheduleTimes } from './schedule-times.ts';
import type { Trigger } from './shapes.ts';

const MAX_CRON = 100;
const KINDS: readonly Trigger['kind'][] = ['event', 'segment_entered', 'segment_exited', 'schedule', 'api'];

const schemas = {
  event: z.strictObject({ kind: z.literal('event'), event: eventName, where: z.unknown().optional() }),
  segment: z.strictObject({
    kind: z.enum(['segment_entered', 'segment_exited']),
    segment_id: segmentId,
    existing_members: flag.default(false),
  }),
  schedule: z.strictObject({
    kind: z.literal('schedule'),
    cron: safeText(MAX_CRON),
    timezone: timeZone,
    segment_id: segmentId,
  }),
  api: z.strictObject({ kind: z.literal('api') }),
} as const;

/** Reads what starts runs. Undefined after having reported what is wrong. */
export function readTrigger(written: unknown, at: Place): Trigger | undefined {
  if (!isObject(written)) return at.report('FIELD_INVALID', `must be an object, not ${quoted(written)}`);
  const { kind } = written;
  switch (kind) {
    case 'event':
      return readEventTrigger(written, at);
    case 'segment_entered':
    case 'segment_exited':
      return at.read(schemas.segment, written);
    case 'schedule':
      return readSchedule(written, at);
    case 'api':
      return at.read(schemas.api, written);
    default: {
      const message = `must be one of ${KINDS.join(', ')}, not ${quoted(kind)}${nearestOf(kind, KINDS)}`;
      return at.in('kind').report(kind === undefined ? 'FIELD_REQUIRED' : 'FIELD_INVALID', message);
    }
  }
}

function readEventTrigger(written: Record<string, unknown>, at: Place): Trigger | undefined {
  const trigger = at.read(schemas.event, written);
  // An empty filter does not count: the specification calls the filter optional, and what it starts is what is written.
  const is_empty = isObject(written['where']) && Object.keys(written['where']).length === 0;
  const where =
    written['where'] === undefined || is_empty
      ? []
      : readWhere(written['where'], at.in('where'), { of: { event: trigger?.event }, may_use_clock: true });
  return trigger && where && { kind: 'event', event: trigger.event, where };
}

function readSchedule(written: Record<string, unknown>, at: Place): Trigger | undefined {
  const trigger = at.read(schemas.schedule, written);
  if (trigger === undefined) return undefined;
  const problem = cronProblem(trigger.cron, trigger.timezone);
  if (problem === undefined) return trigger;
  return at.in('cron').report('FIELD_INVALID', `${problem}: ${quoted(trigger.cron)}`);
}

/** Why the text is not a schedule, or undefined. */
function cronProblem(cron: string, timezone: string): string | undefined {
  try {
    return new ScheduleTimes(cron, timezone).nextAfter(0) === undefined ? 'never comes' : undefined;
  } catch {
    return 'must be a crontab pattern: minute, hour, day of the month, month, day of the week';
  }
}
