import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../../src/platform/ids.ts';
import { call, type Answer } from '../../engines/http-client.ts';
import { folded, startTestService, sunk, type TestService, type TestTenant } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { accept, api, depositOf, member, newPlayer } from './event-client.ts';

let service: TestService;
let other: TestTenant;
let player_id: string;
beforeAll(async () => {
  service = await startTestService();
  other = await service.newTenant();
  player_id = await newPlayer(service, service, { external_id: 'p' });
});
afterAll(() => service.close());

const get = (path: string, session = service.session_token, headers: Record<string, string> = {}) =>
  api(service, session, path, { headers });

/** Every event of a search, read in pages of `limit`. */
async function search(query: string, limit = 200, session?: string): Promise<Record<string, unknown>[]> {
  const all: Record<string, unknown>[] = [];
  let cursor: string | null = null;
  do {
    const page: Answer = await get(
      `/v1/event-search?limit=${limit}${query}${cursor === null ? '' : `&cursor=${cursor}`}`,
      session,
    );
    expect(page.status, page.text).toBe(200);
    all.push(...(page.data as unknown as Record<string, unknown>[]));
    cursor = page.next_cursor;
  } while (cursor !== null);
  return all;
}

describe('POST /v1/test-events', () => {
  it('is processed like all events, and viewers send none', async () => {
    const answer = await api(service, service.session_token, '/v1/test-events', { method: 'POST' });
    expect(answer.status, answer.text).toBe(202);
    const { ingestion_id, index } = answer.data as unknown as { ingestion_id: string; index: number };
    await sunk(service.platform);
    const trace = await get(`/v1/event-trace/${ingestion_id}/${index}`);
    expect(trace.data).toMatchObject({
      event: 'custom_console_test',
      accepted: { status: 'done' },
      folded: { status: 'done', verdict: 'applied' },
      landed: { status: 'done' },
    });
    const viewer = await member(service, service.tenant_id, 'viewer');
    expect((await api(service, viewer, '/v1/test-events', { method: 'POST' })).status).toBe(403);
  });
});

