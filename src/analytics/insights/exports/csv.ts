import { JsonText } from '../../../platform/exact-json.ts';
import type { Cell, Column, Figures, Row } from '../kind.ts';

/** How a spreadsheet would begin a formula. Text that begins so gets a quote in front, which spreadsheets do not show. */
const FORMULA = /^[=+\-@\t\r\n]/;
/** {@link FORMULA} as ClickHouse has it, in a literal. */
const FORMULA_SQL = String.raw`'^[=+\\-@\\t\\r\\n]'`;

/** A text as a cell that no spreadsheet takes for a formula. Numbers are not texts: a negative one stays. */
export function defused(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text;
}

/** {@link defused} of a nullable text in a statement. */
export function defusedSql(column: string): string {
  return `if(match(${column}, ${FORMULA_SQL}), concat('\\'', ${column}), ${column})`;
}

/** A column of a file: of a rate there are two, its numerator and its denominator. */
export interface FileColumn {
  name: string;
  type: 'time' | 'text' | 'bool' | 'integer' | 'number';
  of: (row: Row) => Exclude<Cell, object> | string;
}

/** The columns of a file with these figures. */
export function fileColumns(columns: readonly Column[]): FileColumn[] {
  return columns.flatMap(({ name, type }, i): FileColumn[] => {
    const plain = (of: Row): Exclude<Cell, object> | string => {
      const cell = of[i] ?? null;
      return cell instanceof JsonText ? cell.text : typeof cell === 'object' ? null : cell;
    };
    if (type === 'rate') {
      return (['numerator', 'denominator'] as const).map((part) => ({
        name: `${name}.${part}`,
        type: 'integer',
        of: (row) => {
          const cell = row[i] ?? null;
          return typeof cell === 'object' && cell !== null && part in cell
            ? (cell as { numerator: bigint; denominator: bigint })[part]
            : null;
        },
      }));
    }
    if (type === 'count' || type === 'money') return [{ name, type: 'integer', of: plain }];
    return [{ name, type, of: plain }];
  });
}

/**
 * The rows of a file with these figures, and its columns. With groups, the column `part` says whether a row is of a group or is what
 * the groups leave (`other`); what they leave of the whole range is no row, since it would count twice in a sum.
 */
export function figureRows({ columns, rows, other }: Pick<Figures, 'columns' | 'rows' | 'other'>): {
  columns: readonly FileColumn[];
  rows: readonly Row[];
} {
  const of_figures = fileColumns(columns);
  if (other === null) return { columns: of_figures, rows };
  const at = columns.findIndex(({ name }) => name === 'at');
  const rest = other.filter((row) => at < 0 || row[at] !== null);
  const is_rest = new Set(rest);
  const part: FileColumn = {
    name: 'part',
    type: 'text',
    of: (row) => (is_rest.has(row) ? 'other' : 'group'),
  };
  return { columns: [part, ...of_figures], rows: [...rows, ...rest] };
}

/** The figures as CSV (RFC 4180) with a line of names. */
export function csvOf(columns: readonly FileColumn[], rows: readonly Row[]): string {
  const line = (cells: readonly string[]) => `${cells.map(quoted).join(',')}\r\n`;
  const header = line(columns.map(({ name }) => defused(name)));
  return header + rows.map((row) => line(columns.map(({ type, of }) => cellText(type, of(row))))).join('');
}

function cellText(type: FileColumn['type'], value: ReturnType<FileColumn['of']>): string {
  if (value === null) return '';
  return type === 'text' ? defused(String(value)) : String(value);
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
