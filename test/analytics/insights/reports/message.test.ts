import { describe, expect, it } from 'vitest';
import { exactJson } from '../../../../src/platform/exact-json.ts';
import type { Cell, Column } from '../../../../src/analytics/insights/kind.ts';
import { readAnswer } from '../../../../src/analytics/insights/reports/answer.ts';
import {
  mailOf,
  MAX_ANSWER_BYTES,
  MAX_PICTURE_BYTES,
  payloadOf,
  type MadeReport,
} from '../../../../src/analytics/insights/reports/message.ts';
import { MAX_ROWS } from '../../../../src/analytics/insights/reports/table.ts';
import type { InsightQuery } from '../../../../src/analytics/insights/schema.ts';
import { UTC_ZONE } from '../../../../src/platform/time-zone.ts';

const column = (name: string, label: string, type: Column['type'], series: number | null = null): Column => ({
  name,
  label,
  type,
  series,
  is_compared: false,
});
const AT = column('at', 'Time', 'time');
const OVER = column('is_complete', 'Complete', 'bool');
const DAY_MS = 86_400_000;
const DUE_MS = Date.UTC(2026, 10, 30, 6);

interface Given {
  query?: object;
  columns: Column[];
  rows: Cell[][];
  totals?: Cell[][];
  other?: Cell[][] | null;
}

const TREND = { kind: 'trend', range: { last: { days: 7 } }, interval: 'day', series: [{ metric: 'ggr' }] };

function tileOf({ query = TREND, columns, rows, totals = [], other = null }: Given, name = 'Tile') {
  const asked = query as InsightQuery;
  const answer = readAnswer(
    asked,
    exactJson({ kind: asked.kind, currency: 'EUR', timezone: 'UTC', columns, rows, totals, other }),
  );
  return { insight_id: 'i', name, query: asked, answer, fault: null };
}

function reportOf(...tiles: MadeReport['tiles']): MadeReport {
  const project = { tenant_id: 't', project_id: 'p' };
  const currencies = new Map([['EUR', { kind: 'fiat' as const, scale: 2 }]]);
  return {
    project,
    name: 'Report',
    board: { dashboard_id: 'd', name: 'Board' },
    tiles,
    due_ms: DUE_MS,
    zone: UTC_ZONE,
    money: { base_currency: 'EUR', currencies },
    public_url: 'https://service.example',
  };
}
const IDS = { notice_id: 'n', report_id: 'r', now: new Date(DUE_MS) };
const day = (n: number) => new Date(DUE_MS - 6 * 3_600_000 + n * DAY_MS).toISOString();

