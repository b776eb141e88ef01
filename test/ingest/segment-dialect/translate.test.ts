import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { nameOf, snakeCase } from '../../../src/ingest/segment-dialect/names.ts';
import {
  CALL_TYPES,
  MAX_CALL_BYTES,
  MAX_CONTEXT_BYTES,
  translate,
  type Translated,
  type Translation,
} from '../../../src/ingest/segment-dialect/translate.ts';
import { runs } from '../../engines/effort.ts';

const NOW = '2026-05-01T12:00:00.000Z';
const NOW_MS = Date.parse(NOW);
const GIVEN: Translation = {
  now_ms: NOW_MS,
  kind: 'server',
  hasCurrency: (code) => code === 'EUR',
  names: {},
  keeps_ip: false,
};

const of = (call: Record<string, unknown>, given: Partial<Translation> = {}): Translated =>
  translate(structuredClone(call), undefined, { ...GIVEN, ...given }, false);
const track = (call: Record<string, unknown>, given?: Partial<Translation>) =>
  of({ type: 'track', userId: 'u', event: 'custom_x', ...call }, given);
/** What the event of a call says, or why there is none. */
const eventIn = (one: Translated) => (one.kind === 'event' ? one.event : one);
const codeIn = (one: Translated) => (one.kind === 'rejected' ? one.code : one.kind);

describe('names', () => {
  test.each([
    ['Deposit Succeeded', 'deposit_succeeded'],
    ['DepositSucceeded', 'deposit_succeeded'],
    ['HTTPRequest Sent', 'http_request_sent'],
    ['Order #1: done!', 'order_1_done'],
    ['  spaces  ', 'spaces'],
    ['level2Done', 'level2_done'],
    ['Žluťoučký kůň', 'žluťoučký_kůň'],
    ['Einzahlung Größe', 'einzahlung_größe'],
    ['Регистрация Игрока', 'регистрация_игрока'],
    ['入金 完了', '入金_完了'],
    ['जमा हुआ', 'जमा_हुआ'],
    ['إيداع ناجح', 'إيداع_ناجح'],
    ['Cafe\u0301 Visited', 'café_visited'],
  ])('%s in snake_case is %s', (name, expected) => expect(snakeCase(name)).toBe(expected));

  it('are kept where they are canonical or custom, mapped where the project says so, and else made', () => {
    const names = { 'Deposit Succeeded': 'deposit_confirmed', deposit_failed: 'custom_never' };
    expect(nameOf('deposit_confirmed', names)).toEqual({ event: 'deposit_confirmed' });
    expect(nameOf('deposit_failed', names)).toEqual({ event: 'deposit_failed' });
    expect(nameOf('custom_As Is', names)).toEqual({ event: 'custom_As Is' });
    expect(nameOf('Deposit Succeeded', names)).toEqual({ event: 'deposit_confirmed' });
    expect(nameOf('Deposit Failed', names)).toEqual({
      event: 'custom_deposit_failed',
      original: 'Deposit Failed',
    });
    expect(nameOf('constructor', names)).toEqual({ event: 'custom_constructor', original: 'constructor' });
  });

  it('without a letter or a digit are rejected', () => {
    for (const name of ['', ' ', '!!!', '🎰🎰', '\u0301'])
      expect(codeIn(track({ event: name }))).toBe('PROPERTIES_INVALID');
    for (const event of [null, 7, {}, undefined, 'a\0b'])
      expect(codeIn(track({ event }))).toBe('PROPERTIES_INVALID');
  });

  it('keep all letters and digits, and nothing else but _', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 40 }), (name) => {
        const made = snakeCase(name);
        expect(made).toMatch(/^(?:[\p{L}\p{N}\p{M}]+(?:_[\p{L}\p{N}\p{M}]+)*)?$/u);
        const kept = (text: string) =>
          text
            .normalize('NFC')
            .toLowerCase()
            .replace(/[^\p{L}\p{N}]/gu, '');
        expect(kept(made)).toBe(kept(name));
      }),
      { numRuns: runs(1_000) },
    );
  });
});

