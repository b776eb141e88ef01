import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TestService } from '../engines/service.ts';
import { sharedService } from '../engines/shared-service.ts';
import { acceptedSoFar, expectError, send } from '../ingest/intake-client.ts';
import { custom, deposit, inHours, login, propertiesOf, REQUIRED } from '../ingest/sound-events.ts';

const EMPTY_TEXTS = [
  'undefined',
  'null',
  '[object Object]',
  'NaN',
  '0',
  'guest',
  ' NULL ',
  '"undefined"',
  '  ',
];

let service: TestService;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(() => service.close());

type Body = Record<string, unknown>;

const one = (body: unknown) => send(`${service.ingest_url}/v1/events`, service.api_key, { body });
const oneRaw = (raw: string | Uint8Array<ArrayBuffer>) =>
  send(`${service.ingest_url}/v1/events`, service.api_key, { raw });
const many = (body: unknown) => send(`${service.ingest_url}/v1/events/batch`, service.api_key, { body });
const manyRaw = (raw: string) => send(`${service.ingest_url}/v1/events/batch`, service.api_key, { raw });

describe('a refused request', () => {
  let before: bigint;
  beforeEach(async () => {
    before = await acceptedSoFar(service);
  });
  // No refused request may append an event to the log.
  afterEach(async () => expect(await acceptedSoFar(service)).toBe(before));

  it.each([
    ['no JSON', 'event=login'],
    ['half of a JSON text', '{"event":"login","anonymous_id":"a"'],
    ['two JSON texts', '{"event":"login","anonymous_id":"a"}{}'],
    ['a trailing comma', '{"event":"login","anonymous_id":"a",}'],
    ['a byte order mark', '\ufeff{"event":"login","anonymous_id":"a"}'],
    ['an empty body', ''],
    ['an array', '[{"event":"login","anonymous_id":"a"}]'],
    ['null', 'null'],
    ['a text', '"login"'],
    ['a number', '7'],
    ['an unknown field', '{"event":"login","anonymous_id":"a","amount":1}'],
    ['an unknown field called like a prototype', '{"event":"login","anonymous_id":"a","__proto__":{}}'],
    ['an unknown field called like a function', '{"event":"login","anonymous_id":"a","constructor":{}}'],
    ['an unknown field with an unstorable name', '{"event":"login","anonymous_id":"a","\\u0000\\ud800":1}'],
    ['10,000 arrays in each other', '['.repeat(10_000) + ']'.repeat(10_000)],
    ['500,000 arrays in each other', '['.repeat(500_000) + ']'.repeat(500_000)],
  ])('that is %s is malformed', async (_what, raw) => {
    expectError(await oneRaw(raw), 400, 'BODY_MALFORMED');
    expectError(await manyRaw(raw), 400, 'BODY_MALFORMED');
  });

  it('without any body is malformed, with or without a content type', async () => {
    for (const path of ['/v1/events', '/v1/events/batch']) {
      const url = service.ingest_url + path;
      for (const type of ['application/json', undefined]) {
        const answer = await send(url, service.api_key, { headers: { 'content-type': type } });
        expectError(answer, 400, 'BODY_MALFORMED');
      }
    }
  });

  it('that is not valid UTF-8 is malformed', async () => {
    const sound = Buffer.from('{"event":"login","anonymous_id":"a","external_id":"X"}');
    for (const bytes of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xc0, 0x80]]) {
      const at = sound.indexOf('X');
      const raw = Buffer.concat([sound.subarray(0, at), Buffer.from(bytes), sound.subarray(at + 1)]);
      expectError(await oneRaw(new Uint8Array(raw)), 400, 'BODY_MALFORMED');
    }
  });

  it.each([undefined, 'text/plain', 'application/x-www-form-urlencoded', 'application/xml', 'nonsense'])(
    'with the content type %s is refused',
    async (type) => {
      for (const path of ['/v1/events', '/v1/events/batch']) {
        const headers = { 'content-type': type };
        const answer = await send(service.ingest_url + path, service.api_key, { body: login(), headers });
        expectError(answer, 415, 'UNSUPPORTED_MEDIA_TYPE');
      }
    },
  );

  it('that is compressed otherwise than by gzip or deflate is refused with the encoding', async () => {
    for (const encoding of ['br', 'zstd', 'gzip, br']) {
      const headers = { 'content-type': 'application/json', 'content-encoding': encoding };
      const raw = new Uint8Array(gzipSync('{}'));
      const answer = await send(`${service.ingest_url}/v1/events`, service.api_key, { raw, headers });
      expectError(answer, 415, 'UNSUPPORTED_MEDIA_TYPE', new RegExp(`"${encoding}"`));
    }
  });

  it('over 1 MiB is too large', async () => {
    const text = 'x'.repeat(1024 * 1024);
    expectError(await one(custom({ text })), 413, 'PAYLOAD_TOO_LARGE');
    expectError(await many({ events: [custom({ text })] }), 413, 'PAYLOAD_TOO_LARGE');
  });

  it.each([
    ['no identity', { event: 'login' }],
    ['a null anonymous_id', { event: 'login', anonymous_id: null }],
    ['null ids', { event: 'login', anonymous_id: null, player_id: null }],
    ['only an external_id', { event: 'login', external_id: 'customer-1' }],
  ])('with %s needs an identity', async (_what, body) => {
    expectError(await one(body), 422, 'IDENTITY_REQUIRED');
    await expectRejected(body, 'IDENTITY_REQUIRED');
  });

  it.each(EMPTY_TEXTS)('with the id %j, the text of an empty value, needs an identity', async (id) => {
    const body = { event: 'login', anonymous_id: id };
    expectError(await one(body), 422, 'IDENTITY_REQUIRED', /anonymous_id is .*, the text of an empty value/);
    await expectRejected(body, 'IDENTITY_REQUIRED', /the text of an empty value/);
  });

  it('with the UUID of zeros needs an identity, or the right one', async () => {
    const player_id = '00000000-0000-0000-0000-000000000000';
    expectError(await one({ event: 'login', player_id }), 422, 'IDENTITY_REQUIRED', /player_id is/);
    const both = { event: 'login', player_id, anonymous_id: 'a' };
    expectError(await one(both), 422, 'VALIDATION_ERROR', /the text of an empty value/);
    expectError(await one({ event: 'login', anonymous_id: player_id }), 422, 'IDENTITY_REQUIRED');
  });

  it.each([
    ['anonymous_id', ''],
    ['anonymous_id', 7],
    ['anonymous_id', {}],
    ['anonymous_id', ['a']],
    ['anonymous_id', 'x'.repeat(10_000)],
    ['anonymous_id', 'nul \0'],
    ['anonymous_id', 'lone \ud800 surrogate'],
    ['player_id', 'not a uuid'],
    ['player_id', 7],
    ['player_id', null],
    ['player_id', '00000000-0000-0000-0000-00000000000'],
    ['external_id', null],
    ['external_id', ''],
    ['external_id', 'nul \0'],
    ['timestamp', null],
    ['timestamp', ''],
    ['timestamp', 1_767_225_600_000],
    ['timestamp', 'yesterday'],
    ['timestamp', '2026-01-15'],
    ['timestamp', '2026-01-15T12:00:00'],
    ['timestamp', '2026-01-15 12:00:00Z'],
    ['timestamp', '15.01.2026 12:00'],
    ['timestamp', '2026-02-30T12:00:00Z'],
    ['timestamp', '2025-02-29T12:00:00Z'],
    ['timestamp', '1900-02-29T12:00:00Z'],
    ['timestamp', '2026-13-01T12:00:00Z'],
    ['timestamp', '2026-00-10T12:00:00Z'],
    ['timestamp', '2026-01-00T12:00:00Z'],
    ['timestamp', '2026-04-31T12:00:00Z'],
    ['timestamp', '2026-01-15T24:00:00Z'],
    ['timestamp', '2026-01-15T12:60:00Z'],
    ['timestamp', '2026-01-15T12:00:60Z'],
    ['timestamp', '2026-01-15T12:00:00+25:00'],
    ['timestamp', '+002026-01-15T12:00:00Z'],
    ['timestamp', '2026-01-15T12:00:00Z\n'],
    ['timestamp', '2026-01-15T12:00:00.Z'],
    ['timestamp', inHours(25)],
    ['timestamp', '9999-12-31T23:59:59Z'],
  ])('whose %s is %j names the field', async (field, value) => {
    const body = login({ [field]: value });
    const raw = JSON.stringify(body);
    expectError(await oneRaw(raw), 422, 'VALIDATION_ERROR', new RegExp(field));
    await expectRejected(body, 'VALIDATION_ERROR', new RegExp(field));
  });

  const strangeNames = [
    undefined,
    null,
    7,
    {},
    '',
    'Login',
    'login ',
    'unheard_of',
    'customthing',
    'custom',
    '__proto__',
    'constructor',
  ];
  const unusableNames = ['custom_nul \0', 'custom_lone \ud800', `custom_${'x'.repeat(10_000)}`];
  it.each([...strangeNames, ...unusableNames])(
    'whose event is %j gets an error that mentions the prefix custom_',
    async (event) => {
      expectError(await one(login({ event })), 422, 'PROPERTIES_INVALID', /custom_/);
      await expectRejected(login({ event }), 'PROPERTIES_INVALID', /custom_/);
    },
  );

  it.each([
    ['null', 'null'],
    ['an array', '[]'],
    ['a text', '"x"'],
    ['nested 10,000 deep', `{"x":${'['.repeat(10_000)}${']'.repeat(10_000)}}`],
    ['nested 10,000 objects deep', `{"x":${'{"x":'.repeat(10_000)}1${'}'.repeat(10_000)}}`],
    ['poisoned by __proto__', '{"__proto__":{"admin":true}}'],
    ['poisoned deep inside', '{"x":[{"constructor":{"__proto__":{"admin":true}}}]}'],
    [
      'of too many keys',
      JSON.stringify(Object.fromEntries(Array.from({ length: 2_001 }, (_, i) => [`k${i}`, i]))),
    ],
    ['of too many keys deep inside', `{"list":[${Array(2_001).fill('{"k":1}').join(',')}]}`],
    ['a text with NUL', '{"x":"a\\u0000b"}'],
    ['a text with half a surrogate pair', '{"x":"\\ud83d"}'],
    ['a text with a pair in the wrong order', '{"x":"\\udca9\\ud83d"}'],
    ['a key with NUL', '{"a\\u0000":1}'],
    ['a key with a lone surrogate', '{"x":[{"\\udfff":1}]}'],
  ])('whose properties are %s appends no event', async (_what, properties) => {
    const event = `{"event":"custom_thing","anonymous_id":"a","properties":${properties}}`;
    expectError(await oneRaw(event), 422, 'PROPERTIES_INVALID', /properties/);
    const answer = await manyRaw(`{"events":[${event}]}`);
    expect(answer).toMatchObject({ status: 202, body: { data: { accepted: 0 } } });
  });

  const noNumbers = [-1, 1.5, 2 ** 53, 1e300, -0.1, true, null, {}, [], ['1']];
  const noDigits = ['', '01', '-1', '+1', '1.0', '1e3', ' 1', '1 ', '0x10', '１', 'NaN', '9'.repeat(39)];
  it.each([...noNumbers, ...noDigits, '9'.repeat(5_000)])(
    'whose amount is %j gets an error that names it',
    async (amount) => {
      expectError(await one(deposit({ amount })), 422, 'PROPERTIES_INVALID', /amount/);
      await expectRejected(deposit({ amount }), 'PROPERTIES_INVALID', /amount/);
    },
  );

  it.each(['1e400', '-1e400', '9007199254740993', '0.1e1000'])(
    'whose amount is the number %s gets an error that names it',
    async (n) => {
      const raw = JSON.stringify(deposit()).replace('100', n);
      expectError(await oneRaw(raw), 422, 'PROPERTIES_INVALID', /amount/);
    },
  );

  it.each(['XXX', 'eur', '', 7, null, 'EUR ', '__proto__', 'E\0'])(
    'whose currency is %j gets an error that names it',
    async (currency) => {
      expectError(await one(deposit({ currency })), 422, 'PROPERTIES_INVALID', /currency/);
    },
  );

  it.each([
    ['transaction_id', ''],
    ['transaction_id', 7],
    ['transaction_id', null],
    ['transaction_id', 'x'.repeat(10_000)],
    ['transaction_id', 'nul \0'],
    ['payment_method', ''],
    ['payment_method', {}],
  ])('whose %s is %j gets an error that names it', async (field, value) => {
    expectError(await one(deposit({ [field]: value })), 422, 'PROPERTIES_INVALID', new RegExp(field));
  });

  it.each(['', 'tomorrow', '2026-01-31', 7, '2026-02-30T12:00:00Z'])(
    'whose break ends at %j, which is no time, is refused',
    async (until) => {
      const body = { event: 'cooldown_entered', anonymous_id: 'a', properties: { until } };
      const reason = /properties\.until must be a time in ISO-8601/;
      expectError(await one(body), 422, 'PROPERTIES_INVALID', reason);
      await expectRejected(body, 'PROPERTIES_INVALID', reason);
    },
  );

  it('which has an external_id alone says what external_id is for', async () => {
    const body = { event: 'login', external_id: 'customer-1' };
    expectError(await one(body), 422, 'IDENTITY_REQUIRED', /external_id is for reference.*identify/);
  });

  it('whose currency is in lower case says how codes are written', async () => {
    expectError(await one(deposit({ currency: 'eur' })), 422, 'PROPERTIES_INVALID', /written like EUR/);
  });

  it.each(EMPTY_TEXTS)('whose reference is %j, the text of an empty value, counts for nobody', async (id) => {
    const bodies = [
      ['transaction_id', deposit({ transaction_id: id })],
      [
        'transaction_id',
        { event: 'withdrawal_failed', anonymous_id: 'a', properties: { transaction_id: id } },
      ],
      ['bet_id', { event: 'bet_lost', anonymous_id: 'a', properties: { bet_id: id } }],
      ['bet_id', { event: 'sport_bet_voided', anonymous_id: 'a', properties: { bet_id: id } }],
    ] as const;
    for (const [field, body] of bodies) {
      const reason = new RegExp(`properties\\.${field} is .*, the text of an empty value: .*Send the id$`);
      expectError(await one(body), 422, 'PROPERTIES_INVALID', reason);
      await expectRejected(body, 'PROPERTIES_INVALID', reason);
    }
  });
});

