import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Answer } from '../../engines/http-client.ts';
import type { Fixture, Tenant } from '../../http/api-fixture.ts';
import { sharedFixture } from '../../http/shared-fixture.ts';

let fixture: Fixture;
let tenant: Tenant;
let blocks = 0;
const DAY_MS = 86_400_000;

beforeAll(async () => {
  fixture = await sharedFixture();
  tenant = await fixture.makeTenant();
});
afterAll(() => fixture.close());

async function newPlayer(who = tenant): Promise<string> {
  const request = { method: 'POST', body: { external_id: `e-${Math.random()}` } };
  const { body } = await fixture.as(who.api_key, '/v1/players/identify', request);
  return String(body.data['player_id']);
}

interface EventRow {
  player_id: string;
  event?: string;
  occurred_ms: number;
  ingestion_id?: string;
  event_index?: number;
  base_amount?: string | null;
  properties?: string;
  revision?: number;
}

const id = (n: number) => `${n.toString(16).padStart(8, '0')}-0000-4000-8000-000000000000`;

/** Inserts rows as the sink does. */
async function land(rows: EventRow[], who = tenant): Promise<void> {
  const lines = rows.map(({ occurred_ms, ...row }, i) => {
    const occurred_at = new Date(occurred_ms).toISOString().replace('T', ' ').replace('Z', '');
    const { tenant_id, project_id } = who;
    const defaults = {
      event: 'login',
      ingestion_id: id(i + 1),
      event_index: 0,
      properties: '{}',
      revision: 0,
    };
    return JSON.stringify({
      tenant_id,
      project_id,
      occurred_at,
      received_at: occurred_at,
      base_amount: null,
      base_payout: null,
      ...defaults,
      ...row,
    });
  });
  await fixture.platform.clickhouse.insertLines('events', lines, `block-${++blocks}`);
}

const get = (path: string, who = tenant): Promise<Answer> => fixture.as(who.session, path);
const listOf = ({ body }: Answer) => body.data as unknown as Record<string, unknown>[];

describe('timeline', () => {
  test('is ordered newest first by event time, across pages, with each event once', async () => {
    const player_id = await newPlayer();
    const start = Date.parse('2026-03-01T00:00:00Z');
    const rows: EventRow[] = Array.from({ length: 23 }, (_, i) => ({
      player_id,
      event: `custom_${i}`,
      // Several events have the same time, and several have indexes within one batch.
      occurred_ms: start + Math.floor(i / 4) * 1_000,
      ingestion_id: id(1_000 + Math.floor(i / 3)),
      event_index: i % 3,
    }));
    await land(rows);
    await land(rows.map((row) => ({ ...row, revision: 1, properties: '{"better":true}' })));
    const seen: Record<string, unknown>[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const suffix: string = cursor === '' ? '' : `&cursor=${cursor}`;
      const answer = await get(`/v1/players/${player_id}/timeline?limit=5${suffix}`);
      expect(answer.status, answer.text).toBe(200);
      expect(listOf(answer).length).toBeLessThanOrEqual(5);
      seen.push(...listOf(answer));
      cursor = answer.body.meta['next_cursor'] as string | null;
      // A late event at the top must not move the pages below it.
      await land([{ player_id, occurred_ms: start + DAY_MS, ingestion_id: id(2_000 + seen.length) }]);
      expect(seen.length).toBeLessThanOrEqual(23);
    }
    expect(new Set(seen.map(({ event }) => event))).toEqual(new Set(rows.map(({ event }) => event)));
    expect(seen.length).toBe(rows.length);
    const times = seen.map(({ timestamp }) => Date.parse(String(timestamp)));
    expect(times).toEqual([...times].sort((a, b) => b - a));
    expect(seen[0]).toEqual({
      ingestion_id: expect.any(String) as string,
      event: expect.any(String) as string,
      timestamp: '2026-03-01T00:00:05.000Z',
      properties: { better: true },
    });
  });

  test('shows properties as the text that was sent', async () => {
    const player_id = await newPlayer();
    const properties =
      '{"amount":9007199254740993,"rate":1.10,"text":"\\u00e9 😀","nested":{"b":1,"a":[null]}}';
    await land([{ player_id, occurred_ms: Date.parse('2026-03-01T10:20:30.456Z'), properties }]);
    const { text } = await get(`/v1/players/${player_id}/timeline`);
    expect(text).toContain(`"timestamp":"2026-03-01T10:20:30.456Z","properties":${properties}}`);
    expect(text.endsWith('"meta":{"next_cursor":null}}')).toBe(true);
  });

  test('ends a page at 2 MB, and shows what alone has more', async () => {
    const player_id = await newPlayer();
    const lengths = [900_000, 900_000, 300_000, 2_500_000, 10, 10];
    const row = (length: number, i: number): EventRow => ({
      player_id,
      event: `custom_${i}`,
      occurred_ms: Date.parse('2026-03-02T00:00:00Z') - i,
      properties: `{"t":"${'x'.repeat(length)}"}`,
    });
    await land(lengths.map(row));
    const pages: string[][] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const suffix: string = cursor === '' ? '' : `?cursor=${cursor}`;
      const answer = await get(`/v1/players/${player_id}/timeline${suffix}`);
      pages.push(
        listOf(answer).map(
          ({ event, properties }) => `${String(event)} ${(properties as { t: string }).t.length}`,
        ),
      );
      cursor = answer.body.meta['next_cursor'] as string | null;
    }
    expect(pages).toEqual([
      ['custom_0 900000', 'custom_1 900000'],
      ['custom_2 300000'],
      ['custom_3 2500000'],
      ['custom_4 10', 'custom_5 10'],
    ]);
  });

  test('shows an event of the distant past with its time', async () => {
    const player_id = await newPlayer();
    await land([{ player_id, occurred_ms: Date.parse('1969-07-20T20:17:40.000Z') }]);
    expect(listOf(await get(`/v1/players/${player_id}/timeline`))[0]).toMatchObject({
      timestamp: '1969-07-20T20:17:40.000Z',
    });
  });

  test('is empty without events, and shows none of another tenant', async () => {
    const player_id = await newPlayer();
    const other = await fixture.makeTenant();
    await land([{ player_id, occurred_ms: Date.now() }], other);
    const answer = await get(`/v1/players/${player_id}/timeline`);
    expect([answer.body.data, answer.body.meta]).toEqual([[], { next_cursor: null }]);
  });

  test('refuses invalid limits and foreign cursors with 422', async () => {
    const [player_id, another] = [await newPlayer(), await newPlayer()];
    await land([
      { player_id, occurred_ms: 1, ingestion_id: id(1) },
      { player_id, occurred_ms: 2, ingestion_id: id(2) },
    ]);
    const path = `/v1/players/${player_id}/timeline`;
    const cursor = String((await get(`${path}?limit=1`)).body.meta['next_cursor']);
    expect((await get(`${path}?cursor=${cursor}`)).status).toBe(200);
    const [binding] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as string[];
    const forged = (...position: string[]) =>
      Buffer.from(JSON.stringify([binding, ...position])).toString('base64url');
    const bad = [
      ...['0', '201', 'x'].map((limit) => `${path}?limit=${limit}`),
      `${path}?cursor=x`,
      `${path}?since=1`,
      `/v1/players/${another}/timeline?cursor=${cursor}`,
      `/v1/players?cursor=${cursor}`,
      `${path}?cursor=${forged('1', 'x', '0')}`,
      `${path}?cursor=${forged('1', id(1), '70000')}`,
    ];
    for (const each of bad) expect((await get(each)).status, each).toBe(422);
    expect((await get(`${path}?cursor=${forged('9999999999999', id(1), '9')}`)).status).toBe(200);
    expect((await get(`${path}?cursor=${forged('-9999999999999', id(1), '9')}`)).status).toBe(200);
  });
});

