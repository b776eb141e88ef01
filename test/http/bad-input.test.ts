import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually, folded, startTestService, sunk, type TestService } from '../engines/embedded.ts';
import { acceptedSoFar, expectEnvelope, expectError, send, type IntakeAnswer } from './intake-client.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());

type Body = Record<string, unknown>;

const one = (body: unknown) => send(`${service.ingest_url}/v1/events`, service.api_key, { body });
const oneRaw = (raw: string | Uint8Array<ArrayBuffer>) =>
  send(`${service.ingest_url}/v1/events`, service.api_key, { raw });
const many = (body: unknown) => send(`${service.ingest_url}/v1/events/batch`, service.api_key, { body });
const manyRaw = (raw: string) => send(`${service.ingest_url}/v1/events/batch`, service.api_key, { raw });
const login = (more: Body = {}): Body => ({ event: 'login', anonymous_id: 'somebody', ...more });
const custom = (properties: unknown): Body => login({ event: 'custom_thing', properties });
const deposit = (more: Body = {}): Body =>
  login({
    event: 'deposit_confirmed',
    properties: { amount: 100, currency: 'EUR', transaction_id: 't', payment_method: 'card', ...more },
  });
const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();

describe('a refused request', () => {
  let before: bigint;
  beforeEach(async () => {
    before = await acceptedSoFar(service);
  });
  // Whatever was wrong: nothing of it reaches the log.
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
        expectEnvelope(answer);
        expect([400, 415]).toContain(answer.status);
      }
    }
  });

  it('that is not UTF-8 is malformed', async () => {
    const sound = Buffer.from('{"event":"login","anonymous_id":"a","external_id":"X"}');
    for (const bytes of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xc0, 0x80]]) {
      const at = sound.indexOf('X');
      const raw = Buffer.concat([sound.subarray(0, at), Buffer.from(bytes), sound.subarray(at + 1)]);
      expectError(await oneRaw(new Uint8Array(raw)), 400, 'BODY_MALFORMED');
    }
  });

  it.each([undefined, 'text/plain', 'application/x-www-form-urlencoded', 'application/xml', 'nonsense'])(
    'of the content type %s is not looked at',
    async (type) => {
      for (const path of ['/v1/events', '/v1/events/batch']) {
        const headers = { 'content-type': type };
        const answer = await send(service.ingest_url + path, service.api_key, { body: login(), headers });
        expectError(answer, 415, 'UNSUPPORTED_MEDIA_TYPE');
      }
    },
  );

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

  it.each([
    undefined,
    null,
    7,
    '',
    'Login',
    'login ',
    'unheard_of',
    'customthing',
    '__proto__',
    'constructor',
  ])('whose event is %j is told of the prefix custom_', async (event) => {
    expectError(await one(login({ event })), 422, 'PROPERTIES_INVALID', /event|custom_/);
    if (typeof event === 'string') {
      expectError(await one(login({ event })), 422, 'PROPERTIES_INVALID', /custom_/);
      await expectRejected(login({ event }), 'PROPERTIES_INVALID', /custom_/);
    }
  });

  it.each([
    ['null', 'null'],
    ['an array', '[]'],
    ['a text', '"x"'],
    ['nested 10,000 deep', `{"x":${'['.repeat(10_000)}${']'.repeat(10_000)}}`],
    ['nested 10,000 objects deep', `{"x":${'{"x":'.repeat(10_000)}1${'}'.repeat(10_000)}}`],
    ['poisoned by __proto__', '{"__proto__":{"admin":true}}'],
    ['poisoned deep inside', '{"x":[{"constructor":{"prototype":{"admin":true}}}]}'],
    ['a text with NUL', '{"x":"a\\u0000b"}'],
    ['a text with half a surrogate pair', '{"x":"\\ud83d"}'],
    ['a text with a pair in the wrong order', '{"x":"\\udca9\\ud83d"}'],
    ['a key with NUL', '{"a\\u0000":1}'],
    ['a key with a lone surrogate', '{"x":[{"\\udfff":1}]}'],
  ])('whose properties are %s has no effect', async (_what, properties) => {
    const event = `{"event":"custom_thing","anonymous_id":"a","properties":${properties}}`;
    expectError(await oneRaw(event), 422, 'PROPERTIES_INVALID', /properties/);
    const answer = await manyRaw(`{"events":[${event}]}`);
    expect(answer).toMatchObject({ status: 202, body: { data: { accepted: 0 } } });
  });

  it.each([
    ...[-1, 1.5, 2 ** 53, 1e300, -0.1, true, null, {}, [], ['1']],
    ...[
      '',
      '01',
      '-1',
      '+1',
      '1.0',
      '1e3',
      ' 1',
      '1 ',
      '0x10',
      '１',
      'NaN',
      '9'.repeat(39),
      '9'.repeat(5_000),
    ],
  ])('whose amount is %j names it', async (amount) => {
    expectError(await one(deposit({ amount })), 422, 'PROPERTIES_INVALID', /amount/);
    await expectRejected(deposit({ amount }), 'PROPERTIES_INVALID', /amount/);
  });

  it.each(['1e400', '-1e400', '9007199254740993', '0.1e1000'])(
    'whose amount is the number %s names it',
    async (n) => {
      const raw = JSON.stringify(deposit()).replace('100', n);
      expectError(await oneRaw(raw), 422, 'PROPERTIES_INVALID', /amount/);
    },
  );

  it.each(['XXX', 'eur', '', 7, null, 'EUR ', '__proto__', 'E\0'])(
    'whose currency is %j names it',
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
  ])('whose %s is %j names it', async (field, value) => {
    expectError(await one(deposit({ [field]: value })), 422, 'PROPERTIES_INVALID', new RegExp(field));
  });
});

