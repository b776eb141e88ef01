import { isObject, textOf } from './graph.ts';

/** One comparison of a filter of properties. */
export interface Clause {
  property: string;
  op: string;
  /** Absent with operators that compare with nothing. */
  value?: unknown;
}

/**
 * A filter as comparisons, from either of its forms: `{amount: 5000, method: {neq: "card"}}` or a list of
 * `{property | field, op, value}`. None without a filter; undefined: it has yet another form.
 */
export function clausesOf(where: unknown): Clause[] | undefined {
  if (where === undefined) return [];
  if (Array.isArray(where)) {
    const clauses = where.map(listedClause);
    const sound = clauses.filter((one) => one !== undefined);
    return sound.length === clauses.length ? sound : undefined;
  }
  if (!isObject(where)) return undefined;
  return Object.entries(where).flatMap(([property, value]): Clause[] => {
    if (Array.isArray(value)) return [{ property, op: 'in', value }];
    if (!isObject(value)) return [{ property, op: 'eq', value }];
    return Object.entries(value).map(([op, operand]) => readClause(property, op, operand));
  });
}

function listedClause(written: unknown): Clause | undefined {
  if (!isObject(written) || typeof written['op'] !== 'string') return undefined;
  const { property, field, op, value, ...unknown } = written;
  if (Object.keys(unknown).length > 0) return undefined;
  const name = textOf(property ?? field);
  return value === undefined ? { property: name, op } : { property: name, op, value };
}

/** `{exists: false}` means that it is missing. */
function readClause(property: string, op: string, value: unknown): Clause {
  if ((op !== 'exists' && op !== 'not_exists') || typeof value !== 'boolean') return { property, op, value };
  return { property, op: (op === 'exists') === value ? 'exists' : 'not_exists' };
}

/** Operators of a filter, with what they are compared with. */
export const OPERATORS: Readonly<Record<string, 'scalar' | 'list' | 'none'>> = {
  eq: 'scalar',
  neq: 'scalar',
  gt: 'scalar',
  gte: 'scalar',
  lt: 'scalar',
  lte: 'scalar',
  in: 'list',
  nin: 'list',
  contains: 'scalar',
  starts_with: 'scalar',
  exists: 'none',
  not_exists: 'none',
};