describe('GET /v1/event-search', () => {
  const name = 'custom_searched';
  const hours = (n: number) => new Date(Date.now() - n * 3_600_000).toISOString();

  beforeAll(async () => {
    const one = (n: number, timestamp: string) => ({
      event: name,
      anonymous_id: `visitor-${n % 2}`,
      timestamp,
      properties: { n, email: 'jane.doe@example.com', note: 'ask jane@example.com', phone: 4_915_112 },
    });
    const events = [0, 0.01, 2, 5, 20, 47, 100].map((ago, n) => one(n, hours(ago)));
    await accept(service, service, ...events);
    await accept(service, other, { ...one(99, hours(0)), properties: { n: 99 } });
    await sunk(service.platform);
  });

  it('finds events of the last day by name, the newest first, in pages', async () => {
    const all = await search(`&event=${name}`);
    expect(all.map(({ properties }) => (properties as { n: number }).n)).toEqual([0, 1, 2, 3, 4]);
    for (const limit of [1, 2, 3]) expect(await search(`&event=${name}`, limit)).toEqual(all);
    expect(all[0]).toMatchObject({ event: name, index: 0, base_amount: null, base_payout: null });
    const week = await search(`&event=${name}&from=${hours(24 * 7)}`, 2);
    expect(week.map(({ properties }) => (properties as { n: number }).n)).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(await search(`&event=${name}&from=${hours(3)}&to=${hours(1)}`)).toHaveLength(1);
    expect(await search('&event=custom_nowhere')).toEqual([]);
  });

  it('ends a page at 2 MB', async () => {
    const large = 'custom_large';
    const events = [0, 1, 2, 3, 4].map((n) => ({
      event: large,
      anonymous_id: 'large',
      timestamp: hours(n * 3),
      properties: { n, text: 'é'.repeat(400_000) },
    }));
    for (const event of events) await accept(service, service, event);
    await sunk(service.platform);
    const first = await get(`/v1/event-search?event=${large}`);
    expect((first.data as unknown as unknown[]).length).toBe(2);
    expect(first.next_cursor).not.toBeNull();
    const all = await search(`&event=${large}`);
    expect(all.map(({ properties }) => (properties as { n: number }).n)).toEqual([0, 1, 2, 3, 4]);
    expect(all.map(({ properties }) => (properties as { text: string }).text.length)).toEqual(
      Array(5).fill(400_000),
    );
  });

  it('masks e-mail addresses and telephone numbers, and nothing else', async () => {
    const text = JSON.stringify(await search(`&event=${name}`));
    expect(text).not.toContain('jane');
    expect(text).not.toContain('4915112');
    expect(text).toContain('j•••@example.com');
    expect(text).toContain('"note":"ask j•••@example.com"');
  });

  it('ends a page also behind an event that has more alone, because its numbers were written out', async () => {
    const grown = 'custom_grown';
    const properties = `{"l":[${Array(200_000).fill('9e15').join()}]}`;
    for (const [ago, text] of [
      [2, '{}'],
      [1, '{"n":1}'],
      [0, properties],
    ] as const) {
      const raw = `{"event":"${grown}","anonymous_id":"grown","timestamp":"${hours(ago)}","properties":${text}}`;
      const answer = await call(`${service.ingest_url}/v1/events`, service.api_key, {
        raw,
        headers: { 'content-type': 'application/json' },
      });
      expect(answer.status, answer.text).toBe(202);
    }
    await sunk(service.platform);
    const first = await get(`/v1/event-search?event=${grown}`);
    expect(first.status, first.text.slice(0, 500)).toBe(200);
    expect((first.data as unknown as unknown[]).length).toBe(1);
    const all = await search(`&event=${grown}`);
    expect(all.slice(1).map((row) => row['properties'])).toEqual([{ n: 1 }, {}]);
  });

  it('finds the events of a player, also those of one that was merged into it', async () => {
    const [first] = await search(`&event=${name}`);
    const before = await search(`&player_id=${String(first?.['player_id'])}&from=${hours(24 * 7)}`);
    expect(before.map(({ properties }) => (properties as { n: number }).n)).toEqual([0, 2, 4, 6]);
    const survivor = await newPlayer(service, service, { anonymous_id: 'visitor-0', external_id: 'known' });
    await accept(service, service, { event: 'login', player_id: survivor });
    const merged = await newPlayer(service, service, { anonymous_id: 'visitor-1', external_id: 'known' });
    expect(merged).toBe(survivor);
    await sunk(service.platform);
    const after = await search(`&player_id=${survivor}&event=${name}&from=${hours(24 * 7)}`);
    expect(after.map(({ properties }) => (properties as { n: number }).n)).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(new Set(after.map((row) => row['player_id']))).toEqual(new Set([survivor]));
    expect(await search(`&player_id=${newId()}`)).toEqual([]);
  });

  it('shows another tenant its own alone', async () => {
    const theirs = await search('', 200, other.session_token);
    expect(theirs.map(({ properties }) => properties)).toEqual([{ n: 99 }]);
    const page = await get(`/v1/event-search?limit=1&event=${name}`);
    const cursor = `/v1/event-search?event=${name}&cursor=${String(page.next_cursor)}`;
    expect((await get(cursor, other.session_token)).status).toBe(422);
    expect(
      (await get('/v1/event-search', other.session_token, { 'x-project-id': service.project_id })).status,
    ).toBe(404);
  });

  it.each([
    'event=nonsense',
    'player_id=7',
    'limit=0',
    'limit=201',
    'cursor=nonsense',
    'from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z',
    'from=2026-01-01T00:00:00Z&to=2026-06-01T00:00:00Z',
    'from=now',
    'other=1',
  ])('refuses %s', async (query) => {
    expect(await get(`/v1/event-search?${query}`)).toMatchObject({
      status: 422,
      error: { code: 'VALIDATION_ERROR' },
    });
  });
});

