import { EVENTS } from '../../../ingest/events/catalogue.ts';
import { exactJson, JsonText, parseExact, type ExactNumber } from '../../../platform/exact-json.ts';
import { maskPersonal } from '../../../players/masking.ts';
import type { Cell, Column, Row } from '../kind.ts';
import type { InsightQuery } from '../schema.ts';

/** The answer of a query, of which no cell has an address or a telephone number. */
export interface TileAnswer {
  currency: string;
  timezone: string;
  columns: readonly Column[];
  rows: readonly Row[];
  totals: readonly Row[];
  other: readonly Row[] | null;
  /** All of it as JSON. */
  json: JsonText;
}

type WrittenNumber = number | ExactNumber;
type WrittenCell =
  WrittenNumber | string | boolean | null | { numerator: WrittenNumber; denominator: WrittenNumber };
type WrittenRows = WrittenCell[][];

type Written = Omit<TileAnswer, 'rows' | 'totals' | 'other' | 'json'> & {
  rows: WrittenRows;
  totals: WrittenRows;
  other: WrittenRows | null;
};

/** Properties of the catalogue, of which none says who a player is. Others are the operator's own, and may be names or addresses. */
const IMPERSONAL: ReadonlySet<string> = new Set(
  Object.values(EVENTS).flatMap(({ properties }) => Object.keys(properties)),
);

/**
 * Reads an answer of `askAnew`. Names of groups are texts of events, and a report has no personal data: groups of a property that
 * is not of the catalogue are numbered, and addresses and telephone numbers in other names are masked. Different names stay different.
 */
export function readAnswer(query: InsightQuery, text: string): TileAnswer {
  const written = parseExact(text) as Written;
  const { columns, currency, timezone } = written;
  const nameOf = shownNames(query);
  const masked = (rows: WrittenRows): WrittenRows =>
    rows.map((row) =>
      row.map((cell, i) => (columns[i]?.type === 'text' && typeof cell === 'string' ? nameOf(cell) : cell)),
    );
  const [rows, totals] = [masked(written.rows), masked(written.totals)];
  const other = written.other === null ? null : masked(written.other);
  const read = (of: WrittenRows) => of.map((row) => row.map((cell, i) => cellOf(cell, columns[i]?.type)));
  return {
    columns,
    currency,
    timezone,
    rows: read(rows),
    totals: read(totals),
    other: other === null ? null : read(other),
    json: new JsonText(exactJson({ ...written, rows, totals, other })),
  };
}

/** Gives each name what is shown of it. */
function shownNames(query: InsightQuery): (name: string) => string {
  const property = 'breakdown' in query ? query.breakdown?.property : undefined;
  const shown = new Map<string, string>();
  const taken = new Set<string>();
  return (name) => {
    const known = shown.get(name);
    if (known !== undefined) return known;
    const is_numbered = property !== undefined && !IMPERSONAL.has(property) && name !== '';
    const masked = is_numbered ? `Group ${shown.size + 1}` : maskedText(name);
    const one = taken.has(masked) ? `${masked} (${shown.size + 1})` : masked;
    taken.add(one);
    shown.set(name, one);
    return one;
  };
}

function maskedText(name: string): string {
  return JSON.parse(maskPersonal(JSON.stringify(name))) as string;
}

/** A cell as the service has it. */
function cellOf(cell: WrittenCell, type: Column['type'] | undefined): Cell {
  if (cell === null || typeof cell === 'boolean') return cell;
  if (typeof cell === 'object' && 'numerator' in cell) {
    const { numerator, denominator } = cell;
    return { numerator: BigInt(String(numerator)), denominator: BigInt(String(denominator)) };
  }
  if (type === 'money' || type === 'count') return BigInt(String(cell));
  return typeof cell === 'object' ? new JsonText(cell.text) : cell;
}