describe('track', () => {
  it('keeps properties and the name of the sender', () => {
    expect(eventIn(track({ event: 'Level Up', properties: { level: 2, tags: ['a'] } }))).toEqual({
      event: 'custom_level_up',
      properties: { level: 2, tags: ['a'], _name: 'Level Up' },
    });
    expect(eventIn(track({ properties: null }))).toEqual({ event: 'custom_x', properties: {} });
    for (const properties of [[], 'text', 7])
      expect(codeIn(track({ properties }))).toBe('PROPERTIES_INVALID');
  });

  it('takes money only as integers in the smallest unit', () => {
    const deposit = { currency: 'EUR', transaction_id: 't', payment_method: 'card' };
    const given = { names: { Deposited: 'deposit_confirmed' } };
    const sent = (properties: object) => track({ event: 'Deposited', properties }, given);
    expect(eventIn(sent({ ...deposit, amount: 2550 }))).toMatchObject({ event: 'deposit_confirmed' });
    for (const money of [{ revenue: 25.5 }, { amount: 25.5 }, { amount: '25.50' }, { value: 2550 }, {}])
      expect(codeIn(sent({ ...deposit, ...money }))).toBe('PROPERTIES_INVALID');
    // Also where the catalogue does not require an amount.
    expect(codeIn(track({ event: 'deposit_failed', properties: { revenue: 25.5 } }))).toBe(
      'PROPERTIES_INVALID',
    );
    expect(codeIn(track({ event: 'deposit_failed', properties: {} }))).toBe('event');
    expect(codeIn(track({ properties: { revenue: 25.5 } }))).toBe('event');
  });

  it('takes the messageId of a counted event as its dedupe_id', () => {
    const start = (properties: object) =>
      eventIn(track({ event: 'session_start', messageId: 'm-1', properties }));
    expect(start({})).toMatchObject({ properties: { dedupe_id: 'm-1' } });
    expect(start({ dedupe_id: 'own' })).toMatchObject({ properties: { dedupe_id: 'own' } });
    expect(eventIn(track({ event: 'page_view', messageId: 'm-1' }))).toMatchObject({ properties: {} });
  });
});

describe('messageId', () => {
  test.each([
    ['m'.repeat(256), 'm'.repeat(256)],
    [undefined, undefined],
    [null, undefined],
    ['', undefined],
  ])('%j is %j', (messageId, message_id) => expect(track({ messageId })).toMatchObject({ message_id }));

  test.each([['m'.repeat(257)], [7], [{}], ['undefined'], ['[object Object]'], ['a\0']])(
    '%j is rejected',
    (messageId) => expect(codeIn(track({ messageId }))).toBe('VALIDATION_ERROR'),
  );
});

describe('ids', () => {
  it('name the player of userId, and else the anonymousId', () => {
    expect(track({ anonymousId: 'a' })).toMatchObject({ user_id: 'u', event: {} });
    expect(eventIn(track({ anonymousId: 'a' }))).not.toHaveProperty('anonymous_id');
    expect(track({ userId: null, anonymousId: 'a' })).toMatchObject({
      user_id: undefined,
      event: { anonymous_id: 'a' },
    });
    expect(track({ userId: 42, anonymousId: null })).toMatchObject({ user_id: '42' });
    expect(track({ userId: 'null', anonymousId: 'a' })).toMatchObject({ user_id: undefined });
  });

  test.each([
    [{ userId: null, anonymousId: null }, 'IDENTITY_REQUIRED'],
    [{ userId: '', anonymousId: 'undefined' }, 'IDENTITY_REQUIRED'],
    [{ userId: 'u'.repeat(257) }, 'VALIDATION_ERROR'],
    [{ userId: {} }, 'VALIDATION_ERROR'],
    [{ userId: 1.5 }, 'VALIDATION_ERROR'],
    [{ userId: 'a\0' }, 'VALIDATION_ERROR'],
  ])('%j are rejected', (ids, code) => expect(codeIn(track(ids))).toBe(code));
});