describe('GET /v1/event-trace/:ingestion_id/:index', () => {
  const trace = (id: string, index: number | string = 0, session?: string) =>
    get(`/v1/event-trace/${id}/${index}`, session);

  it('shows an event that was applied, its amount and its rate, in ClickHouse', async () => {
    const id = await accept(
      service,
      service,
      { event: 'login', player_id },
      depositOf(player_id, 'traced', 1_000),
    );
    await sunk(service.platform);
    const { status, text, data } = await trace(id, 1);
    expect(status, text).toBe(200);
    expect(data).toMatchObject({
      ingestion_id: id,
      index: 1,
      event: 'deposit_confirmed',
      player_id,
      accepted: { status: 'done' },
      folded: {
        status: 'done',
        verdict: 'applied',
        reason: null,
        money: { reference: 'traced', currency: 'EUR', amount: 1_000, base_amount: 1_000, rate: null },
      },
      landed: { status: 'done' },
      segments_entered_since: [],
    });
    expect((await trace(id, 0)).data).toMatchObject({ event: 'login', folded: { money: null } });
  });

  it('shows a reference of any characters', async () => {
    const reference = `$& "$'" $\` $1 \\ 0`;
    const id = await accept(service, service, depositOf(player_id, reference, 7));
    await sunk(service.platform);
    const { status, text, data } = await trace(id);
    expect(status, text).toBe(200);
    expect(data).toMatchObject({ folded: { status: 'done', money: { reference, amount: 7 } } });
  });

  it('shows the rate that converted an amount', async () => {
    const { tenant_id } = service;
    const rate_at = new Date(Date.now() - 3_600_000);
    await service.platform.postgres.service`
      insert into fx_rates (tenant_id, base, quote, ts, rate, source)
      values (${tenant_id}, 'USD', 'EUR', ${rate_at}, 0.5, 'manual')`;
    const id = await accept(service, service, depositOf(player_id, 'dollars', 1_001, { currency: 'USD' }));
    await sunk(service.platform);
    const { data } = await trace(id);
    expect((data['folded'] as { money: object }).money).toMatchObject({
      currency: 'USD',
      amount: 1_001,
      base_amount: expect.toSatisfy((sum: number) => sum === 500 || sum === 501) as number,
      rate: '0.5',
      rate_at: rate_at.toISOString(),
      rate_is_inverse: false,
    });
  });

  it('names the segments that the player has entered since', async () => {
    const condition = { type: 'event', event: 'custom_enters', aggregate: 'count', op: 'gte', value: 1 };
    const made = await api(service, service.session_token, '/v1/segments', {
      body: {
        name: 'Those who entered',
        refresh_strategy: 'realtime',
        definition: { operator: 'AND', conditions: [condition] },
      },
    });
    expect(made.status, made.text).toBe(201);
    const id = await accept(service, service, { event: 'custom_enters', player_id });
    const entered = await until('the player is in the segment', async (saw) => {
      const { status, data } = saw(await trace(id));
      const found = status === 200 ? (data['segments_entered_since'] as Record<string, unknown>[]) : [];
      return found.length > 0 ? found : undefined;
    });
    expect(entered).toEqual([
      { segment_id: made.data['id'], name: 'Those who entered', entered_at: expect.any(String) as string },
    ]);
    const later = await accept(service, service, { event: 'login', player_id });
    await sunk(service.platform);
    expect((await trace(later)).data['segments_entered_since']).toEqual([]);
  });

  it('tells a duplicate, with the event that came first, and a conflict', async () => {
    const first = await accept(service, service, depositOf(player_id, 'twice', 500));
    await folded(service.platform);
    const again = await accept(service, service, depositOf(player_id, 'twice', 500));
    const differs = await accept(service, service, depositOf(player_id, 'twice', 501));
    await folded(service.platform);
    expect((await trace(again)).data).toMatchObject({
      folded: { verdict: 'duplicate', duplicate_of: { ingestion_id: first, index: 0 } },
      landed: { status: 'none' },
    });
    await until('the letter is there', async (saw) => {
      const { data } = saw(await trace(differs));
      return (data['folded'] as { verdict: string }).verdict === 'conflicting';
    });
    expect((await trace(differs)).data).toMatchObject({
      folded: { reason: 'CONFLICTING_DUPLICATE', money: null },
      landed: { status: 'none' },
    });
  });

  it('tells a duplicate with another time, and one by its dedupe_id', async () => {
    const timed = (timestamp: string) => ({ ...depositOf(player_id, 'timed', 500), timestamp });
    const login = { event: 'login', player_id, properties: { dedupe_id: 'once' } };
    const first = await accept(service, service, timed('2026-01-01T00:00:00Z'));
    const differs = await accept(service, service, timed('2026-01-01T00:00:01Z'));
    await accept(service, service, login);
    const again = await accept(service, service, login);
    await folded(service.platform);
    expect((await trace(again)).data).toMatchObject({
      folded: { verdict: 'duplicate', reason: null },
      landed: { status: 'none' },
    });
    const duplicate_of = { ingestion_id: first, index: 0 };
    await until('the letter is there', async (saw) => {
      const { data } = saw(await trace(differs));
      return (data['folded'] as { reason: string | null }).reason !== null;
    });
    expect((await trace(differs)).data).toMatchObject({
      folded: { verdict: 'duplicate', reason: 'DUPLICATE_DIFFERS', duplicate_of },
      landed: { status: 'none' },
    });
  });

  it('tells a repetition of every event whose time is a part of its key', async () => {
    const timestamp = '2026-03-01T12:00:00Z';
    const reversal = { transaction_id: 'reversed', reversal_id: 'r', amount: 5, currency: 'EUR' };
    const events = [
      ['sport_bet_settled', { bet_id: 'timed', payout: 5, currency: 'EUR' }],
      ['sport_cashout', { bet_id: 'timed', payout: 5, currency: 'EUR' }],
      ['sport_bet_reopened', { bet_id: 'timed' }],
      ['sport_bet_voided', { bet_id: 'timed' }],
      ['deposit_reversed', reversal],
      ['withdrawal_reversed', reversal],
    ] as const;
    for (const [event, properties] of events) {
      const sent = { event, player_id, timestamp, properties };
      const first = await accept(service, service, sent);
      const again = await accept(service, service, sent);
      await folded(service.platform);
      const { status, data } = await trace(again);
      expect([event, status, data['folded']]).toMatchObject([
        event,
        200,
        { verdict: 'duplicate', duplicate_of: { ingestion_id: first, index: 0 } },
      ]);
    }
  });

  it('tells why an event was rejected', async () => {
    const id = await accept(service, service, { event: 'login', player_id: newId() });
    await folded(service.platform);
    expect((await trace(id)).data).toMatchObject({
      folded: { verdict: 'rejected', reason: 'UNKNOWN_PLAYER' },
      landed: { status: 'none' },
    });
  });

  it('of an unknown id, another index, another tenant or nonsense is not found', async () => {
    const id = await accept(service, service, { event: 'login', player_id });
    await sunk(service.platform);
    const missing = { status: 404, error: { code: 'EVENT_NOT_FOUND' } };
    expect((await trace(id)).status).toBe(200);
    expect(await trace(id, 0, other.session_token)).toMatchObject(missing);
    expect(await trace(id, 1)).toMatchObject(missing);
    for (const [unknown, index] of [
      [newId(), 0],
      [randomUUID(), 0],
      ['nonsense', 0],
      [id, 'x'],
      [id, -1],
    ] as const) {
      expect(await trace(unknown, index), `${unknown}/${index}`).toMatchObject(missing);
    }
  });
});

it('viewers may search and trace', async () => {
  const viewer = await member(service, service.tenant_id, 'viewer');
  expect((await get('/v1/event-search', viewer)).status).toBe(200);
  expect((await get(`/v1/event-trace/${newId()}/0`, viewer)).status).toBe(404);
});

it.each(['GET', 'POST'])('%s /v1/events on the base host stays 404, whoever asks', async (method) => {
  for (const token of [service.session_token, service.api_key]) {
    const body = method === 'POST' ? { event: 'login', anonymous_id: 'a' } : undefined;
    const response = await call(`${service.base_url}/v1/events`, token, { method, body });
    expect(response.status).toBe(404);
    expect(response.code).toBe('NOT_FOUND');
  }
});
