import { describe, expect, it } from 'vitest';
import { backOffMs, verdictOf, type Verdict } from '../../clients/js/src/events/answers.ts';
import { contentOf } from '../../clients/js/src/events/content.ts';
import type { Lost } from '../../clients/js/src/events/sender.ts';
import { EVENTS, REFERENCES } from '../../src/ingest/events/catalogue.ts';
import { LIMITS, ModelServer, SharedStore, Tab, World } from './sending-world.ts';

const refused = (status: number): Verdict => ({ kind: 'refused', code: `HTTP_${status}` });
const again: Verdict = { kind: 'retry', after_ms: undefined, is_counted: true };
const after = (after_ms: number, is_counted = true): Verdict => ({ kind: 'retry', after_ms, is_counted });
const done: Verdict = { kind: 'done', rejected: [] };
const OK = '{"data":{"accepted":1,"rejected":[]}}';

describe('an answer (clients.md 1 and 3)', () => {
  it.each<[number, string | null, string, Verdict]>([
    [202, null, OK, done],
    [200, null, OK, done],
    [202, null, '{"data":{"accepted":1,"rej', again],
    [200, null, '<html>Sign in to the hotel</html>', again],
    [204, null, '', again],
    [301, null, '', again],
    [302, null, '', again],
    [400, null, '', refused(400)],
    [403, null, '{"error":{"code":"KEY_KIND_FORBIDDEN"}}', { kind: 'refused', code: 'KEY_KIND_FORBIDDEN' }],
    [404, null, '', refused(404)],
    [422, null, '', refused(422)],
    [401, null, '{"error":{"code":"UNAUTHORIZED"}}', { kind: 'stop', code: 'UNAUTHORIZED' }],
    [413, null, '', { kind: 'split' }],
    [0, null, '', again],
    [408, null, '', again],
    [410, null, '', again],
    [460, null, '', again],
    [429, null, '', again],
    [429, '7', '', after(7_000, false)],
    [429, '0', '', again],
    [429, '4000', '', after(300_000, false)],
    [429, 'Sun, 29 Nov 2026 12:00:00 GMT', '', again],
    [500, '7', '', again],
    [502, null, '', again],
    [503, '2', '', after(2_000)],
    [503, null, '', again],
    [504, null, '', again],
    [501, null, '', refused(501)],
    [505, null, '', refused(505)],
    [511, null, '', refused(511)],
  ])('%i with Retry-After %s and %j', (status, retry_after, body, verdict) => {
    expect(verdictOf({ status, retry_after, body }, 'event')).toEqual(verdict);
  });

  it('to an identify call has no list of rejected events', () => {
    expect(verdictOf({ status: 200, body: '{"data":{"player_id":"p"}}' }, 'identify')).toEqual(done);
    expect(verdictOf({ status: 200, body: '{"data":{"accepted":1}}' }, 'event')).toEqual(again);
  });

  it('the back-off has full jitter from 0.5 s to 60 s', () => {
    const longest = Array.from({ length: 10 }, (_, i) => backOffMs(i + 1, 1));
    expect(longest).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
    expect(backOffMs(5, 0)).toBe(0);
    expect(backOffMs(5, 0.25)).toBe(2_000);
  });
});

describe('an event', () => {
  const newId = () => 'new';
  it('has a time, and a session start an id', () => {
    const at_ms = Date.UTC(2026, 0, 1);
    const timestamp = '2026-01-01T00:00:00.000Z';
    expect(contentOf({ event: 'click', player_id: 'p' }, at_ms, newId)).toEqual({
      event: 'click',
      player_id: 'p',
      timestamp,
    });
    const session = contentOf({ event: 'session_start', properties: { a: 1 } }, at_ms, newId);
    expect(session).toMatchObject({ timestamp, properties: { a: 1, dedupe_id: 'new' } });
    const own = { event: 'session_start', timestamp: new Date(0), properties: { dedupe_id: 'own' } };
    expect(contentOf(own, at_ms, newId)).toMatchObject({
      timestamp: '1970-01-01T00:00:00.000Z',
      properties: { dedupe_id: 'own' },
    });
  });
});

/** One tab, and what its callbacks were called with. */
function open(limits = LIMITS) {
  const world = new World();
  const server = new ModelServer();
  const store = new SharedStore();
  const rejected: Lost[] = [];
  const dropped: Lost[] = [];
  const stops: string[] = [];
  const callbacks = {
    onReject: (lost: Lost) => rejected.push(lost),
    onDrop: (lost: Lost) => {
      dropped.push(lost);
      throw new Error('a fault of the caller');
    },
    onStop: (code: string) => stops.push(code),
  };
  const tab = new Tab(world, server, store, callbacks, limits);
  const track = (id: string, event = 'custom_a') =>
    tab.sender.add('event', { event, anonymous_id: 'p', properties: { id } });
  const sent = () => server.events.map(({ id }) => id);
  return { world, server, store, sender: tab.sender, track, sent, rejected, dropped, stops };
}
const ids = (lost: readonly Lost[]) =>
  lost.map(({ content }) => (content['properties'] as { id: string }).id);

