import { assert, bigInt, integer, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseMapping } from '../../scripts/import/mapping-schema.ts';
import { compileMapping } from '../../scripts/import/mapping.ts';
import type { Fields } from '../../scripts/import/records.ts';
import { moneyOf, timeReader, type MoneyFormat } from '../../scripts/import/values.ts';
import { TimeZone } from '../../src/platform/time-zone.ts';

const PLAIN: MoneyFormat = { decimal: '.', group: undefined, sign: 'refuse' };

describe('money', () => {
  it('is exact in the smallest unit', () => {
    expect(moneyOf('12.34', 2, PLAIN)).toBe(1234);
    expect(moneyOf('+12.3', 2, PLAIN)).toBe(1230);
    expect(moneyOf('007', 0, PLAIN)).toBe(7);
    expect(moneyOf('-0.00', 2, PLAIN)).toBe(0);
    expect(moneyOf('5.100', 2, PLAIN)).toBe(510);
    expect(moneyOf('0.000000000000000001', 18, PLAIN)).toBe(1);
    expect(moneyOf('90071992547409.93', 2, PLAIN)).toBe('9007199254740993');
    expect(moneyOf('1.234.567,5', 2, { ...PLAIN, decimal: ',', group: '.' })).toBe(123456750);
    expect(moneyOf('-5', 2, { ...PLAIN, sign: 'drop' })).toBe(500);
    expect(moneyOf('-5', 2, { ...PLAIN, sign: 'negate' })).toBe(500);
  });

  it.each(['', '1e3', '1.234', '-1', '1,5', 'NaN', '.5', '1.2.3', '0x1', '١'])('refuses %j', (text) => {
    expect(() => moneyOf(text, 2, PLAIN)).toThrow();
  });

  it('refuses groups that are none, and a sign that does not fit', () => {
    for (const text of ['1,23.00', '12,3456', ',123', '1,,234'])
      expect(() => moneyOf(text, 2, { ...PLAIN, group: ',' })).toThrow();
    expect(() => moneyOf('5', 2, { ...PLAIN, sign: 'negate' })).toThrow('is not negative');
  });

  it('of any amount and scale is what its digits say', () => {
    assert(
      property(bigInt(0n, 10n ** 24n), integer({ min: 0, max: 18 }), (amount, scale) => {
        const digits = String(amount).padStart(scale + 1, '0');
        const text = scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
        expect(BigInt(moneyOf(text, scale, PLAIN))).toBe(amount);
      }),
    );
  });
});

describe('times', () => {
  const malta = TimeZone.named('Europe/Malta');

  it('have an offset or a zone', () => {
    const iso = timeReader('iso', malta);
    expect(iso('2026-01-31T12:00:00Z')).toBe('2026-01-31T12:00:00.000Z');
    expect(iso('2026-01-31 12:00:00.1234+0200')).toBe('2026-01-31T10:00:00.123Z');
    expect(iso('2026-01-31 12:00:00')).toBe('2026-01-31T11:00:00.000Z');
    expect(iso('2026-07-01 00:30')).toBe('2026-06-30T22:30:00.000Z');
    expect(iso('2026-07-01')).toBe('2026-06-30T22:00:00.000Z');
    // The clocks go from 02:00 to 03:00.
    expect(iso('2026-03-29 01:59:59')).toBe('2026-03-29T00:59:59.000Z');
    expect(iso('2026-03-29 03:00:00')).toBe('2026-03-29T01:00:00.000Z');
    expect(() => timeReader('iso', undefined)('2026-01-31 12:00:00')).toThrow('give a "zone"');
  });

  it('are seconds or milliseconds, or of a given format', () => {
    expect(timeReader('unix_s', undefined)('1700000000.25')).toBe('2023-11-14T22:13:20.250Z');
    expect(timeReader('unix_ms', undefined)('1700000000250')).toBe('2023-11-14T22:13:20.250Z');
    expect(timeReader('dd/MM/yyyy HH:mm', malta)('31/01/2026 12:00')).toBe('2026-01-31T11:00:00.000Z');
  });

  it.each(['2026-02-30', '2026-13-01 00:00', '31/01/2026', 'now', '', '2026-01-31T25:00:00Z'])(
    'are not %j',
    (text) => {
      expect(() => timeReader('iso', malta)(text)).toThrow();
      expect(() => timeReader('unix_s', undefined)(text)).toThrow();
    },
  );
});