/** Expects that the event is rejected while its batch is accepted. */
async function expectRejected(event: Body, code: string, reason?: RegExp): Promise<void> {
  const answer = await many({ events: [event] });
  expect(answer, answer.text).toMatchObject({
    status: 202,
    body: { data: { accepted: 0, rejected: [{ index: 0, code }] } },
  });
  const rejected = answer.body.data?.['rejected'] as { reason: string }[];
  if (reason !== undefined) expect(rejected[0]?.reason).toMatch(reason);
}

describe('a batch', () => {
  it.each([
    ['a bare array', [login()], 400, 'BODY_MALFORMED'],
    ['no events', {}, 400, 'BODY_MALFORMED'],
    ['events that are an object', { events: {} }, 400, 'BODY_MALFORMED'],
    ['events that are null', { events: null }, 400, 'BODY_MALFORMED'],
    ['another key', { events: [login()], more: 1 }, 400, 'BODY_MALFORMED'],
    ['an event', login(), 400, 'BODY_MALFORMED'],
    ['an empty list', { events: [] }, 422, 'VALIDATION_ERROR'],
    ['101 events', { events: Array.from({ length: 101 }, () => login()) }, 422, 'VALIDATION_ERROR'],
  ])('that is %s is refused as a whole', async (_what, body, status, code) => {
    const before = await acceptedSoFar(service);
    expectError(await many(body), status, code);
    expect(await acceptedSoFar(service)).toBe(before);
  });

  it('of 100 events is accepted', async () => {
    const answer = await many({ events: Array.from({ length: 100 }, () => login()) });
    expect(answer).toMatchObject({ status: 202, body: { data: { accepted: 100, rejected: [] } } });
  });

  it('accepts its valid events, and reports the index and reason of each invalid one', async () => {
    const before = await acceptedSoFar(service);
    const events = [
      login(),
      null,
      login({ more: 1 }),
      login(),
      { event: 'login' },
      deposit({ amount: -1 }),
      'login',
      [login()],
      login({ timestamp: 'x' }),
    ];
    const answer = await many({ events });
    expect(answer.status).toBe(202);
    const { accepted, rejected, ingestion_id } = answer.body.data as {
      accepted: number;
      rejected: { index: number; code: string; reason: string }[];
      ingestion_id: string;
    };
    expect(accepted).toBe(2);
    expect(ingestion_id).toMatch(/^[0-9a-f-]{36}$/);
    expect(rejected.map(({ index, code }) => [index, code])).toEqual([
      [1, 'BODY_MALFORMED'],
      [2, 'BODY_MALFORMED'],
      [4, 'IDENTITY_REQUIRED'],
      [5, 'PROPERTIES_INVALID'],
      [6, 'BODY_MALFORMED'],
      [7, 'BODY_MALFORMED'],
      [8, 'VALIDATION_ERROR'],
    ]);
    for (const { reason } of rejected) expect(reason).toMatch(/\S/);
    expect(await acceptedSoFar(service)).toBe(before + 2n);
  });
});

