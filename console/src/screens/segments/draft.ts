import type { CreateSegmentBody, PatchSegmentBody } from '@player-engagement/client/admin';
import { asWritten, writeExactly } from '../../api/json.ts';
import type { SegmentRecord, Strategy } from './queries.ts';
import { newGroup, nodeOf, writtenOf, type Node } from './tree.ts';

/** A segment while it is edited. */
export interface Draft {
  name: string;
  description: string;
  refresh_strategy: Strategy;
  /** Minutes as they are typed; used with the strategy `scheduled` alone. */
  interval: string;
  root: Node;
}

const FIRST_INTERVAL = '60';

export function newDraft(): Draft {
  return {
    name: '',
    description: '',
    refresh_strategy: 'realtime',
    interval: FIRST_INTERVAL,
    root: newGroup('AND'),
  };
}

export function draftOf(segment: SegmentRecord): Draft {
  const { name, description, refresh_strategy, refresh_interval_minutes, definition } = segment;
  const interval = refresh_interval_minutes === null ? FIRST_INTERVAL : String(refresh_interval_minutes);
  return { name, description, refresh_strategy, interval, root: nodeOf(definition) };
}

/** The fields of a segment that can be changed, as the API names them. */
export type Fields = Pick<
  SegmentRecord,
  'name' | 'description' | 'refresh_strategy' | 'refresh_interval_minutes' | 'definition'
>;

/** The definition as JSON; undefined: a part of it is text that is not JSON. */
export function definitionText(root: Node, indent = 0): string | undefined {
  try {
    return writeExactly(writtenOf(root), indent);
  } catch {
    return undefined;
  }
}

/** What a draft says; undefined where a part of it is text that is not JSON. */
export function fieldsOfDraft(draft: Draft): Fields | undefined {
  const { name, description, refresh_strategy, interval, root } = draft;
  if (definitionText(root) === undefined) return undefined;
  const refresh_interval_minutes = refresh_strategy === 'scheduled' ? Number(interval) : null;
  return {
    name: name.trim(),
    description,
    refresh_strategy,
    refresh_interval_minutes,
    // The API says what is wrong with the definition.
    definition: writtenOf(root) as SegmentRecord['definition'],
  };
}

export function fieldsOf(segment: SegmentRecord): Fields {
  const { name, description, refresh_strategy, refresh_interval_minutes, definition } = segment;
  return { name, description, refresh_strategy, refresh_interval_minutes, definition };
}

/** The names of the fields that differ. */
export function differing(one: Fields, other: Fields): (keyof Fields)[] {
  return (Object.keys(one) as (keyof Fields)[]).filter(
    (key) => sortedJson(one[key]) !== sortedJson(other[key]),
  );
}

/** JSON in which the keys of objects are in one order: the builder writes the keys of groups in its own. */
function sortedJson(value: unknown): string {
  return writeExactly(sorted(value));
}
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, one]) => [key, sorted(one)]),
  );
}

/** The body of `POST /v1/segments`: without an interval where there is none. */
export function creationOf({ refresh_interval_minutes, ...rest }: Fields): CreateSegmentBody {
  return asWritten(refresh_interval_minutes === null ? rest : { ...rest, refresh_interval_minutes });
}

/** The body of `PATCH /v1/segments/:id`: the fields that differ. */
export function patchOf(fields: Fields, changes: readonly (keyof Fields)[]): PatchSegmentBody {
  return asWritten(Object.fromEntries(changes.map((key) => [key, fields[key]])));
}
