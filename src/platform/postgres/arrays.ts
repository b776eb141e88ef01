const NEEDS_ESCAPE = /["\\]/;
const ESCAPE = /["\\]/g;

/** What needs no quotes in an array literal; of the texts those without spaces, quotes and commas. */
export type Plain = number | bigint | boolean | string | null;

/**
 * A Postgres array literal of texts, for `unnest(${…}::text::text[])`: one string per column instead of one
 * parameter per element, which is what makes statements over thousands of rows cheap.
 */
export function textArray(values: readonly (string | null)[]): string {
  if (values.length === 0) return '{}';
  // One join when no value needs escapes: it makes ten times less garbage than quoting value by value.
  if (values.every((value) => value !== null && !NEEDS_ESCAPE.test(value)))
    return `{"${values.join('","')}"}`;
  return `{${values.map(quoted).join(',')}}`;
}

function quoted(value: string | null): string {
  return value === null ? 'NULL' : `"${value.replace(ESCAPE, '\\$&')}"`;
}

/** A Postgres array literal of values whose text needs no quotes: numbers, bigints, booleans, UUIDs. */
export function plainArray(values: readonly Plain[]): string {
  return `{${values.map((value) => value ?? 'NULL').join(',')}}`;
}

/**
 * One element and the character that ends it. The element is quoted (with escapes) or plain; only an unquoted NULL
 * means null.
 */
const ELEMENT = /(?:"([^"\\]*(?:\\.[^"\\]*)*)"|([^",{}]*))[,}]/gsy;

/** Parses a one-dimensional array of texts as Postgres writes it. */
export function parseTextArray(literal: string): (string | null)[] {
  if (literal === '{}') return [];
  return [...literal.slice(1).matchAll(ELEMENT)].map(([, quotedText, plain = '']) => {
    if (quotedText !== undefined) return quotedText.replace(/\\(.)/gs, '$1');
    return plain === 'NULL' ? null : plain;
  });
}
