import { z } from 'zod';
import { EARLIEST_MS, LATEST_MS, parseTimestamp } from '../../platform/timestamp.ts';
import { excluded, included, lastMs, type Moment, type Range } from './forms.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MAX_DAYS = 36_500;
/** Describes a moment in error messages. */
export const MOMENT_EXAMPLE = 'an ISO-8601 time with an offset, such as 2026-01-31T00:00:00Z';

/** Describes a span in error messages. */
export const SPAN_EXAMPLE = `{"days": n} or {"hours": n}, a whole number from 1 up to ${MAX_DAYS} days`;

/** A number of days or hours. */
function lengthSchema(max: number) {
  const message = `must be a whole number from 1 to ${max}`;
  return z.int(message).min(1, message).max(max, message);
}

/** `{days: n}` or `{hours: n}`, not both. */
export const spanSchema = z.union(
  [z.strictObject({ days: lengthSchema(MAX_DAYS) }), z.strictObject({ hours: lengthSchema(MAX_DAYS * 24) })],
  { error: `must be ${SPAN_EXAMPLE}` },
);
export type Span = z.infer<typeof spanSchema>;

/** The length of a span in milliseconds: a day is always 24 hours, also when daylight saving time begins or ends. */
export function spanMs(span: Span): number {
  return 'days' in span ? span.days * DAY_MS : span.hours * HOUR_MS;
}

/** A moment: ISO-8601 with an offset, within what ClickHouse's DateTime64 holds. */
export const momentSchema = z
  .string()
  .refine((text) => momentMs(text) !== undefined, `must be ${MOMENT_EXAMPLE}`);

/** The milliseconds since the epoch of a text that {@link momentSchema} accepts; undefined for any other text. */
export function momentMs(text: string): number | undefined {
  const at_ms = parseTimestamp(text);
  return at_ms !== undefined && at_ms >= EARLIEST_MS && at_ms <= LATEST_MS ? at_ms : undefined;
}

/** `{last: span}`: the span up to now; `{from, to}`: `from` is included, `to` is not; null: always. */
export const windowSchema = z
  .union(
    [
      z.strictObject({ last: spanSchema }),
      z
        .strictObject({ from: momentSchema, to: momentSchema })
        .refine(({ from, to }) => !isReversed(from, to), '`from` must be before `to`'),
    ],
    { error: 'must be {"last": {"days": n}}, {"from": time, "to": time} or null' },
  )
  .nullable();

/** When events count: later than `last_ms` ago and up to now; from `from_ms` until before `to_ms`; or always. */
export type Window =
  { kind: 'last'; last_ms: number } | { kind: 'range'; from_ms: number; to_ms: number } | { kind: 'always' };

/** The length of a window in milliseconds; of `always` it is infinite. */
export function lengthMs(window: Window): number {
  if (window.kind === 'always') return Infinity;
  return window.kind === 'last' ? window.last_ms : window.to_ms - window.from_ms;
}

/** The times that lie in a window. */
export function timesIn(window: Window): Range<Moment> {
  if (window.kind === 'always') return {};
  if (window.kind === 'last') return lastMs(window.last_ms);
  return { low: included({ at_ms: window.from_ms }), high: excluded({ at_ms: window.to_ms }) };
}

/** The window as it is evaluated; an absent one is `always`. */
export function windowOf(raw: z.infer<typeof windowSchema> | undefined): Window {
  if (raw === null || raw === undefined) return { kind: 'always' };
  if ('last' in raw) return { kind: 'last', last_ms: spanMs(raw.last) };
  const range = rangeOf(raw.from, raw.to);
  return range === undefined ? { kind: 'always' } : { kind: 'range', ...range };
}

/** Whether both texts are moments, but in the wrong order; `momentSchema` refuses a text that is not a moment. */
function isReversed(from: string, to: string): boolean {
  const both_are_moments = momentMs(from) !== undefined && momentMs(to) !== undefined;
  return both_are_moments && rangeOf(from, to) === undefined;
}

function rangeOf(from: string, to: string): { from_ms: number; to_ms: number } | undefined {
  const [from_ms, to_ms] = [momentMs(from), momentMs(to)];
  return from_ms !== undefined && to_ms !== undefined && from_ms < to_ms ? { from_ms, to_ms } : undefined;
}
