import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { csvOf, defused, figureRows, fileColumns } from '../../../src/analytics/insights/exports/csv.ts';
import { JsonText } from '../../../src/platform/exact-json.ts';
import type { Column } from '../../../src/analytics/insights/kind.ts';

const column = (name: string, type: Column['type']): Column => ({
  name,
  label: name,
  type,
  series: null,
  is_compared: false,
});

/** An independent reading of RFC 4180. */
function parse(csv: string): string[][] {
  const rows: string[][] = [];
  let [row, cell, is_quoted] = [[] as string[], '', false];
  for (let i = 0; i < csv.length; i++) {
    const char = csv[i] ?? '';
    if (is_quoted) {
      if (char !== '"') cell += char;
      else if (csv[i + 1] === '"') cell += csv[++i];
      else is_quoted = false;
    } else if (char === '"') is_quoted = true;
    else if (char === ',') [row, cell] = [[...row, cell], ''];
    else if (char === '\r' && csv[i + 1] === '\n') {
      rows.push([...row, cell]);
      [row, cell] = [[], ''];
      i++;
    } else cell += char;
  }
  return rows;
}

it('any text is read back as it was, and none begins a formula', () => {
  const columns = fileColumns([column('group', 'text')]);
  const text = fc.oneof(fc.string(), fc.stringMatching(/^[=+\-@\t\r\n",]{1,4}/));
  fc.assert(
    fc.property(fc.array(text), (texts) => {
      const [header, ...rows] = parse(
        csvOf(
          columns,
          texts.map((one) => [one]),
        ),
      );
      expect(header).toEqual(['group']);
      expect(rows).toEqual(texts.map((one) => [defused(one)]));
      for (const [cell = ''] of rows) expect(cell).not.toMatch(/^[=+\-@\t\r\n]/);
    }),
  );
});

it('numbers stay numbers, rates are two columns, and what is missing is empty', () => {
  const columns = fileColumns([
    column('at', 'time'),
    column('ggr', 'money'),
    column('hold', 'rate'),
    column('mean', 'number'),
    column('is_complete', 'bool'),
  ]);
  const rows = [
    [
      '2026-07-01T00:00:00.000Z',
      -(2n ** 70n),
      { numerator: -5n, denominator: 10n },
      new JsonText('-1.50'),
      true,
    ],
    [null, null, null, null, false],
  ];
  expect(csvOf(columns, rows)).toBe(
    'at,ggr,hold.numerator,hold.denominator,mean,is_complete\r\n' +
      '2026-07-01T00:00:00.000Z,-1180591620717411303424,-5,10,-1.50,true\r\n' +
      ',,,,,false\r\n',
  );
});

it('what groups leave differs from a group without a name, and no row counts twice', () => {
  const columns = [column('at', 'time'), column('group', 'text'), column('deposits', 'money')];
  const rows = [
    ['2026-01-01', 'card', 10n],
    ['2026-01-01', '', 3n],
  ];
  const other = [
    ['2026-01-01', null, 4n],
    [null, null, 4n],
  ];
  const file = figureRows({ columns, rows, other });
  expect(parse(csvOf(file.columns, file.rows))).toEqual([
    ['part', 'at', 'group', 'deposits'],
    ['group', '2026-01-01', 'card', '10'],
    ['group', '2026-01-01', '', '3'],
    ['other', '2026-01-01', '', '4'],
  ]);
  const plain = figureRows({ columns, rows, other: null });
  expect([plain.columns.map(({ name }) => name), plain.rows]).toEqual([['at', 'group', 'deposits'], rows]);
});
