import { isUtf8 } from 'node:buffer';
import { parse } from 'csv-parse/sync';
import { parseExact } from '../../src/platform/exact-json.ts';
import { MAX_LINE_BYTES, readLines, type FileLine, type Position } from './lines.ts';
import { ImportError, shown, type Refusal } from './refusal.ts';

/** How the lines of a file are divided into columns. */
export type FileFormat =
  | { kind: 'ndjson' }
  | { kind: 'csv'; delimiter: string; quote: string | null; columns: readonly string[] | undefined };

/** The fields of a record by column; a field of a CSV file is text. */
export type Fields = readonly string[] | Readonly<Record<string, unknown>>;

/**
 * A record: a line of the file, or several where a quoted field has line ends. `line` is the first of them, and `end` and
 * `next_line` are where the next record begins.
 */
export type FileRecord = { line: number; end: number; next_line: number } & (
  { fields: Fields; refusal?: undefined } | { fields?: undefined; refusal: Refusal }
);

/** Lines that one record of a CSV file may have. */
const MAX_RECORD_LINES = 100;
const BOM = '\uFEFF';
const QUOTED_LINE_END = '\n';

/** Reads the column names of a CSV file and where its records begin; without a header row the names are given. */
export async function readHeader(
  file: string,
  format: FileFormat,
  size: number,
): Promise<{ columns: readonly string[] | undefined; first: Position }> {
  const begin = { offset: 0, line: 1 };
  if (format.kind === 'ndjson') return { columns: undefined, first: begin };
  if (format.columns !== undefined) return { columns: format.columns, first: begin };
  for await (const [header] of readLines(file, begin, size)) {
    if (header === undefined) continue;
    const text = header.bytes === undefined ? undefined : textOf(header);
    if (text === undefined) throw new ImportError('the first line of the file is no header: see "columns"');
    const columns = (parseCsv(text, format)[0] ?? []).map((name) => name.trim());
    const twice = columns.find((name, i) => columns.indexOf(name) !== i);
    if (twice !== undefined) throw new ImportError(`the header has the column ${shown(twice)} twice`);
    return { columns, first: { offset: header.end, line: 2 } };
  }
  throw new ImportError('the file is empty');
}

/** The records from a position on, in parts; blank lines are none. */
export async function* readRecords(
  file: string,
  format: FileFormat,
  columns: readonly string[] | undefined,
  from: Position,
  size: number,
): AsyncGenerator<FileRecord[]> {
  const reader = format.kind === 'csv' ? new CsvReader(format, columns?.length ?? 0) : undefined;
  for await (const lines of readLines(file, from, size)) {
    const records = reader === undefined ? lines.flatMap(jsonRecord) : reader.read(lines);
    if (records.length > 0) yield records;
  }
  const rest = reader?.end() ?? [];
  if (rest.length > 0) yield rest;
}

/** The text of a line that is not too long; undefined when it is not UTF-8. */
function textOf({ line, bytes = Buffer.alloc(0) }: FileLine): string | undefined {
  if (!isUtf8(bytes)) return undefined;
  const text = bytes.toString('utf8');
  return line === 1 && text.startsWith(BOM) ? text.slice(1) : text;
}

/** Why the line cannot be read at all. */
function unreadable({ bytes }: FileLine): Refusal {
  return bytes === undefined
    ? { code: 'LINE_TOO_LONG', reason: `the line is longer than ${MAX_LINE_BYTES} bytes` }
    : { code: 'LINE_MALFORMED', reason: 'the line is not UTF-8' };
}

const malformed = (reason: string): Refusal => ({ code: 'LINE_MALFORMED', reason });

