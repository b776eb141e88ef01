import { describe, expect, it } from 'vitest';
import { MAX_LINE_BYTES } from '../../scripts/import/lines.ts';
import { readHeader, readRecords, type FileFormat, type FileRecord } from '../../scripts/import/records.ts';
import { fileOf } from './import-file.ts';

const CSV: FileFormat = { kind: 'csv', delimiter: ',', quote: '"', columns: undefined };

async function read(content: string | Buffer, format = CSV, from?: { offset: number; line: number }) {
  const file = await fileOf(content);
  const { length } = Buffer.from(content);
  const { columns, first } = await readHeader(file, format, length);
  const records: FileRecord[] = [];
  for await (const part of readRecords(file, format, columns, from ?? first, length)) records.push(...part);
  return { columns, records };
}

const fieldsOf = (records: readonly FileRecord[]) =>
  records.map(({ line, fields, refusal }) => [line, fields ?? refusal?.code]);

describe('CSV', () => {
  it('has the columns of the header, quoted fields, blank lines and any line ends', async () => {
    const { columns, records } = await read('\uFEFFa,b\r\n1,"x, ""y"""\r\n\r\n2,\n3,z');
    expect(columns).toEqual(['a', 'b']);
    expect(fieldsOf(records)).toEqual([
      [2, ['1', 'x, "y"']],
      [4, ['2', '']],
      [5, ['3', 'z']],
    ]);
  });

  it('joins the lines of a quoted field', async () => {
    const { records } = await read('a,b\n1,"x\ny\n\nz"\n2,w\n');
    expect(fieldsOf(records)).toEqual([
      [2, ['1', 'x\ny\n\nz']],
      [6, ['2', 'w']],
    ]);
  });

  it('refuses a malformed line and reads the next one', async () => {
    const rows = ['a,b', '1,5" nail', '2,x', '3,y,z', '4,"q"q', '5,w', '6,"open', '7,v'];
    const { records } = await read(rows.join('\n'));
    expect(fieldsOf(records)).toEqual([
      [2, 'LINE_MALFORMED'],
      [3, ['2', 'x']],
      [4, 'LINE_MALFORMED'],
      [5, 'LINE_MALFORMED'],
      [6, ['5', 'w']],
      [7, 'LINE_MALFORMED'],
      [8, ['7', 'v']],
    ]);
  });

  it('refuses a line that is too long or no UTF-8, without keeping it', async () => {
    const long = Buffer.from(`a,b\n1,${'x'.repeat(3 * MAX_LINE_BYTES)}\n2,y\n`);
    expect(fieldsOf((await read(long)).records)).toEqual([
      [2, 'LINE_TOO_LONG'],
      [3, ['2', 'y']],
    ]);
    const latin = Buffer.from('a,b\n1,\xe9\n2,é\n', 'latin1');
    expect((await read(latin)).records.map(({ refusal }) => refusal?.reason)).toEqual([
      'the line is not UTF-8',
      'the line is not UTF-8',
    ]);
  });

  it('reads the same records from the end of any record on', async () => {
    const rows = ['a,b', '1,"x\ny"', '', '2,5" nail', '3,z', '4,"q"q', '5,"1\n2"', '6,"7"', '7,"w'];
    const text = rows.join('\r\n');
    const { records } = await read(text);
    expect(records.length).toBeGreaterThan(6);
    for (const [i, { end, next_line }] of records.entries()) {
      const rest = await read(text, CSV, { offset: end, line: next_line });
      expect(rest.records).toEqual(records.slice(i + 1));
    }
  });

  it('has given columns, another delimiter, or runs of spaces', async () => {
    const spaces: FileFormat = { kind: 'csv', delimiter: 'spaces', quote: null, columns: ['_', 'a', 'b'] };
    expect(fieldsOf((await read(' 1     x"\r\n 22 y\r\n', spaces)).records)).toEqual([
      [1, ['', '1', 'x"']],
      [2, ['', '22', 'y']],
    ]);
    const semicolons: FileFormat = { ...CSV, delimiter: ';' };
    expect(fieldsOf((await read('a;b\n1;2,5\n', semicolons)).records)).toEqual([[2, ['1', '2,5']]]);
  });

  it('has each column once', async () => {
    await expect(read('a,b,a\n1,2,3\n')).rejects.toThrow('the header has the column "a" twice');
    await expect(read('')).rejects.toThrow('the file is empty');
  });
});

it('NDJSON has an object a line, whose numbers keep their digits', async () => {
  const text = '{"a":1}\n\n[1]\nnot\n{"a":123456789012345678901}';
  const { records } = await read(text, { kind: 'ndjson' });
  expect(
    fieldsOf(records).map(([line, found]) => [line, typeof found === 'string' ? found : 'fields']),
  ).toEqual([
    [1, 'fields'],
    [3, 'LINE_MALFORMED'],
    [4, 'LINE_MALFORMED'],
    [5, 'fields'],
  ]);
  const last = records.at(-1)?.fields as Record<string, unknown> | undefined;
  expect(String(last?.['a'])).toBe('123456789012345678901');
});