describe('a mapping', () => {
  const columns = ['id', 'player', 'at', 'type', 'sum', 'cur', 'game'];
  const base = { anonymous_id: 'player', timestamp: { time: 'at' } };
  const AT = '2026-01-31T12:00:00Z';

  function map(events: object[], fields: Fields, given: readonly string[] | 'ndjson' = columns) {
    const mapping = parseMapping(JSON.stringify({ ...base, events }));
    const mapper = compileMapping(mapping, { columns: given === 'ndjson' ? undefined : given, source: 'f' });
    return mapper({ line: 7, end: 0, next_line: 8, fields });
  }

  it('chooses events by columns, and their names by a map', () => {
    const events = [
      {
        when: { type: ['BET', 'FREE'] },
        unless: { sum: '' },
        event: 'bet_placed',
        properties: { bet_id: 'id' },
      },
      {
        when: { type: 'WIN' },
        event: { column: 'type', map: { WIN: 'bet_won' } },
        properties: { bet_id: 'id' },
      },
      { when: { type: 'OTHER' }, event: { column: 'cur', map: { EUR: null } } },
    ];
    const names = (type: string, sum = '1') =>
      map(events, ['1', 'p', AT, type, sum, 'EUR', '']).events?.map(({ event }) => event);
    expect(names('BET')).toEqual(['bet_placed']);
    expect(names('BET', '')).toEqual([]);
    expect(names('WIN')).toEqual(['bet_won']);
    expect(names('OTHER')).toEqual([]);
  });

  it('reads properties; an empty field is none', () => {
    const properties = {
      bet_id: { columns: ['cur', 'id'], separator: '/', prefix: 'x-' },
      amount: { money: 'sum', scale: { column: 'cur', of: { JPY: 0 }, otherwise: 2 } },
      currency: 'cur',
      game_id: 'game',
      live: { column: 'type', type: 'boolean' },
      note: { value: 'import' },
      line: { line: true },
    };
    const { events } = map(
      [{ event: 'bet_placed', external_id: { column: 'player', prefix: 'e-' }, properties }],
      ['1', 'p', AT, 'TRUE', '12', 'JPY', ''],
    );
    expect(events).toEqual([
      {
        event: 'bet_placed',
        anonymous_id: 'p',
        external_id: 'e-p',
        timestamp: '2026-01-31T12:00:00.000Z',
        properties: {
          bet_id: 'x-JPY/1',
          amount: 12,
          currency: 'JPY',
          live: true,
          note: 'import',
          line: 'f:7',
        },
      },
    ]);
  });

  it('gives a dedupe_id to events that no id makes count once', () => {
    const dedupe = (event: string, properties = {}) =>
      map(
        [
          { event, properties },
          { event, properties },
        ],
        ['1', 'p', AT, '', '', '', ''],
      ).events?.map((one) => one.properties?.['dedupe_id']);
    expect(dedupe('session_start')).toEqual(['f:7', 'f:7:1']);
    expect(dedupe('custom_x')).toEqual(['f:7', 'f:7:1']);
    expect(dedupe('deposit_failed')).toEqual(['f:7', 'f:7:1']);
    expect(dedupe('session_start', { dedupe_id: 'id' })).toEqual(['1', '1']);
    expect(dedupe('deposit_confirmed', { transaction_id: 'id' })).toEqual([undefined, undefined]);
    expect(dedupe('bet_lost', { bet_id: 'id' })).toEqual([undefined, undefined]);
  });

  it('reads paths of NDJSON, and keeps numbers and their digits', () => {
    const properties = {
      bet_id: 'bet.id',
      amount: { money: 'bet.sum', scale: 2 },
      level: 'level',
      'a.b': 'a.b',
    };
    const fields = { player: 5, at: AT, bet: { id: 'b', sum: 0.3 }, level: 2, 'a.b': true };
    expect(map([{ event: 'bet_placed', properties }], fields, 'ndjson').events?.[0]).toMatchObject({
      anonymous_id: '5',
      properties: { bet_id: 'b', amount: 30, level: 2, 'a.b': true },
    });
  });

  it('refuses a line with a value that does not fit, and says where', () => {
    const properties = { amount: { money: 'sum', scale: 2 } };
    const reason = (sum: string, at = AT) =>
      map([{ event: 'bet_placed', properties }], ['1', 'p', at, '', sum, '', '']).refusal;
    expect(reason('1,5')).toEqual({
      code: 'MAPPING_FAILED',
      reason: 'events.0.properties.amount: "1,5" is no amount',
    });
    expect(reason('1', '')?.reason).toBe('events.0.timestamp: the time is empty');
    const mapped = { event: { column: 'type', map: { A: 'login' } } };
    expect(map([mapped], ['1', 'p', AT, 'B', '', '', '']).refusal?.reason).toBe(
      'events.0.event: "B" of the column "type" is not in the map',
    );
  });

  it('that cannot be used is refused with a line for each field', () => {
    const bad = {
      timestamp: { time: 'at', format: 'dd/MM/yyyy' },
      events: [{ event: 'login', properties: { amount: { money: 'sum' }, x: { colunm: 'y' } } }],
      extra: 1,
    };
    expect(() => parseMapping(JSON.stringify(bad))).toThrow(
      [
        'the mapping cannot be used:',
        '  timestamp: needs a "zone" for this format',
        '  events.0.properties.amount: scale Invalid input',
        '  events.0.properties.x: must be the name of a column, or an object with one of: column, columns, money, time, value, line',
        '  mapping: Unrecognized key: "extra"',
      ].join('\n'),
    );
    expect(() => parseMapping('{"events":[{"event":"login"}]}')).toThrow(
      /events\.0: has no "timestamp"[\s\S]*events\.0: has neither "anonymous_id" nor "player_id"/,
    );
    expect(() => parseMapping('{')).toThrow('the mapping is not JSON');
    expect(() => map([{ event: 'login', properties: { x: 'y' } }], [])).toThrow(
      'events.0.properties.x reads the column "y", which the file does not have. Its columns: id, player, at',
    );
  });
});