/** Expects the event to be rejected in a batch that is accepted otherwise. */
async function expectRejected(event: Body, code: string, reason?: RegExp): Promise<void> {
  const answer = await many({ events: [event] });
  expect(answer, answer.text).toMatchObject({
    status: 202,
    body: { data: { accepted: 0, rejected: [{ index: 0, code }] } },
  });
  const [rejected] = answer.body.data?.['rejected'] as { reason: string }[];
  if (reason !== undefined) expect(rejected?.reason).toMatch(reason);
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

  it('of 100 events is taken', async () => {
    const answer = await many({ events: Array.from({ length: 100 }, () => login()) });
    expect(answer).toMatchObject({ status: 202, body: { data: { accepted: 100, rejected: [] } } });
  });

  it('takes its good events and says of each bad one where it stands and why', async () => {
    const before = await acceptedSoFar(service);
    const events = [
      ...[login(), null, login({ more: 1 }), login()],
      ...[{ event: 'login' }, deposit({ amount: -1 }), 'login', [login()], login({ timestamp: 'x' })],
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

/** The table of the specification, with a value that passes for each property. */
const REQUIRED: [string[], Body][] = [
  [
    ['deposit_confirmed', 'deposit_initiated'],
    { amount: 1, currency: 'EUR', transaction_id: 't', payment_method: 'crypto' },
  ],
  [['withdrawal_confirmed', 'withdrawal_requested'], { amount: 1, currency: 'EUR', transaction_id: 't' }],
  [['bet_placed'], { amount: 1, currency: 'EUR', bet_id: 'b', game_id: 'g', game_category: 'crash' }],
  [
    ['bet_settled'],
    {
      ...{ amount: 1, payout: 0, currency: 'EUR', bet_id: 'b' },
      ...{ game_id: 'g', game_category: 'dice', outcome: 'lost' },
    },
  ],
  [
    ['sport_bet_placed'],
    {
      ...{ amount: 1, currency: 'EUR', bet_id: 's', sport: 'tennis' },
      ...{ bet_type: 'system', odds: '1.05', event_ref: 'match-1' },
    },
  ],
  // Design 8.
  [['sport_bet_settled', 'sport_cashout', 'bet_won'], { bet_id: 'c', payout: 0, currency: 'EUR' }],
  [['sport_bet_voided', 'bet_lost'], { bet_id: 'd' }],
];
const EACH_REQUIRED = REQUIRED.flatMap(([events, properties]) =>
  events.flatMap((event) => Object.keys(properties).map((field) => [event, field, properties] as const)),
);
const ENUMS = [
  ['bet_placed', 'game_category', ['slots', 'live', 'table', 'crash', 'dice', 'other']],
  ['bet_settled', 'outcome', ['won', 'lost']],
  ['sport_bet_placed', 'bet_type', ['single', 'accumulator', 'system']],
] as const;

const propertiesOf = (event: string): Body => REQUIRED.find(([events]) => events.includes(event))?.[1] ?? {};

describe('required properties', () => {
  it.each(EACH_REQUIRED)('%s without %s is refused by name', async (event, field, properties) => {
    const { [field]: _, ...others } = properties;
    const message = new RegExp(`\\b${field}\\b`);
    expectError(await one(login({ event, properties: others })), 422, 'PROPERTIES_INVALID', message);
    const nulled = login({ event, properties: { ...properties, [field]: null } });
    expectError(await one(nulled), 422, 'PROPERTIES_INVALID', message);
    await expectRejected(nulled, 'PROPERTIES_INVALID', message);
  });

  it.each(ENUMS)('%s.%s takes the listed values only', async (event, field, values) => {
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

/** Written by hand from the specification. */
const CANONICAL = [
  ...['signup', 'login', 'logout', 'session_start', 'session_end', 'page_view', 'click'],
  ...['kyc_submitted', 'kyc_approved', 'kyc_rejected', 'kyc_expired', 'kyc_level_upgraded'],
  ...['self_exclusion_set', 'self_exclusion_lifted', 'deposit_limit_set', 'deposit_limit_reached'],
  ...['loss_limit_set', 'loss_limit_reached', 'session_limit_warning', 'session_limit_exceeded'],
  ...['reality_check', 'cooldown_entered'],
  ...['deposit_initiated', 'deposit_confirmed', 'deposit_failed'],
  ...['withdrawal_requested', 'withdrawal_confirmed', 'withdrawal_failed'],
  ...['bet_placed', 'bet_won', 'bet_lost', 'bet_settled'],
  ...['sport_bet_placed', 'sport_bet_settled', 'sport_bet_voided', 'sport_cashout'],
  ...['bonus_claimed', 'bonus_wagered', 'bonus_completed', 'bonus_expired'],
  ...['email_sent', 'email_opened', 'email_clicked', 'email_bounced', 'sms_sent', 'sms_clicked'],
  ...['push_sent', 'push_opened', 'push_clicked'],
];

describe('what the specification allows', () => {
  it.each([...CANONICAL, 'custom_wheel_spun'])('the event %s is accepted', async (event) => {
    const answer = await one(login({ event, properties: propertiesOf(event) }));
    expect(answer, answer.text).toMatchObject({
      status: 202,
      body: {
        data: {
          ingestion_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
          accepted: true,
          tenant_id: service.tenant_id,
          project_id: service.project_id,
        },
      },
    });
  });

  it.each([
    ['no properties', login()],
    ['no timestamp and all three ids', login({ external_id: 'x' })],
    ['a timestamp with an offset', login({ timestamp: '2026-01-15T12:00:00+02:00' })],
    ['a timestamp to the microsecond', login({ timestamp: '2026-01-15T12:00:00.123456Z' })],
    ['a leap day', login({ timestamp: '2024-02-29T23:59:59Z' })],
    ['a time long past', login({ timestamp: '1970-01-01T00:00:00Z' })],
    ['a clock that is ahead', login({ timestamp: inHours(23) })],
    ['an amount of nothing', deposit({ amount: 0, transaction_id: 'zero' })],
    ['the largest exact amount', deposit({ amount: 2 ** 53 - 1, transaction_id: 'large' })],
    ['a larger amount as digits', deposit({ amount: '9007199254740993', transaction_id: 'larger' })],
    ['10 ETH in wei', deposit({ amount: '10000000000000000000', currency: 'ETH', transaction_id: 'wei' })],
    ['free properties beside the known ones', deposit({ transaction_id: 'free', campaign: { id: [1, 2] } })],
    ['any script and emoji', login({ anonymous_id: 'نص 文字 😀 \u2028', external_id: '"\\{}' })],
    ['an empty properties object', custom({})],
    ['numbers of every kind', custom({ a: -0.1, b: 1e21, c: 1e-9, d: Number.MAX_VALUE })],
    ['deep but bounded nesting', custom({ a: { b: { c: { d: [[[1]]] } } } })],
  ])('%s is accepted', async (_what, body) => {
    const answer = await one(body);
    expect(answer.status, answer.text).toBe(202);
  });

  it('a content type with a charset is accepted', async () => {
    const headers = { 'content-type': 'application/json; charset=utf-8' };
    const answer = await send(`${service.ingest_url}/v1/events`, service.api_key, { body: login(), headers });
    expect(answer.status).toBe(202);
  });
});

describe('who may send', () => {
  const wrong = (text: string) => text.slice(0, -1) + (text.endsWith('A') ? 'B' : 'A');

  it.each<[string, (key: string) => string | undefined]>([
    ['no Authorization header', () => undefined],
    ['an empty one', () => ''],
    ['no scheme', (key) => key],
    ['another scheme', (key) => `Basic ${key}`],
    ['an empty token', () => 'Bearer '],
    ['nonsense', () => 'Bearer nonsense'],
    ['half a key', (key) => `Bearer ${key.slice(0, 30)}`],
    ['a key and more', (key) => `Bearer ${key}x`],
    ['a wrong secret', (key) => `Bearer ${wrong(key)}`],
    ['an unknown key', (key) => `Bearer ${key.replace(/_dev_.{8}_/, '_dev_zzzzzzzz_')}`],
    ['a key of another environment', (key) => `Bearer ${key.replace('_dev_', '_prod_')}`],
    ['an admin session', () => `Bearer ${service.session_token}`],
  ])('a request with %s is not authorised', async (_what, header) => {
    const before = await acceptedSoFar(service);
    for (const path of ['/v1/events', '/v1/events/batch']) {
      const headers = { authorization: header(service.api_key) };
      const answer = await send(service.ingest_url + path, '', { body: login(), headers });
      expectError(answer, 401, 'UNAUTHORIZED');
      expect(answer.text).not.toContain(service.api_key.slice(-20));
    }
    expect(await acceptedSoFar(service)).toBe(before);
  });

  it('a revoked key is refused at once', async () => {
    const keys = `${service.base_url}/v1/projects/${service.project_id}/api-keys`;
    const made = await send(keys, service.session_token, { body: { name: 'short-lived' } });
    const { id, key } = made.body.data as { id: string; key: string };
    const url = `${service.ingest_url}/v1/events`;
    expect((await send(url, key, { body: login() })).status).toBe(202);
    const headers = { 'content-type': undefined };
    const revoked = await send(`${keys}/${id}`, service.session_token, { method: 'DELETE', headers });
    expect(revoked.status).toBe(200);
    expectError(await send(url, key, { body: login() }), 401, 'UNAUTHORIZED');
  });

  it('the base host takes no events, and the ingestion host nothing else', async () => {
    for (const path of ['/v1/events', '/v1/events/batch']) {
      expectError(await send(service.base_url + path, service.api_key, { body: login() }), 404, 'NOT_FOUND');
    }
    for (const path of ['/v1/players/identify', '/v1/players', '/v1/me', '/', '/v1/events/', '/v1/EVENTS']) {
      const answer = await send(service.ingest_url + path, service.api_key, { body: login() });
      expectError(answer, 404, 'NOT_FOUND');
    }
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
      const headers = { 'content-type': undefined };
      const url = `${service.ingest_url}/v1/events`;
      expectError(await send(url, service.api_key, { method, headers }), 405, 'METHOD_NOT_ALLOWED');
    }
  });
});

describe('behind the 202', () => {
  async function identify(anonymous_id: string): Promise<string> {
    const url = `${service.base_url}/v1/players/identify`;
    const answer = await send(url, service.api_key, { body: { anonymous_id } });
    return String(answer.body.data?.['player_id']);
  }
  const read = async (path: string, method = 'GET'): Promise<IntakeAnswer> =>
    send(service.base_url + path, service.session_token, { method, headers: { 'content-type': undefined } });

  it('events of a deleted player are kept and counted, and never revive the player', async () => {
    const player_id = await identify('to be deleted');
    await read(`/v1/players/${player_id}`, 'DELETE');
    const events = [
      { ...deposit({ amount: 700, transaction_id: 'of the deleted' }), anonymous_id: undefined, player_id },
      login({ anonymous_id: 'to be deleted', event: 'session_start' }),
      { event: 'self_exclusion_set', player_id },
      { event: 'self_exclusion_lifted', player_id },
    ];
    expect((await many({ events })).body.data).toMatchObject({ accepted: 4, rejected: [] });
    await sunk(service.platform);
    const player = await read(`/v1/players/${player_id}`);
    expect(player.body.data).toMatchObject({ status: 'deleted', total_deposited: 700, session_count: 1 });
    expect(player.body.data?.['deleted_at']).not.toBeNull();
    const timeline = await read(`/v1/players/${player_id}/timeline`);
    expect(timeline.body.data).toHaveLength(4);
    const listed = await read('/v1/players?limit=200');
    expect(listed.text).not.toContain(player_id);
  });

  it('lifting an exclusion never lifts a ban', async () => {
    const player_id = await identify('banned');
    const patch = { method: 'PATCH', body: { status: 'banned' } };
    const banned = await send(`${service.base_url}/v1/players/${player_id}`, service.session_token, patch);
    expect(banned.status).toBe(200);
    const events = ['self_exclusion_set', 'self_exclusion_lifted'].map((event) => ({ event, player_id }));
    await many({ events });
    await folded(service.platform);
    expect((await read(`/v1/players/${player_id}`)).body.data).toMatchObject({ status: 'banned' });
  });

  it('an event that cannot be folded becomes a dead letter with its reason, its place and its text', async () => {
    const { eventLog } = service.platform;
    const from = (await eventLog.endOffsets('dead-letters')).get(0) ?? 0n;
    const player_id = '01900000-0000-7000-8000-000000000000';
    const at = (await eventLog.endOffsets('events')).get(0) ?? 0n;
    expect((await one({ event: 'login', player_id })).status).toBe(202);
    await eventLog.append('events', [{ key: 'foreign', value: 'not even JSON' }]);
    expect((await one(login())).status).toBe(202);
    await folded(service.platform);
    const to = await eventually('two dead letters', async () => {
      const end = (await eventLog.endOffsets('dead-letters')).get(0) ?? 0n;
      return end >= from + 2n ? end : undefined;
    });
    const letters: unknown[] = [];
    for await (const { records } of eventLog.read('dead-letters', 0, from, to)) {
      letters.push(
        ...records.map(({ key, value }) => ({ ...(JSON.parse(value) as object), record_key: key })),
      );
    }
    const key = `${service.project_id}:${player_id}`;
    // A batch's unreadable records come before those that were refused for what they say.
    expect(letters).toHaveLength(2);
    expect(letters).toContainEqual({
      reason: 'UNKNOWN_PLAYER',
      message: expect.stringContaining(player_id) as string,
      partition: 0,
      offset: String(at),
      key,
      record_key: key,
      value: expect.stringContaining(`"event":{"event":"login","player_id":"${player_id}"}`) as string,
      at_ms: expect.any(Number) as number,
    });
    expect(letters).toContainEqual({
      reason: 'MALFORMED_RECORD',
      message: expect.stringMatching(/JSON/) as string,
      partition: 0,
      offset: String(at + 1n),
      key: 'foreign',
      record_key: 'foreign',
      value: 'not even JSON',
      at_ms: expect.any(Number) as number,
    });
  });
});
