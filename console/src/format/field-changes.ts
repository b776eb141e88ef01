import { writeExactly } from '../api/json.ts';
import { maskedValue } from './value.ts';

/** A field of a record that a change has set, by its path: `config.currency`. Undefined: the field was or is not there. */
export interface FieldChange {
  path: string;
  before: unknown;
  after: unknown;
}

const MAX_DEPTH = 20;

/**
 * What differs between a record before and after a change, field by field, with personal data masked. Null stands for a
 * record that was or is not there; then each of the fields is a change. Lists are compared as a whole.
 */
export function fieldChanges(before: object | null, after: object | null): FieldChange[] {
  return changesIn([], before ?? undefined, after ?? undefined);
}

function changesIn(names: readonly string[], before: unknown, after: unknown): FieldChange[] {
  const sides = [before, after];
  const has_fields = sides.some(isRecord) && sides.every((side) => isRecord(side) || side === undefined);
  const fields = has_fields ? new Set(sides.flatMap((side) => Object.keys(side ?? {}))) : new Set<string>();
  if (fields.size > 0 && names.length < MAX_DEPTH)
    return [...fields].flatMap((name) =>
      changesIn([...names, name], fieldOf(before, name), fieldOf(after, name)),
    );
  if (names.length === 0 || writeExactly(before) === writeExactly(after)) return [];
  // Masked only now: two addresses may have one mask.
  return [{ path: names.join('.'), before: maskedAt(names, before), after: maskedAt(names, after) }];
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function fieldOf(value: unknown, name: string): unknown {
  return isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** A value as it is masked in its place: what it is called decides, too. */
function maskedAt(names: readonly string[], value: unknown): unknown {
  if (value === undefined) return undefined;
  const whole = names.reduceRight((inner, name) => Object.fromEntries([[name, inner]]), value);
  return names.reduce((inner, name) => fieldOf(inner, name), maskedValue(whole));
}