describe('deposits-daily', () => {
  /** What is shown of a new player's deposits around this day, and of what is none. */
  async function shownOn(today: number): Promise<Answer> {
    const player_id = await newPlayer();
    const deposit = (occurred_ms: number, n: number, base_amount: string | null, revision = 0): EventRow => ({
      player_id,
      event: 'deposit_confirmed',
      occurred_ms,
      ingestion_id: id(n),
      base_amount,
      revision,
    });
    await land([
      deposit(today, 1, '9007199254740993'),
      deposit(today + 1, 2, '9007199254740993'),
      deposit(today - 1, 3, '250'),
      deposit(today - 29 * DAY_MS, 4, '7'),
      deposit(today - 29 * DAY_MS - 1, 5, '1000'),
      deposit(today - 2 * DAY_MS, 6, '100'),
      deposit(today - 3 * DAY_MS, 7, null),
      deposit(today + DAY_MS, 8, '1000'),
      { ...deposit(today - 4 * DAY_MS, 9, '1000'), event: 'deposit_initiated' },
      { ...deposit(today - 4 * DAY_MS, 10, '1000'), event: 'withdrawal_confirmed' },
    ]);
    // One row is repeated, and another gets a better rate.
    await land([deposit(today - 1, 3, '250'), deposit(today - 2 * DAY_MS, 6, '120', 1)]);
    return get(`/v1/players/${player_id}/deposits-daily`);
  }

  test('shows 30 UTC days with exact sums, each deposit once, zeros between', async () => {
    const dayNow = () => Math.floor(Date.now() / DAY_MS) * DAY_MS;
    let today = dayNow();
    let answer = await shownOn(today);
    // The day was over before it was shown.
    if (dayNow() !== today) answer = await shownOn((today = dayNow()));
    expect(answer.status, answer.text).toBe(200);
    const series = listOf(answer);
    const date = (ms: number) => new Date(ms).toISOString().slice(0, 10);
    expect(series.map((day) => day['date'])).toEqual(
      Array.from({ length: 30 }, (_, i) => date(today - (29 - i) * DAY_MS)),
    );
    expect(answer.text).toContain(`{"date":"${date(today)}","amount":18014398509481986}`);
    const expected: Record<string, number> = {
      [date(today - DAY_MS)]: 250,
      [date(today - 2 * DAY_MS)]: 120,
      [date(today - 29 * DAY_MS)]: 7,
    };
    for (const day of series.slice(0, 29)) {
      expect(day['amount'], String(day['date'])).toBe(expected[String(day['date'])] ?? 0);
    }
  });
});