describe('a sender', () => {
  it('sends after a second, or as soon as 20 wait, in batches of up to 100 with a key each', async () => {
    const { world, server, track } = open();
    void track('a');
    await world.pass(999);
    expect(server.requests).toEqual([]);
    await world.pass(100);
    expect(server.requests.length).toBe(1);
    for (let i = 0; i < 250; i++) void track(`b${i}`);
    await world.pass(900);
    const batches = server.requests
      .slice(1)
      .map(({ body }) => (JSON.parse(body) as { events: unknown[] }).events.length);
    expect(batches.reduce((sum, one) => sum + one, 0)).toBe(250);
    expect(Math.max(...batches)).toBe(100);
    expect(new Set(server.requests.map(({ key }) => key)).size).toBe(server.requests.length);
  });

  it('tells what was rejected, and goes on', async () => {
    const { world, track, sent, rejected, sender } = open();
    void track('a');
    void track('b', 'custom_bad');
    void track('c');
    await world.pass(2_000);
    expect(sent()).toEqual(['a', 'c']);
    expect(ids(rejected)).toEqual(['b']);
    expect(rejected[0]).toMatchObject({ code: 'PROPERTIES_INVALID', reason: 'bad' });
    expect(sender.counts).toEqual({ accepted: 2, rejected: 1, dropped: 0 });
  });

  it('waits as long as a 429 asks, whatever else happens, and repeats the same request', async () => {
    const { world, server, track, sender } = open();
    server.next.push(429);
    void track('a');
    await world.pass(1_100);
    for (let i = 0; i < 6; i++) {
      void sender.flush();
      await world.pass(1_000);
    }
    expect(server.requests.length).toBe(1);
    await world.pass(1_500);
    expect(server.requests.length).toBe(2);
    expect(server.requests[1]).toMatchObject({
      key: server.requests[0]?.key,
      body: server.requests[0]?.body,
    });
  });

  it('tries at once when it is asked to after a failure: the page is online again', async () => {
    const { world, server, track, sender, sent } = open();
    server.is_offline = true;
    void track('a');
    await world.pass(600_000);
    const before = server.requests.length;
    expect(before).toBeGreaterThan(10);
    expect(before).toBeLessThan(60);
    server.is_offline = false;
    void sender.flush();
    await world.pass(100);
    expect(sent()).toEqual(['a']);
  });

  it('halves a batch that is too large, and drops an event that is', async () => {
    const { world, server, track, sent, dropped, sender } = open();
    server.body_bytes = 500;
    for (let i = 0; i < 12; i++) void track(`e${i}`);
    void track('x'.repeat(600));
    void track('last');
    await world.pass(10_000);
    expect(sent()).toEqual([...Array.from({ length: 12 }, (_, i) => `e${i}`), 'last']);
    expect(dropped.map(({ code }) => code)).toEqual(['TOO_LARGE']);
    await sender.add('event', { event: 'custom_a', properties: { id: 'x'.repeat(256 * 1024) } });
    expect(dropped.length).toBe(2);
    expect(sender.counts.dropped).toBe(2);
  });

  it('drops a batch that is refused, and says so', async () => {
    const { world, server, track, dropped, sent } = open();
    server.answer = ({ body }) =>
      body.includes('forbidden')
        ? { status: 403, body: '{"error":{"code":"KEY_KIND_FORBIDDEN"}}' }
        : { status: 202, body: OK };
    void track('forbidden');
    await world.pass(2_000);
    expect(dropped).toMatchObject([{ code: 'KEY_KIND_FORBIDDEN' }]);
    expect(sent()).toEqual([]);
  });

  it('stops at a 401 and says so; what waits stays', async () => {
    const { world, server, track, stops, store, sender } = open();
    server.refuses_key = true;
    void track('a');
    await world.pass(5_000);
    void track('b');
    await sender.flush();
    await world.pass(60_000);
    expect(stops).toEqual(['UNAUTHORIZED']);
    expect(server.requests.length).toBe(1);
    expect(store.entries.length).toBe(2);
  });

  it('drops the oldest events that are not about money first, and counts them', async () => {
    const { world, server, track, dropped, sender, store } = open({ ...LIMITS, entries: 10 });
    server.is_offline = true;
    void track('sealed', 'click');
    await world.pass(1_100);
    for (let i = 0; i < 5; i++) {
      await Promise.all([track(`m${i}`, 'deposit_confirmed'), track(`o${i}`), world.pass(0)]);
    }
    expect(ids(dropped)).toEqual(['o0']);
    for (let i = 5; i < 11; i++) await Promise.all([track(`m${i}`, 'bet_placed'), world.pass(0)]);
    expect(ids(dropped)).toEqual(['o0', 'o1', 'o2', 'o3', 'o4', 'm0', 'm1']);
    await Promise.all([track('o5'), world.pass(0)]);
    expect(ids(dropped).at(-1)).toBe('o5');
    expect(dropped.every(({ code }) => code === 'QUEUE_FULL')).toBe(true);
    expect(sender.counts.dropped).toBe(8);
    // What may be on its way stays as it is.
    expect(store.entries[0]?.json).toContain('sealed');
  });

  it('keeps at most so many bytes, and drops what is too old', async () => {
    const { world, server, track, dropped, store } = open({ ...LIMITS, bytes: 5_000 });
    server.is_offline = true;
    for (let i = 0; i < 8; i++) await Promise.all([track('x'.repeat(1_000)), world.pass(0)]);
    expect(store.entries.length).toBe(4);
    await world.pass(31 * 86_400_000);
    expect(dropped.slice(4).map(({ code }) => code)).toEqual(Array.from({ length: 4 }, () => 'TOO_OLD'));
    expect(store.entries).toEqual([]);
  });

  it('sends an identify call between the events before and after it', async () => {
    const { world, server, track, sender } = open();
    void track('a');
    void sender.add('identify', { external_id: 'x' });
    void sender.add('identify', { external_id: 'y' });
    void track('b');
    await world.pass(3_000);
    expect(server.requests.map(({ kind }) => kind)).toEqual(['event', 'identify', 'identify', 'event']);
  });

  it('takes and sends nothing after it was closed', async () => {
    const { world, server, track, sender, store } = open();
    void track('a');
    await world.pass(10);
    sender.close();
    void track('b');
    await world.pass(60_000);
    expect(server.requests).toEqual([]);
    expect(store.entries.map(({ json }) => json.includes('"a"'))).toEqual([true]);
  });

  it('a store that fails is asked again', async () => {
    const { world, store, track, sent } = open();
    void track('a');
    await world.pass(10);
    const { entries } = store;
    let failures = 3;
    Object.defineProperty(store, 'entries', {
      get: () => {
        if (failures-- > 0) throw new Error('the database is closed');
        Object.defineProperty(store, 'entries', { value: entries, writable: true });
        return entries;
      },
      configurable: true,
    });
    await world.pass(60_000);
    expect(sent()).toEqual(['a']);
  });

  it('a lock that fails is asked for again', async () => {
    const { world, store, track, sent } = open();
    const { lock } = store;
    let failures = 2;
    Object.defineProperty(store, 'lock', {
      get: () => {
        if (failures-- > 0) throw new Error('the page is put to sleep');
        Object.defineProperty(store, 'lock', { value: lock, writable: true });
        return lock;
      },
      configurable: true,
    });
    void track('a');
    await world.pass(60_000);
    expect(sent()).toEqual(['a']);
  });

  it('tells what of an identify call was ignored', async () => {
    const { world, server, sender, rejected, dropped } = open();
    const ignored = ['anonymous_id', 'traits.email'];
    server.answer = () => ({ status: 200, body: JSON.stringify({ data: { player_id: 'p', ignored } }) });
    void sender.add('identify', { external_id: 'x' });
    await world.pass(2_000);
    expect(rejected).toEqual([
      { content: { external_id: 'x' }, code: 'IGNORED', reason: 'anonymous_id, traits.email' },
    ]);
    expect(dropped).toEqual([]);
    expect(sender.counts).toEqual({ accepted: 1, rejected: 0, dropped: 0 });
  });

  it('every event that counts money, and every exclusion, is dropped last', async () => {
    const { store, track, world, server } = open();
    server.is_offline = true;
    const vital = Object.entries(EVENTS).filter(
      ([name, { group, properties }]) =>
        REFERENCES.some((one) => one in properties) ||
        /^(self_exclusion|cooldown)/.test(name) ||
        group === 'KYC',
    );
    expect(vital.length).toBeGreaterThan(20);
    for (const [name] of vital) void track(name, name);
    for (const name of ['click', 'custom_bet', 'login', 'bonus_claimed']) void track(name, name);
    await world.pass(0);
    const kept = new Map(
      store.entries.map(({ json, is_vital }) => [(JSON.parse(json) as { event: string }).event, is_vital]),
    );
    expect(vital.filter(([name]) => kept.get(name) !== true)).toEqual([]);
    for (const name of ['click', 'custom_bet', 'login', 'bonus_claimed']) expect(kept.get(name)).toBe(false);
  });
});