function jsonRecord(of: FileLine): FileRecord[] {
  const at = placeOf(of);
  const text = of.bytes === undefined ? undefined : textOf(of);
  if (text === undefined) return [{ ...at, refusal: unreadable(of) }];
  if (text.trim() === '') return [];
  try {
    const value = parseExact(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return [{ ...at, fields: value as Record<string, unknown> }];
    return [{ ...at, refusal: malformed('the line is no JSON object') }];
  } catch {
    return [{ ...at, refusal: malformed('the line is not JSON') }];
  }
}

type Place = Pick<FileRecord, 'line' | 'end' | 'next_line'>;

/** A line, or the lines of a record. */
type TextLine = Place & { text: string };

function placeOf({ line, end }: FileLine): Place {
  return { line, end, next_line: line + 1 };
}

/**
 * Divides lines into CSV records. A record ends with the first line after which its quotation marks are even in number; the
 * library reads its fields. Where a record of several lines cannot be read, its first line is refused and the next one
 * begins a record, so a stray quotation mark costs a line and not the rest of the file.
 */
class CsvReader {
  readonly #format: FileFormat & { kind: 'csv' };
  readonly #columns: number;
  /** The lines of a record whose quotation is not closed yet. */
  #open: TextLine[] = [];
  #open_chars = 0;

  constructor(format: FileFormat & { kind: 'csv' }, columns: number) {
    this.#format = format;
    this.#columns = columns;
  }

  read(lines: readonly FileLine[]): FileRecord[] {
    const records: FileRecord[] = [];
    const whole: TextLine[] = [];
    const flush = () => records.push(...this.#ofWhole(whole.splice(0)));
    for (const one of lines) {
      const at = placeOf(one);
      const text = one.bytes === undefined ? undefined : textOf(one);
      if (text === undefined) {
        flush();
        records.push(...this.end(), { ...at, refusal: unreadable(one) });
      } else if (this.#open.length === 0 && !this.#opens(text)) {
        if (text.trim() !== '') whole.push({ ...at, text });
      } else {
        flush();
        records.push(...this.#continue({ ...at, text }));
      }
    }
    flush();
    return records;
  }

  /** What is left after the last line. */
  end(): FileRecord[] {
    const records: FileRecord[] = [];
    while (this.#open.length > 0) records.push(...this.#giveUp('a quotation is not closed'));
    return records;
  }

  /** Whether the text has an odd number of quotation marks. */
  #opens(text: string): boolean {
    const { quote } = this.#format;
    if (quote === null) return false;
    let is_odd = false;
    for (let at = text.indexOf(quote); at !== -1; at = text.indexOf(quote, at + 1)) is_odd = !is_odd;
    return is_odd;
  }

  #continue(next: TextLine): FileRecord[] {
    const ends = this.#open.length > 0 && this.#opens(next.text);
    this.#open.push(next);
    this.#open_chars += next.text.length + 1;
    if (this.#open.length > MAX_RECORD_LINES || this.#open_chars > MAX_LINE_BYTES)
      return this.#giveUp('a quotation is not closed');
    if (!ends) return [];
    const text = this.#open.map((one) => one.text).join(QUOTED_LINE_END);
    const record = this.#record({ ...next, line: this.#open[0]?.line ?? next.line, text });
    if (record.refusal !== undefined) return this.#giveUp(record.refusal.reason);
    [this.#open, this.#open_chars] = [[], 0];
    return [record];
  }

  /** Refuses the first open line; the others begin anew. */
  #giveUp(reason: string): FileRecord[] {
    const [first, ...others] = this.#open;
    [this.#open, this.#open_chars] = [[], 0];
    if (first === undefined) return [];
    const records: FileRecord[] = [refused(first, reason)];
    for (const one of others) {
      if (this.#open.length > 0 || this.#opens(one.text)) records.push(...this.#continue(one));
      else if (one.text.trim() !== '') records.push(this.#record(one));
    }
    return records;
  }

  /** Records of one line each: read together, which is faster, and one by one where one of them is malformed. */
  #ofWhole(lines: readonly TextLine[]): FileRecord[] {
    if (lines.length === 0) return [];
    try {
      const rows = parseCsv(lines.map(({ text }) => text).join('\n'), this.#format);
      if (rows.length === lines.length) return lines.map((one, i) => this.#checked(one, rows[i] as string[]));
    } catch {
      // One of them is malformed.
    }
    return lines.map((one) => this.#record(one));
  }

  #record(one: TextLine): FileRecord {
    try {
      const [fields = [], ...more] = parseCsv(one.text, this.#format);
      if (more.length === 0) return this.#checked(one, fields);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      return refused(one, reason.replace(/ at line \d+\b/g, ''));
    }
    return refused(one, 'a quotation is not closed');
  }

  #checked(one: TextLine, fields: string[]): FileRecord {
    if (fields.length !== this.#columns)
      return refused(one, `the line has ${fields.length} columns instead of ${this.#columns}`);
    const { line, end, next_line } = one;
    return { line, end, next_line, fields };
  }
}

function refused({ line, end, next_line }: Place, reason: string): FileRecord {
  return { line, end, next_line, refusal: malformed(reason) };
}

/** A run of spaces separates columns; the longest is tried first. */
const SPACES = Array.from({ length: 32 }, (_, i) => ' '.repeat(32 - i));

function parseCsv(text: string, { delimiter, quote }: FileFormat & { kind: 'csv' }): string[][] {
  return parse(text, {
    delimiter: delimiter === 'spaces' ? SPACES : delimiter,
    quote,
    escape: quote,
    record_delimiter: '\n',
    relax_column_count: true,
  });
}
