import { exactJson, JsonText, parseExact } from '../../../platform/exact-json.ts';
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

type Written = Omit<TileAnswer, 'rows' | 'totals' | 'other' | 'json'> & {
  rows: unknown[][];
  totals: unknown[][];
  other: unknown[][] | null;
};

/**
 * Reads an answer of `askAnew`. Names of groups are texts of events, so addresses and telephone numbers in them are masked, and
 * all texts of a property such as `email`: a report has no personal data.
 */
export function readAnswer(query: InsightQuery, text: string): TileAnswer {
  const written = parseExact(text) as Written;
  const { columns, currency, timezone } = written;
  const masked = (rows: unknown[][]) =>
    rows.map((row) =>
      row.map((cell, i) =>
        columns[i]?.type === 'text' && typeof cell === 'string' ? maskedName(query, cell) : cell,
      ),
    );
  const [rows, totals] = [masked(written.rows), masked(written.totals)];
  const other = written.other === null ? null : masked(written.other);
  const read = (of: unknown[][]) => of.map((row) => row.map((cell, i) => cellOf(cell, columns[i]?.type)));
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

function maskedName(query: InsightQuery, name: string): unknown {
  const property = 'breakdown' in query ? query.breakdown?.property : undefined;
  const masked = JSON.parse(maskPersonal(JSON.stringify({ [property ?? 'name']: name }))) as object;
  return Object.values(masked)[0];
}

/** A cell as the service has it; numbers of JSON may be {@link ExactNumber}s. */
function cellOf(cell: unknown, type: Column['type'] | undefined): Cell {
  if (cell === null || cell === undefined || typeof cell === 'boolean') return cell ?? null;
  if (type === 'money' || type === 'count') return BigInt(String(cell));
  if (type === 'rate') {
    const { numerator, denominator } = cell as { numerator: unknown; denominator: unknown };
    return { numerator: BigInt(String(numerator)), denominator: BigInt(String(denominator)) };
  }
  if (typeof cell === 'number' || typeof cell === 'string') return cell;
  return new JsonText(String(cell));
}