const EACH_REQUIRED = REQUIRED.flatMap(([events, properties]) =>
  events.flatMap((event) => Object.keys(properties).map((field) => [event, field, properties] as const)),
);
const ENUMS = [
  ['bet_placed', 'game_category', ['slots', 'live', 'table', 'crash', 'dice', 'other']],
  ['bet_settled', 'outcome', ['won', 'lost']],
  ['sport_bet_placed', 'bet_type', ['single', 'accumulator', 'system']],
] as const;

describe('required properties', () => {
  it.each(EACH_REQUIRED)(
    '%s without %s is refused, and the error names it',
    async (event, field, properties) => {
      const others = Object.fromEntries(Object.entries(properties).filter(([name]) => name !== field));
      const message = new RegExp(`\\b${field}\\b`);
      expectError(await one(login({ event, properties: others })), 422, 'PROPERTIES_INVALID', message);
      const nulled = login({ event, properties: { ...properties, [field]: null } });
      expectError(await one(nulled), 422, 'PROPERTIES_INVALID', message);
      await expectRejected(nulled, 'PROPERTIES_INVALID', message);
    },
  );

  it.each(ENUMS)('%s.%s accepts only the listed values', async (event, field, values) => {
    const properties = propertiesOf(event);
    for (const value of values) {
      const answer = await one(login({ event, properties: { ...properties, [field]: value } }));
      expect(answer.status, answer.text).toBe(202);
    }
    for (const value of [`${values[0]} `, values[0].toUpperCase(), '', 7, null, [values[0]]]) {
      const answer = await one(login({ event, properties: { ...properties, [field]: value } }));
      expectError(answer, 422, 'PROPERTIES_INVALID', new RegExp(field));
    }
  });
});
