import { isDeepStrictEqual } from 'node:util';
import type { RecordedChange } from '../../http/audit.ts';

/** Of JSON, each of `before` and `after`. */
const MAX_SIDE_BYTES = 16 * 1024;

type Fields = Record<string, unknown>;

/** Both sides of an audit row as JSON texts; null where there is no resource. */
export interface RecordedSides {
  before: string | null;
  after: string | null;
}

/**
 * What an audit row keeps of a change: of a resource that was there before and after, the fields that differ, so that no
 * more personal data is kept than was changed. A side of more than 16 KiB is replaced by the names of its fields, as
 * `{"too_large": [...]}`. Undefined when nothing differs.
 */
export function changedFields({
  before,
  after,
}: Pick<RecordedChange, 'before' | 'after'>): RecordedSides | undefined {
  const [old, anew] = [asJson(before), asJson(after)];
  if (old === null && anew === null) return undefined;
  if (old === null || anew === null) return { before: bounded(old), after: bounded(anew) };
  const names = [...new Set([...Object.keys(old), ...Object.keys(anew)])].filter(
    (name) => !isDeepStrictEqual(old[name], anew[name]),
  );
  if (names.length === 0) return undefined;
  return { before: bounded(pick(old, names)), after: bounded(pick(anew, names)) };
}

/** As it will be read again: dates are texts, what JSON does not know is gone. */
function asJson(side: object | null): Fields | null {
  return side === null ? null : (JSON.parse(JSON.stringify(side)) as Fields);
}

function pick(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(names.filter((name) => name in fields).map((name) => [name, fields[name]]));
}

function bounded(fields: Fields | null): string | null {
  if (fields === null) return null;
  const text = JSON.stringify(fields);
  if (Buffer.byteLength(text) <= MAX_SIDE_BYTES) return text;
  return JSON.stringify({ too_large: Object.keys(fields) });
}