describe('time', () => {
  const sentAt = '2026-05-01T11:00:00.000Z';
  const timestamp = '2026-05-01T10:59:50.000Z';
  test.each<[string, Record<string, unknown>, Partial<Translation>, string | undefined, boolean]>([
    ['a server: as sent', { timestamp, sentAt }, {}, timestamp, false],
    ['originalTimestamp in its place', { originalTimestamp: timestamp }, {}, timestamp, false],
    ['timestamp before originalTimestamp', { timestamp, originalTimestamp: sentAt }, {}, timestamp, false],
    ['none: when it is received', {}, {}, undefined, true],
    ['null: when it is received', { timestamp: null }, {}, undefined, true],
    [
      'microseconds and an offset',
      { timestamp: '2026-05-01T12:59:50.123456+02:00' },
      {},
      '2026-05-01T12:59:50.123456+02:00',
      false,
    ],
    ['a client an hour behind', { timestamp, sentAt }, { kind: 'client' }, '2026-05-01T11:59:50.000Z', true],
    [
      'a client two minutes ahead, by the batch',
      { timestamp: '2026-05-01T12:01:50.000Z' },
      { kind: 'client', sent_at: '2026-05-01T12:02:00.000Z' },
      '2026-05-01T11:59:50.000Z',
      true,
    ],
    [
      'a client a minute behind',
      { timestamp, sentAt: '2026-05-01T11:59:00.000Z' },
      { kind: 'client' },
      timestamp,
      false,
    ],
    ['a client that does not say when it sent', { timestamp }, { kind: 'client' }, timestamp, false],
    [
      'a client with an unreadable sentAt',
      { timestamp, sentAt: 'now' },
      { kind: 'client' },
      timestamp,
      false,
    ],
  ])('%s', (_, call, given, expected, is_time_of_receipt) => {
    const one = track(call, given);
    expect(one).toMatchObject({ kind: 'event', is_time_of_receipt });
    expect(eventIn(one)).toEqual({
      event: 'custom_x',
      properties: {},
      ...(expected === undefined ? {} : { timestamp: expected }),
    });
  });

  test.each([
    ['soon'],
    [7],
    ['2026-05-01'],
    ['2026-05-03T12:00:00Z'],
    ['1899-01-01T00:00:00Z'],
    ['2026-05-01T12:00:00'],
  ])('%j is rejected', (at) => {
    expect(codeIn(track({ timestamp: at }))).toBe('VALIDATION_ERROR');
    expect(codeIn(of({ type: 'identify', userId: 'u', timestamp: at }))).toBe('VALIDATION_ERROR');
  });
});

describe('page and screen', () => {
  const page = { url: 'https://x.test/a', path: '/a', title: 'A', referrer: '', search: '?q' };

  it('are page views with the name, the category and what the context says of the page', () => {
    const call = {
      type: 'page',
      userId: 'u',
      name: 'Lobby',
      category: 'Casino',
      properties: { path: '/own' },
    };
    expect(eventIn(of({ ...call, context: { page } }))).toEqual({
      event: 'page_view',
      properties: {
        ...page,
        path: '/own',
        name: 'Lobby',
        category: 'Casino',
        surface: 'page',
        context: { page },
      },
    });
    expect(eventIn(of({ type: 'screen', userId: 'u', name: null, category: null }))).toEqual({
      event: 'page_view',
      properties: { surface: 'screen' },
    });
  });
});

describe('group', () => {
  it('is custom_group with the traits', () => {
    const traits = { plan: 'vip', group_id: 'other' };
    expect(eventIn(of({ type: 'group', userId: 'u', groupId: 'g', traits }))).toEqual({
      event: 'custom_group',
      properties: { plan: 'vip', group_id: 'g' },
    });
    expect(codeIn(of({ type: 'group', userId: 'u' }))).toBe('VALIDATION_ERROR');
  });
});

describe('identify and alias', () => {
  it('identify has the traits under our names', () => {
    const traits = { email: 'a@b.test', firstName: 'Ann', lastName: 'Lee', plan: 'x', note: null };
    expect(
      of({ type: 'identify', userId: 'u', anonymousId: 'a', traits, timestamp: '2026-05-01T11:00:00Z' }),
    ).toEqual({
      kind: 'identify',
      external_id: 'u',
      anonymous_id: 'a',
      traits: { email: 'a@b.test', first_name: 'Ann', last_name: 'Lee', plan: 'x', note: null },
      at_ms: Date.parse('2026-05-01T11:00:00Z'),
      user_hash: undefined,
    });
  });

  it('finds traits, time zone and user_hash in the context', () => {
    const context = { traits: { phone: '+44123', plan: 'old' }, timezone: 'Europe/Malta', user_hash: 'ab' };
    const call = { type: 'identify', userId: 'u', context, traits: { plan: 'new' } };
    expect(of(call)).toMatchObject({
      traits: { phone: '+44123', plan: 'new', timezone: 'Europe/Malta' },
      user_hash: 'ab',
      at_ms: NOW_MS,
    });
    expect(of({ ...call, traits: { timezone: 'UTC' } })).toMatchObject({ traits: { timezone: 'UTC' } });
    expect(of({ ...call, context: { timezone: 'Mars/Olympus' } })).toMatchObject({ traits: { plan: 'new' } });
  });

  it('the traits of a clock that is ahead are known now', () =>
    expect(of({ type: 'identify', userId: 'u', timestamp: '2026-05-01T18:00:00Z' })).toMatchObject({
      at_ms: NOW_MS,
    }));

  it('alias has both ids', () => {
    expect(of({ type: 'alias', userId: 'u', previousId: 'p' })).toMatchObject({
      kind: 'alias',
      external_id: 'u',
      previous_id: 'p',
    });
    expect(codeIn(of({ type: 'alias', userId: 'u', previousId: null }))).toBe('IDENTITY_REQUIRED');
    expect(codeIn(of({ type: 'identify', userId: null }))).toBe('IDENTITY_REQUIRED');
  });
});

