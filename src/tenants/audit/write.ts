import type { WriteAuditRows, AuditedChange } from '../../http/audit.ts';
import type { Clock } from '../../platform/clock.ts';
import { newId } from '../../platform/ids.ts';
import { insertAuditRows } from './queries.ts';
import { isDeepStrictEqual } from 'node:util';
import { exactJson, parseExact } from '../../platform/exact-json.ts';

/** Makes the function that inserts rows of the audit log, with one statement in the transaction of the changes. */
export function createAuditWriter(clock: Clock): WriteAuditRows {
  return async (tx, changes) => {
    const rows = changes.flatMap(({ call: { session, resource, action, request_id }, change }) => {
      const sides = changedFields(change);
      if (sides === undefined) return [];
      return [
        {
          tenant_id: change.tenant_id,
          audit_id: newId(),
          occurred_at: new Date(clock.now_ms()),
          user_id: session?.user_id ?? null,
          role: session?.role ?? null,
          project_id: change.project_id,
          action,
          resource_type: resource,
          resource_id: change.resource_id,
          ...sides,
          request_id,
        },
      ];
    });
    if (rows.length > 0) await insertAuditRows(tx, rows);
  };
}

/** The size of each of `before` and `after`, as JSON. */
const MAX_SIDE_BYTES = 16 * 1024;

type Fields = Record<string, unknown>;

/** `before` and `after` of an audit row as JSON text; null when the resource does not exist. */
interface AuditedSides {
  before: string | null;
  after: string | null;
}

/**
 * The part of a change that an audit row keeps. When the resource exists before and after, only the fields that differ
 * are kept, so that the log has no more personal data than was changed. A side of more than 16 KiB is replaced by the
 * names of its fields, as `{"too_large": [...]}`. Undefined when nothing differs but `updated_at`.
 */
export function changedFields({
  before,
  after,
}: Pick<AuditedChange, 'before' | 'after'>): AuditedSides | undefined {
  if (before === null && after === null) return undefined;
  if (before === null || after === null) return { before: bounded(before), after: bounded(after) };
  const [old, anew] = [asJson(before), asJson(after)];
  const names = [...new Set([...Object.keys(old), ...Object.keys(anew)])].filter(
    (name) => !isDeepStrictEqual(old[name], anew[name]),
  );
  if (names.every((name) => name === 'updated_at')) return undefined;
  return { before: bounded(pick(old, names)), after: bounded(pick(anew, names)) };
}

/** The resource as it is after storage as JSON: dates are text, values that JSON does not have are removed. */
function asJson(side: object): Fields {
  return parseExact(exactJson(side)) as Fields;
}

function pick(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(
    names.filter((name) => Object.hasOwn(fields, name)).map((name) => [name, fields[name]]),
  );
}

function bounded(side: object | null): string | null {
  if (side === null) return null;
  const text = exactJson(side);
  if (Buffer.byteLength(text) <= MAX_SIDE_BYTES) return text;
  return JSON.stringify({ too_large: Object.keys(asJson(side)) });
}
