import { z } from 'zod';
import { isObject } from '../../../platform/json-object.ts';
import { eventName, flag, MAX_REST_MS, oneOf, segmentId, wholeNumber } from './fields.ts';
import type { Place } from './issues.ts';
import { readWhere } from './read-where.ts';
import type { ExitRule, Settings, Where } from './shapes.ts';

const MAX_EXIT_RULES = 10;
const MAX_WINDOW_DAYS = 365;
const MAX_ENTRIES = 1_000_000_000;
const PERCENT = { error: 'must be a number from 0 to 100' };
const EXIT_RULES = { error: `must be a list of at most ${MAX_EXIT_RULES} rules` };

const schema = z.strictObject(
  {
    re_entry: z
      .strictObject({
        mode: oneOf(['once', 'after_exit', 'always']),
        min_interval_ms: wholeNumber(1, MAX_REST_MS).optional(),
      })
      .default({ mode: 'always' }),
    exit_on: z.array(z.unknown(), EXIT_RULES).max(MAX_EXIT_RULES, EXIT_RULES).default([]),
    goal: z
      .strictObject({
        event: eventName,
        where: z.unknown().optional(),
        window_days: wholeNumber(1, MAX_WINDOW_DAYS),
        exit: flag.default(true),
      })
      .nullable()
      .optional(),
    holdout_percent: z.number(PERCENT).min(0, PERCENT).max(100, PERCENT).default(0),
    max_entries_per_hour: wholeNumber(1, MAX_ENTRIES).nullable().optional(),
  },
  { error: (issue) => (issue.code === 'invalid_type' ? 'must be an object' : undefined) },
);
const exit_event = z.strictObject({ event: eventName, where: z.unknown().optional() });
const exit_segment = z.strictObject({ segment_exited: segmentId });

/** Reads the settings; undefined ones have the defaults. Undefined after having reported what is wrong. */
export function readSettings(written: unknown, at: Place): Settings | undefined {
  const given = written ?? {};
  const settings = at.read(schema, given);
  const rules = isObject(given) && Array.isArray(given['exit_on']) ? (given['exit_on'] as unknown[]) : [];
  const exit_on = rules.slice(0, MAX_EXIT_RULES).map((rule, i) => readExitRule(rule, at.in('exit_on', i)));
  const goal_where = isObject(given) && isObject(given['goal']) ? given['goal']['where'] : undefined;
  const where = readOptionalWhere(goal_where, at.in('goal', 'where'), settings?.goal?.event);
  const sound = exit_on.filter((rule) => rule !== undefined);
  if (settings === undefined || where === undefined || sound.length !== exit_on.length) return undefined;
  const { re_entry, goal, holdout_percent, max_entries_per_hour } = settings;
  return {
    re_entry: { mode: re_entry.mode, min_interval_ms: re_entry.min_interval_ms },
    exit_on: sound,
    goal: goal ? { ...goal, where } : undefined,
    holdout_percent,
    max_entries_per_hour: max_entries_per_hour ?? undefined,
  };
}

function readExitRule(written: unknown, at: Place): ExitRule | undefined {
  if (isObject(written) && Object.hasOwn(written, 'segment_exited')) return at.read(exit_segment, written);
  const rule = at.read(exit_event, written);
  const where = readOptionalWhere(
    isObject(written) ? written['where'] : undefined,
    at.in('where'),
    rule?.event,
  );
  return rule && where && { event: rule.event, where };
}

function readOptionalWhere(written: unknown, at: Place, event: string | undefined): Where | undefined {
  return written === undefined ? [] : readWhere(written, at, { of: { event }, may_use_clock: false });
}
