import { z } from 'zod';
import { UNSAFE_KEY, unsafeText } from '../../../ingest/events/text-safety.ts';
import { isObject } from '../../../platform/json-object.ts';
import { readComparison, type ComparisonProblem } from '../../../segments/language/comparison.ts';
import type { WhereClause } from '../../../segments/language/conditions.ts';
import { isMoneyProperty } from '../../../segments/language/fields.ts';
import { passingMs } from '../../../segments/language/forms.ts';
import { quoted, type Place } from './issues.ts';
import type { Where } from './shapes.ts';

const MAX_CLAUSES = 10;
const MAX_PROPERTY = 200;
const FORM = 'must be {property: value} or [{"property", "op", "value"}]';

const clause = z
  .strictObject({
    property: z.string().optional(),
    field: z.string().optional(),
    op: z.string(),
    value: z.unknown().optional(),
  })
  .refine(({ property, field }) => (property === undefined) !== (field === undefined), {
    error: 'must have one of `property` and `field`',
  });

interface Filter {
  /** Properties of this event, or paths in the context of the run. */
  of: { event: string | undefined } | 'context';
  /** Whether `within_last` and `not_within_last` are allowed: only where the condition is checked again as time passes. */
  may_use_clock: boolean;
}

/**
 * Reads a property filter in either form: `{amount: 5000, currency: ["EUR"], method: {neq: "card"}}`, or
 * `[{property | field, op, value}]`. Undefined after having reported what is wrong; an empty one is EMPTY_CONDITION.
 */
export function readWhere(written: unknown, at: Place, filter: Filter): Where | undefined {
  const clauses = Array.isArray(written) ? readList(written, at) : readObject(written, at);
  if (clauses === undefined) return undefined;
  if (clauses.length === 0) {
    return at.report('EMPTY_CONDITION', 'must have at least one property: omit it for every event');
  }
  if (clauses.length > MAX_CLAUSES) {
    return at.report(
      'FIELD_INVALID',
      `has ${clauses.length} comparisons: at most ${MAX_CLAUSES} are allowed`,
    );
  }
  const read = clauses.map((one) => readClause(one, filter));
  const sound = read.filter((one) => one !== undefined);
  return sound.length === read.length ? sound : undefined;
}

/** A comparison as written, with the places that its problems belong to. */
interface Written {
  property: string;
  comparison: { op: string; value?: unknown };
  at: Place;
  at_op: Place;
  at_value: Place;
}

function readList(written: readonly unknown[], at: Place): Written[] | undefined {
  if (written.length > MAX_CLAUSES) {
    return at.report(
      'FIELD_INVALID',
      `has ${written.length} comparisons: at most ${MAX_CLAUSES} are allowed`,
    );
  }
  const clauses = written.map((one, i): Written | undefined => {
    const place = at.in(i);
    const read = place.read(clause, one);
    if (read === undefined) return undefined;
    const { property = read.field ?? '', op } = read;
    const comparison = isObject(one) && Object.hasOwn(one, 'value') ? { op, value: read.value } : { op };
    return { property, comparison, at: place, at_op: place.in('op'), at_value: place.in('value') };
  });
  const sound = clauses.filter((one) => one !== undefined);
  return sound.length === clauses.length ? sound : undefined;
}

function readObject(written: unknown, at: Place): Written[] | undefined {
  if (!isObject(written)) return at.report('FIELD_INVALID', `${FORM}, not ${quoted(written)}`);
  const entries = Object.entries(written);
  if (entries.length > MAX_CLAUSES) {
    return at.report('FIELD_INVALID', `has ${entries.length} properties: at most ${MAX_CLAUSES} are allowed`);
  }
  const clauses: Written[] = [];
  for (const [property, value] of entries) {
    const place = at.in(property);
    const add = (comparison: Written['comparison'], at_op = place) =>
      clauses.push({ property, comparison, at: place, at_op, at_value: at_op });
    if (Array.isArray(value)) add({ op: 'in', value });
    else if (!isObject(value)) add({ op: 'eq', value });
    else if (Object.keys(value).length === 0) {
      return place.report('EMPTY_CONDITION', 'must have an operator, such as {"gte": 5000}');
    } else for (const [op, operand] of Object.entries(value)) add(comparisonOf(op, operand), place.in(op));
  }
  return clauses;
}

/** In this form an operator always has a value: `{exists: true}`, `{exists: false}`. */
function comparisonOf(op: string, value: unknown): Written['comparison'] {
  if ((op !== 'exists' && op !== 'not_exists') || typeof value !== 'boolean') return { op, value };
  return { op: (op === 'exists') === value ? 'exists' : 'not_exists' };
}

function readClause(
  { property, comparison, at, at_op, at_value }: Written,
  { of, may_use_clock }: Filter,
): WhereClause | undefined {
  if (!isProperty(property)) {
    const rule = `a property's name must be a text of 1 to ${MAX_PROPERTY} characters without NUL`;
    return at.report('FIELD_INVALID', `${rule}, not ${quoted(property)}`);
  }
  const kind = of !== 'context' && isMoneyProperty(property, of.event) ? 'number' : 'json';
  const read = readComparison({ kind }, comparison);
  if ('key' in read) return refuse(read, comparison, { at_op, at_value });
  if (!may_use_clock && passingMs(read) !== undefined) {
    const message = `${comparison.op} cannot be used here, because the condition is not checked again as time passes: use before or after, or a wait`;
    return at_op.report('CLOCK_CONDITION', message);
  }
  return { property, comparison: read };
}

function refuse(
  { key, message }: ComparisonProblem,
  { op, value }: Written['comparison'],
  { at_op, at_value }: Pick<Written, 'at_op' | 'at_value'>,
): undefined {
  if (key === 'op') return at_op.report('FIELD_INVALID', `${message}, not ${quoted(op)}`);
  const code = value === undefined && message !== 'must be omitted' ? 'FIELD_REQUIRED' : 'FIELD_INVALID';
  return at_value.report(code, `the value of ${op} ${message}, not ${quoted(value)}`);
}

function isProperty(name: string): boolean {
  if (name === '' || name.length > MAX_PROPERTY || unsafeText(name)) return false;
  return !name.split('.').includes(UNSAFE_KEY);
}
