import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { acceptBatch, parseJsonBody } from '../../src/ingest/intake/accept.ts';
import { eventTexts } from '../../src/ingest/intake/event-texts.ts';
import { exactJson, parseExact } from '../../src/platform/exact-json.ts';
import { newId } from '../../src/platform/ids.ts';
import { runs } from '../engines/effort.ts';

/** White space between tokens: none in most texts, much in some. */
const space = fc.oneof(
  { weight: 8, arbitrary: fc.constant('') },
  { weight: 2, arbitrary: fc.constantFrom(' ', '\n', '\r\n\t', '\n      ') },
);

/** What a scan could take for the end of a text, of a list or of an object. */
const texts = fc.oneof(
  fc.constantFrom('"', '\\', '\\"', '],[', '}{', '{"events":[', '\u0000', '\ud800', '😀', 'ü', '\u2028', ''),
  fc.string({ unit: 'binary', maxLength: 12 }),
);
/** Each UTF-16 unit as an escape. */
const escaped = (value: string) =>
  Array.from(
    { length: value.length },
    (_, i) => `\\u${value.charCodeAt(i).toString(16).padStart(4, '0')}`,
  ).join('');

const text = texts.chain((value) => fc.constantFrom(JSON.stringify(value), `"${escaped(value)}"`));
const number = fc.oneof(
  fc.constantFrom(
    '0',
    '-0',
    '1.50',
    '1e3',
    '1E+2',
    '1e-400',
    '18446744073709551616',
    '9007199254740993.0',
    '0.1234567890123456789',
  ),
  fc.integer().map(String),
);

/** Nested more deeply than properties may be. The last value of a key counts: another may hide it from the checks. */
const DEEP = '['.repeat(60);
const deep = `${DEEP}${DEEP.replaceAll('[', ']')}`;

const { value: json, members } = fc.letrec<{ value: string; list: string; object: string; members: string }>(
  (tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      text,
      number,
      fc.constantFrom('true', 'false', 'null'),
      tie('list'),
      tie('object'),
    ),
    list: fc
      .tuple(space, fc.array(tie('value'), { maxLength: 4 }), space)
      .map(([a, values, b]) => `[${a}${values.join(`${b},${a}`)}${b}]`),
    object: fc.tuple(space, tie('members'), space).map(([a, some, b]) => `{${a}${some}${b}}`),
    // Few keys: some are repeated, and one is written in two ways.
    members: fc
      .array(
        fc.tuple(
          fc.constantFrom('"a"', '"\\u0061"', '"__proto__"', '"events"', '""'),
          space,
          tie('value'),
          space,
        ),
        { maxLength: 4 },
      )
      .map((some) =>
        some
          .map(([key, a, value, b]) => `${key}${a}:${b}${value}${a}`)
          .join(`,${'\n'.slice(some.length % 2)}`),
      ),
  }),
);

/** A body: mostly one list of events, in some the key is repeated or written with escapes. */
const body = fc
  .tuple(
    fc.array(fc.oneof({ weight: 20, arbitrary: json }, fc.constantFrom(`{"a":${deep},"a":1}`, deep)), {
      minLength: 1,
      maxLength: 5,
    }),
    space,
    space,
    fc.constantFrom('', '"events":[{"a":1}],', '"events":"],",'),
    fc.constantFrom('"events"', '"events"', '"\\u0065vents"'),
  )
  .map(
    ([events, a, b, before, key]) =>
      `${a}{${b}${before}${a}${key}${b}:${a}[${b}${events.join(`${a},${b}`)}${a}]${b}}${a}`,
  );

const RUNS = runs(2_000, { nightly: 50_000 });

test('the texts cut out of a batch are those of its events', () => {
  let cut = 0;
  const property = fc.property(body, (whole) => {
    const { events } = parseExact(whole) as { events: unknown[] };
    const found = eventTexts(whole, events.length);
    expect([0, events.length]).toContain(found.length);
    for (const [i, one] of found.entries()) {
      if (one === undefined) continue;
      cut++;
      // In a list: a number or a text alone is no JSON that `parseExact` takes.
      expect(parseExact(`[${one}]`)).toStrictEqual([events[i]]);
      expect(one.length).toBeLessThanOrEqual(whole.length);
      expect(one).not.toContain(DEEP);
    }
  });
  fc.assert(property, { numRuns: RUNS });
  expect(cut).toBeGreaterThan(RUNS / 2);
});

const id = newId();
const stamp = { ingestion_id: id, tenant_id: id, project_id: id, environment: 'dev', received_at_ms: 1 };
const context = { now_ms: Date.UTC(2026, 2, 1), hasCurrency: () => true };

test('a record of a batch has the event that serializing it again gives', () => {
  const property = fc.property(fc.array(members, { minLength: 1, maxLength: 5 }), space, (some, a) => {
    const events = some.map(
      (properties) =>
        `{"event":"login","event":"custom_spin",${a}"anonymous_id":"x","properties":{${properties}}}`,
    );
    const parsed = parseJsonBody(Buffer.from(`{"events":${a}[${events.join(`${a},`)}]}`));
    const { events: values } = parsed.value as { events: unknown[] };
    const { records, result } = acceptBatch(parsed, stamp, context);
    const refused = new Set(result.rejected.map(({ index }) => index));
    const kept = values.filter((_, index) => !refused.has(index));
    expect(records.length).toBe(kept.length);
    for (const [i, { value }] of records.entries()) {
      const { event } = parseExact(value) as { event: unknown };
      expect(event).toStrictEqual(kept[i]);
      // What differs, the sign of 0 and the form of digits, no reader tells apart.
      expect(exactJson(event)).toBe(exactJson(kept[i]));
    }
  });
  fc.assert(property, { numRuns: runs(500, { nightly: 20_000 }) });
});

test('an event with much white space, and a body of another form, are serialized again', () => {
  const spaced = '{"a":            1}';
  expect(eventTexts(`{"events":[{"a": 1, "b": "c,d"} , ${spaced},7]}`, 3)).toEqual([
    '{"a": 1, "b": "c,d"}',
    undefined,
    '7',
  ]);
  expect(eventTexts(`{"events":[{"a":${deep},"a":1},{"a":[{}]}]}`, 2)).toEqual([undefined, '{"a":[{}]}']);
  expect(eventTexts('{"events":[{}],"events":[{}]}', 1)).toEqual([]);
  expect(eventTexts('{"events":[{}],"\\u0065vents":[{}]}', 1)).toEqual([]);
  expect(eventTexts('{"\\u0065vents":[{}]}', 1)).toEqual([]);
  expect(eventTexts('{"events":[1]}', 2)).toEqual([]);
});