describe('context', () => {
  const context = {
    page: { url: 'u' },
    campaign: { name: 'c' },
    locale: 'de',
    library: { name: 'l', version: '1' },
    ip: '192.0.2.1',
    user_hash: 'secret',
    userAgent: 'x',
  };
  const { ip, user_hash: _, userAgent: __, ...kept } = context;

  it('is kept in parts, and the address only where the project asks', () => {
    expect(eventIn(track({ context }))).toMatchObject({ properties: { context: kept } });
    expect(eventIn(track({ context, integrations: { All: true }, _metadata: {} }))).toEqual({
      event: 'custom_x',
      properties: { context: kept },
    });
    expect(eventIn(track({ context }, { keeps_ip: true }))).toEqual({
      event: 'custom_x',
      properties: { context: { ...kept, ip } },
    });
    for (const other of [null, [], 'x', {}, { ip }])
      expect(eventIn(track({ context: other }))).toEqual({ event: 'custom_x', properties: {} });
  });

  it('has at most 2 KB: the parts that fit', () => {
    const url = 'x'.repeat(MAX_CONTEXT_BYTES);
    const { page: _page, ...rest } = kept;
    expect(eventIn(track({ context: { ...context, page: { url } } }))).toEqual({
      event: 'custom_x',
      properties: { context: rest },
    });
    expect(eventIn(track({ context: { page: { url } } }))).toEqual({ event: 'custom_x', properties: {} });
  });
});

describe('a client key', () => {
  it('sends only what anybody may say, whatever the map of names says', () => {
    const given = { kind: 'client', names: { Paid: 'deposit_confirmed' } } as const;
    const properties = { amount: 1, currency: 'EUR', transaction_id: 't', payment_method: 'card' };
    for (const event of ['Paid', 'deposit_confirmed', 'login', 'kyc_approved', 'self_exclusion_set'])
      expect(codeIn(track({ event, properties }, given))).toBe('KEY_KIND_FORBIDDEN');
    for (const event of ['click', 'session_start', 'Anything Else', 'custom_deposit'])
      expect(codeIn(track({ event }, given))).toBe('event');
    expect(codeIn(of({ type: 'page', userId: 'u' }, given))).toBe('event');
    expect(codeIn(of({ type: 'group', userId: 'u', groupId: 'g' }, given))).toBe('event');
  });
});

describe('any call', () => {
  it('of another kind is rejected', () => {
    for (const type of ['delete', null, undefined, 7]) expect(codeIn(of({ type }))).toBe('VALIDATION_ERROR');
    for (const call of [null, [], 'x', 7, true])
      expect(codeIn(translate(call, undefined, GIVEN, true))).toBe('BODY_MALFORMED');
  });

  it('has at most 32 KB', () => {
    const sized = (bytes: number) => {
      const call = { type: 'track', userId: 'u', event: 'custom_x', properties: { text: '' } };
      call.properties.text = 'x'.repeat(bytes - JSON.stringify(call).length);
      return translate(call, undefined, GIVEN, true);
    };
    expect(codeIn(sized(MAX_CALL_BYTES))).toBe('event');
    expect(codeIn(sized(MAX_CALL_BYTES + 1))).toBe('PAYLOAD_TOO_LARGE');
  });

  it('never makes it throw', () => {
    const fields =
      'type userId anonymousId messageId event properties traits context timestamp sentAt groupId previousId'.split(
        ' ',
      );
    const value = fc.oneof(
      fc.jsonValue({ maxDepth: 3 }),
      fc.constantFrom(...CALL_TYPES, NOW, 'session_start'),
    );
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...fields), value), fc.boolean(), (call, is_client) => {
        const kind = is_client ? 'client' : 'server';
        expect(['event', 'identify', 'alias', 'rejected']).toContain(
          translate(call, undefined, { ...GIVEN, kind }, true).kind,
        );
      }),
      { numRuns: runs(2_000) },
    );
    const deep = JSON.parse(`${'['.repeat(400_000)}${']'.repeat(400_000)}`) as unknown;
    for (const call of [{ context: { page: deep } }, { properties: { deep } }, { traits: { deep } }])
      for (const type of CALL_TYPES)
        expect(() =>
          translate({ ...call, userId: 'u', event: 'x', groupId: 'g', previousId: 'p' }, type, GIVEN, true),
        ).not.toThrow();
  });
});
