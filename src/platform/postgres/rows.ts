import type { PendingQuery, Row } from 'postgres';
import { plainArray, textArray, type Plain } from './arrays.ts';
import type { Tx } from './port.ts';

/** What a value of each type of Postgres is here; `jsonb` is given as JSON text. */
interface Values {
  uuid: string;
  text: string;
  bigint: bigint | number;
  integer: number;
  smallint: number;
  numeric: bigint | number | string;
  boolean: boolean;
  timestamptz: Date;
  bytea: Buffer;
  jsonb: string;
}

/** An enum type of the schema; its values need no quotes. */
type Enum = `enum ${string}`;

/** The types whose values include all of `V`. */
type TypesFor<V> =
  | { [N in keyof Values]: [V] extends [Values[N] | null] ? N : never }[keyof Values]
  | ([V] extends [string | null] ? Enum : never);

/** A type, and the value of a row; `index` counts from 0. */
type Computed<T> =
  | {
      [N in keyof Values]: readonly [type: N, valueOf: (row: T, index: number) => Values[N] | null];
    }[keyof Values]
  | readonly [type: Enum, valueOf: (row: T, index: number) => string | null];

/** A column `Name` of rows `T`: see {@link rowsOf}. */
export type Column<T, Name> = (Name extends keyof T ? TypesFor<T[Name]> : never) | Computed<T> | 'ordinality';

/** A column that is undefined is not among them. */
type Columns<T, Name extends string> = { readonly [N in Name]?: Column<T, N> | undefined };

/** By their text. The driver keeps what it knows of each template for as long as it runs, so no template is made twice. */
const templates = new Map<string, TemplateStringsArray>();

/**
 * `list` as the relation `alias`: `unnest($1::text::uuid[], …) as r (player_id, …)`. A column has the value of the field of
 * its name, of a type that fits, or one that a function gets from the row: `sent_ms: ['bigint', (s) => s.at.getTime()]`.
 * The column of the type `ordinality` counts the rows from 1; it is the last one, wherever it is written. Names and types
 * are those of the code, never a caller's. One parameter per column makes statements over thousands of rows cheap, and the
 * same columns are the same text, so that Postgres has the statement prepared.
 */
export function rowsOf<T, Name extends string>(
  tx: Tx,
  alias: string,
  list: readonly T[],
  columns: Columns<T, Name>,
): PendingQuery<Row[]> {
  const types: string[] = [];
  const names: string[] = [];
  const literals: string[] = [];
  let ordinality: string | undefined;
  for (const [name, column] of Object.entries<Column<T, Name> | undefined>(columns)) {
    if (column === undefined) continue;
    if (column === 'ordinality') {
      ordinality = name;
      continue;
    }
    const type = typeof column === 'string' ? column : column[0];
    const valueOf: (row: T, index: number) => unknown =
      typeof column === 'string' ? (row) => row[name as unknown as keyof T] : column[1];
    names.push(name);
    types.push(type.startsWith('enum ') ? type.slice('enum '.length) : type);
    literals.push(literalOf(type, list, valueOf));
  }
  const given = types.map((type) => `\0::text::${type}[]`).join(', ');
  const counted = ordinality === undefined ? '' : ' with ordinality';
  const all = ordinality === undefined ? names : [...names, ordinality];
  return tx(templateOf(`unnest(${given})${counted} as ${alias} (${all.join(', ')})`), ...literals);
}

/** The template of a text in which `\0` stands for each parameter. */
function templateOf(text: string): TemplateStringsArray {
  let template = templates.get(text);
  if (template === undefined) {
    const strings = text.split('\0');
    template = Object.assign(strings, { raw: strings });
    templates.set(text, template);
  }
  return template;
}

/** The array literal of the values of a column, which its type admits. */
function literalOf<T>(type: string, list: readonly T[], valueOf: (row: T, index: number) => unknown): string {
  switch (type) {
    case 'text':
    case 'jsonb':
      return textArray(list.map(valueOf) as (string | null)[]);
    case 'timestamptz':
      return plainArray(list.map((row, i) => (valueOf(row, i) as Date | null)?.toISOString() ?? null));
    case 'bytea':
      return textArray(list.map((row, i) => hexOf(valueOf(row, i) as Buffer | null)));
    default:
      // As `plainArray`, in one pass: most columns are of these types.
      return `{${list.map((row, i) => (valueOf(row, i) as Plain) ?? 'NULL').join(',')}}`;
  }
}

function hexOf(bytes: Buffer | null): string | null {
  return bytes && `\\x${bytes.toString('hex')}`;
}
