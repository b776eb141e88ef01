const NEEDS_ESCAPE = /["\\]/;
const ESCAPE = /["\\]/g;

/**
 * A Postgres array literal of texts, for `unnest(${…}::text::text[])`: one string per column instead of one
 * parameter per element, which is what makes statements over thousands of rows cheap.
 */
export function textArray(values: readonly (string | null)[]): string {
  let literal = '{';
  for (let i = 0; i < values.length; i++) {
    if (i > 0) literal += ',';
    const value = values[i];
    if (value === null || value === undefined) literal += 'NULL';
    else literal += NEEDS_ESCAPE.test(value) ? `"${value.replace(ESCAPE, '\\$&')}"` : `"${value}"`;
  }
  return literal + '}';
}

/** A Postgres array literal of values whose text needs no quotes: numbers, bigints, booleans, UUIDs. */
export function plainArray(values: readonly (number | bigint | boolean | string | null)[]): string {
  let literal = '{';
  for (let i = 0; i < values.length; i++) {
    if (i > 0) literal += ',';
    const value = values[i];
    literal += value === null || value === undefined ? 'NULL' : String(value);
  }
  return literal + '}';
}