describe('a message', () => {
  it('has the newest intervals, how many more there are, and the total', async () => {
    const columns = [AT, OVER, column('ggr', 'GGR', 'money', 0)];
    const rows = Array.from({ length: 40 }, (_, i): Cell[] => [day(i - 40), i < 39, BigInt(i * 100)]);
    const { text, html } = await mailOf(
      reportOf(tileOf({ columns, rows, totals: [[null, false, 78_000n]] })),
    );
    const lines = text.split('\n');
    expect(lines.filter((line) => /^\d{4}-\d\d-\d\d/.test(line))).toHaveLength(MAX_ROWS);
    expect(lines).toContain('9 more rows in the console');
    expect(lines).toContain('2026-11-29 (goes on) | €39.00');
    expect(lines).toContain('Total | €780.00');
    expect(html).toContain('dashed: goes on');
  });

  it('writes figures exactly, and rates as what they are', async () => {
    const query = {
      ...TREND,
      series: [{ metric: 'ggr' }, { metric: 'hold' }, { metric: 'arpu' }, { metric: 'active_players' }],
    };
    const columns = [
      AT,
      OVER,
      column('ggr', 'GGR', 'money', 0),
      column('hold', 'Hold', 'rate', 1),
      column('arpu', 'ARPU', 'rate', 2),
      column('active_players', 'Active', 'count', 3),
    ];
    const big = 12_345_678_901_234_567_890n;
    const rates = [
      { numerator: 1n, denominator: 3n },
      { numerator: 1_000n, denominator: 4n },
    ];
    const rows: Cell[][] = [
      [day(-2), true, big, ...rates, 7n],
      [day(-1), true, -5n, { numerator: 0n, denominator: 0n }, null, 0n],
    ];
    const tile = tileOf({ query, columns, rows });
    const { text, pictures } = await mailOf(reportOf(tile));
    expect(text).toContain('2026-11-28 | €123,456,789,012,345,678.90 | 33.33 % | €2.50 | 7');
    expect(text).toContain('2026-11-29 | -€0.05 | none | none | 0');
    // Money, a share and a count.
    expect(pictures).toHaveLength(3);
    expect(payloadOf(reportOf(tile), IDS)).toContain('12345678901234567890');
  });

  it('of a retention has a row of each cohort', async () => {
    const query = {
      kind: 'retention',
      range: TREND.range,
      interval: 'day',
      cohort: 'signup',
      returns: 'active',
    };
    const columns = [
      column('cohort', 'Cohort', 'time'),
      column('period', 'Period', 'number'),
      OVER,
      column('size', 'Players of the cohort', 'count'),
      column('players', 'Players who returned', 'count'),
      column('retention', 'Share who returned', 'rate'),
    ];
    const share = (numerator: bigint) => ({ numerator, denominator: 4n });
    const rows: Cell[][] = [
      [day(-2), 0, true, 4n, 4n, share(4n)],
      [day(-2), 1, true, 4n, 1n, share(1n)],
      [day(-1), 0, true, 4n, 3n, share(3n)],
      [day(-1), 1, false, 4n, null, null],
    ];
    const totals: Cell[][] = [[null, 0, true, 8n, 7n, { numerator: 7n, denominator: 8n }]];
    const { text } = await mailOf(reportOf(tileOf({ query, columns, rows, totals })));
    expect(text).toContain(
      [
        'Cohort | Players | 0 | 1',
        '2026-11-28 | 4 | 100 % | 25 %',
        '2026-11-29 | 4 | 75 % | none',
        'All | 8 | 87.5 % | ',
      ].join('\n'),
    );
  });

  it('of a retention with a value has its money, and says which days a tile is about', async () => {
    const query = {
      kind: 'retention',
      range: { from: '2026-11-01T00:00:00Z', to: '2026-11-29T00:00:00Z' },
      interval: 'day',
      cohort: 'first_deposit',
      returns: 'deposit',
      value: 'ngr',
    };
    const columns = [
      column('cohort', 'Cohort', 'time'),
      column('period', 'Period', 'number'),
      OVER,
      column('size', 'Players of the cohort', 'count'),
      column('players', 'Players who returned', 'count'),
      column('retention', 'Share who returned', 'rate'),
      column('value_players', 'Players with money', 'count'),
      column('value', 'Money', 'money'),
    ];
    const half = { numerator: 1n, denominator: 2n };
    const rows: Cell[][] = [
      [day(-2), 0, true, 2n, 1n, half, 1n, 4_200n],
      [day(-2), 1, false, 2n, null, null, null, null],
    ];
    const { text, html } = await mailOf(reportOf(tileOf({ query, columns, rows })));
    expect(text).toContain(
      '2026-11-01 to 2026-11-28\nCohort | Players | 0 | 1\n2026-11-28 | 2 | 50 %, €42.00 | none',
    );
    expect(html).toContain('<p>2026-11-01 to 2026-11-28</p>');
  });

  it('escapes texts of others, and has no line break in its subject', async () => {
    const query = { ...TREND, breakdown: { by: 'item', top: 2 } };
    const columns = [AT, OVER, column('group', 'Group', 'text'), column('ggr', 'GGR', 'money', 0)];
    const evil = '<script>alert("1")</script>';
    const rows: Cell[][] = [[day(-1), true, evil, 5n]];
    const totals: Cell[][] = [
      [null, true, null, 9n],
      [null, true, evil, 5n],
    ];
    const other: Cell[][] = [[null, true, null, 4n]];
    const tile = tileOf({ query, columns, rows, totals, other }, evil);
    const { html, text, subject } = await mailOf({ ...reportOf(tile), name: 'a\r\nBcc: b@example.com' });
    expect(subject).toBe('Report: a Bcc: b@example.com');
    expect(html).not.toContain('<script');
    expect(html).toContain('&lt;script&gt;');
    expect(text).toContain(`${evil} | €0.05\nRest | €0.04\nTotal | €0.09`);
  });

  it('has nothing personal in names of groups', async () => {
    const columns = [AT, OVER, column('group', 'Group', 'text'), column('ggr', 'GGR', 'money', 0)];
    const tileBy = (property: string, group: string) => {
      const query = { ...TREND, breakdown: { by: 'property', property, top: 2 } };
      const totals: Cell[][] = [
        [null, true, null, 5n],
        [null, true, group, 5n],
      ];
      return tileOf({ query, columns, rows: [[day(-1), true, group, 5n]], totals, other: [] });
    };
    const secrets = ['jane@example.com', '+356 9912 3456', '99123456', 'John Smith', '85.12.3.4'];
    const report = reportOf(
      tileBy('source', secrets[0] ?? ''),
      tileBy('tag', secrets[1] ?? ''),
      tileBy('phone', secrets[2] ?? ''),
      tileBy('full_name', secrets[3] ?? ''),
      tileBy('ip', secrets[4] ?? ''),
      tileBy('game_id', 'book-of-ra'),
      tileBy('reason', secrets[0] ?? ''),
    );
    const mail = await mailOf(report);
    const sent = mail.html + mail.text + payloadOf(report, IDS);
    for (const secret of secrets) expect(sent).not.toContain(secret);
    expect(mail.text).toContain('book-of-ra');
  });

  it('tells masked names apart', () => {
    const query = { ...TREND, breakdown: { by: 'property', property: 'reason', top: 2 } };
    const columns = [AT, OVER, column('group', 'Group', 'text'), column('ggr', 'GGR', 'money', 0)];
    const names = ['jan@gmail.com', 'joe@gmail.com'];
    const rows: Cell[][] = names.map((name) => [day(-1), true, name, 5n]);
    const { answer } = tileOf({ query, columns, rows, totals: rows, other: [] });
    const shown = answer?.rows.map((row) => row[2]) ?? [];
    expect(new Set(shown).size).toBe(2);
    expect(answer?.totals.map((row) => row[2])).toEqual(shown);
  });

  it('has as many pictures as there is room for, and all tables', async () => {
    const names = ['deposits', 'withdrawals', 'ggr', 'won', 'wagered'];
    const query = { ...TREND, series: names.map((metric) => ({ metric })) };
    const columns = [AT, OVER, ...names.map((name, i) => column(name, name, 'money', i))];
    const rows = Array.from({ length: 400 }, (_, i): Cell[] => [
      day(i - 400),
      true,
      ...names.map((_name, k) => BigInt((i * 7_919 + k * 104_729) % 1_000)),
    ]);
    const tile = tileOf({ query, columns, rows });
    const { pictures, html } = await mailOf(reportOf(...Array.from({ length: 24 }, () => tile)));
    const bytes = pictures.reduce((sum, { png }) => sum + png.length, 0);
    expect(bytes).toBeGreaterThan(MAX_PICTURE_BYTES / 2);
    expect(bytes).toBeLessThanOrEqual(MAX_PICTURE_BYTES);
    expect(html.split('<img ').length - 1).toBe(pictures.length);
    expect(html.split('369 more rows in the console').length - 1).toBe(24);
  });

  it('of a dashboard without tiles says so', async () => {
    expect((await mailOf(reportOf())).text).toContain('The dashboard has no tiles.');
  });
});

describe('the body of a webhook', () => {
  it('names answers that have no room', () => {
    const columns = [AT, OVER, column('ggr', 'GGR', 'money', 0)];
    const long = tileOf({ columns, rows: [['x'.repeat(MAX_ANSWER_BYTES * 0.6), true, 1n]] });
    const short = tileOf({ columns, rows: [[day(-1), true, 1n]] });
    const { tiles } = JSON.parse(payloadOf(reportOf(long, long, short), IDS)) as {
      tiles: { answer: object | null; error: { code: string } | null }[];
    };
    expect(tiles.map(({ error }) => error?.code)).toEqual([undefined, 'ANSWER_TOO_LARGE', undefined]);
    expect(tiles.map(({ answer }) => answer === null)).toEqual([false, true, false]);
  });
});
