import type { MessageStatus } from '../analytics/message-status.ts';
import { askedSegment, conditionsOf, type Condition, type Group } from './language/conditions.ts';
import { isTraitField, TRAIT_FIELDS } from './language/fields.ts';
import { passingMs } from './language/forms.ts';
import { eventSetsOf } from './sql/compile.ts';

// A read is something that a definition depends on: `event:<name>`, `profile`, `segment:<id>` or `messages`. The one read of
// a frozen segment, `list:<its id>`, is never marked: nothing changes its members but merges and deletions.

/** The read of any field of the player. */
export const PROFILE = 'profile';
export const MESSAGES = 'messages';
/** Stands for every read: the player is new, was removed or was merged. */
export const EVERYTHING = '*';
export const readOfEvent = (event: string) => `event:${event}`;
export const readOfSegment = (segment_id: string) => `segment:${segment_id}`;
export const readOfList = (list_id: string) => `list:${list_id}`;

/**
 * A time window that moves with the clock. A player's membership may change without new data when an event, a message
 * or a date leaves the window, or, if it lies in the future, when its time comes and it enters the window.
 */
export interface PassingWindow {
  /** `event:<name>`: events of this name. `messages`: messages. Otherwise a field of the player that holds a date. */
  reads: string;
  /** The length of the window. */
  span_ms: number;
  /** The property of the events that holds the date; absent: the date is the event's own time. */
  property?: string;
  /** For messages: the status whose time counts. */
  status?: MessageStatus;
}

/** What a definition depends on: its reads, its moving windows, and the segments that it refers to. */
export interface Dependencies {
  reads: string[];
  windows: PassingWindow[];
  segment_ids: string[];
}

/** What a definition depends on, each once and sorted, so that equal definitions have equal dependencies. */
export function dependenciesOf(definition: Group): Dependencies {
  const reads = new Set<string>();
  const windows = new Map<string, PassingWindow>();
  const segment_ids = new Set<string>();
  for (const condition of conditionsOf(definition)) {
    for (const { event } of eventSetsOf(condition)) reads.add(readOfEvent(event));
    if (condition.type === 'trait') reads.add(PROFILE);
    if (condition.type === 'message') reads.add(MESSAGES);
    const asked = askedSegment(condition);
    if (asked !== undefined) {
      reads.add(readOfSegment(asked.segment_id));
      segment_ids.add(asked.segment_id);
    }
    for (const window of windowsOf(condition))
      windows.set(JSON.stringify([window.reads, window.span_ms, window.property, window.status]), window);
  }
  return {
    reads: [...reads].sort(),
    windows: [...windows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, window]) => window),
    segment_ids: [...segment_ids].sort(),
  };
}

function windowsOf(condition: Condition): PassingWindow[] {
  if (condition.type === 'message') {
    const { window, status } = condition;
    return window.kind === 'last' ? [{ reads: MESSAGES, span_ms: window.last_ms, status }] : [];
  }
  const passing = eventSetsOf(condition).flatMap(({ event, window, where }) => {
    const reads = readOfEvent(event);
    const dates = where.flatMap(({ property, comparison }) => {
      const span_ms = passingMs(comparison);
      return span_ms === undefined ? [] : [{ reads, span_ms, property }];
    });
    return window.kind === 'last' ? [...dates, { reads, span_ms: window.last_ms }] : dates;
  });
  if (condition.type !== 'trait' && condition.type !== 'event') return passing;
  const span_ms = passingMs(condition.comparison);
  if (span_ms === undefined) return passing;
  const reads = condition.type === 'event' ? readOfEvent(condition.event) : condition.field;
  return [...passing, { reads, span_ms }];
}

/** Whether the field of a window is a date column of `players`; otherwise it is a key of the custom attributes. */
export function isDateColumn(field: string): boolean {
  return isTraitField(field) && TRAIT_FIELDS[field].kind === 'date';
}
