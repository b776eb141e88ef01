import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { call, type Answer } from '../../engines/http-client.ts';
import { startTestService, sunk, type TestService, type TestTenant } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';

let service: TestService;
let tenant: TestTenant;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());
beforeEach(async () => {
  tenant = await service.newTenant();
});

type Fields = Record<string, unknown>;
const get = (path: string, who = tenant, headers: Record<string, string> = {}) =>
  call<Fields[]>(service.base_url + path, who.session_token, { headers });

async function post(url: string, body: unknown): Promise<Fields> {
  const { data } = await call(url, tenant.api_key, { body });
  expect(data, url).toBeDefined();
  return data;
}

const identify = async (body: Fields) =>
  String((await post(`${service.base_url}/v1/players/identify`, body))['player_id']);
const at = (minute: number) => new Date(Date.parse('2026-03-01T12:00:00Z') + minute * 60_000).toISOString();

async function send(player_id: string, event: string, minute: number, properties: Fields): Promise<void> {
  await post(`${service.ingest_url}/v1/events`, { event, player_id, timestamp: at(minute), properties });
}
const deposit = (player_id: string, minute: number, amount: number | string, currency = 'EUR') =>
  send(player_id, 'deposit_confirmed', minute, {
    amount,
    currency,
    transaction_id: `t-${minute}`,
    payment_method: 'card',
  });

describe('the ledger of a player', () => {
  it('has every kind of money event, the newest first by event time, with exact amounts', async () => {
    const id = await identify({ external_id: 'a' });
    const bet = { amount: 700, currency: 'EUR', bet_id: 'b', game_id: 'g', game_category: 'slots' };
    await deposit(id, 1, 5_000);
    await send(id, 'bet_settled', 3, { ...bet, payout: 1_400, outcome: 'won' });
    await send(id, 'bet_placed', 2, bet);
    await send(id, 'sport_bet_voided', 5, { bet_id: 's' });
    await send(id, 'withdrawal_requested', 4, { amount: 900, currency: 'EUR', transaction_id: 'w' });
    // No rows of the ledger: no money, and no reference.
    await send(id, 'login', 6, {});
    await send(id, 'deposit_failed', 7, {});
    await sunk(service.platform);
    const { data, next_cursor } = await get(`/v1/players/${id}/ledger`);
    expect(next_cursor).toBeNull();
    expect(
      data.map((row) => [row['event'], row['reference'], row['amount'], row['payout'], row['at']]),
    ).toEqual([
      ['sport_bet_voided', 's', null, null, at(5)],
      ['withdrawal_requested', 'w', 900, null, at(4)],
      ['bet_settled', 'b', 700, 1_400, at(3)],
      ['bet_placed', 'b', 700, null, at(2)],
      ['deposit_confirmed', 't-1', 5_000, null, at(1)],
    ]);
    expect(data[4]).toEqual({
      event: 'deposit_confirmed',
      reference: 't-1',
      movement_id: null,
      at: at(1),
      currency: 'EUR',
      amount: 5_000,
      payout: null,
      bonus_stake: null,
      bonus_payout: null,
      reason: null,
      base_amount: 5_000,
      base_payout: null,
      base_bonus_stake: null,
      base_bonus_payout: null,
      rate: null,
      rate_ts: null,
      rate_is_inverse: null,
      counts: true,
      not_counted_reason: null,
      adjustments: [],
      ingestion_id: expect.any(String) as string,
      event_index: 0,
    });
  });

  it('shows each movement, its bonus part, and why a row does not count', async () => {
    const id = await identify({ external_id: 'a' });
    const bet = { currency: 'EUR', bet_id: 'b', game_id: 'g', game_category: 'slots' };
    await send(id, 'bet_placed', 1, { ...bet, amount: 100, movement_id: 'a', bonus_stake: 40 });
    await send(id, 'bet_won', 2, { bet_id: 'b', payout: 250, currency: 'EUR', movement_id: 'w' });
    await send(id, 'bet_voided', 3, { bet_id: 'b', movement_id: 'w' });
    await send(id, 'bet_settled', 4, { ...bet, amount: 100, payout: 0, outcome: 'lost' });
    await send(id, 'deposit_reversed', 5, {
      transaction_id: 'never',
      reversal_id: 'r',
      amount: 10,
      currency: 'EUR',
    });
    await send(id, 'balance_credited', 6, {
      transaction_id: 'c',
      amount: 7,
      currency: 'EUR',
      reason: 'correction',
    });
    await sunk(service.platform);
    const { data } = await get(`/v1/players/${id}/ledger`);
    const shown = ['event', 'movement_id', 'bonus_stake', 'reason', 'counts', 'not_counted_reason'];
    expect(data.map((row) => shown.map((name) => row[name]))).toEqual([
      ['balance_credited', null, null, 'correction', false, 'in_no_total'],
      ['deposit_reversed', 'r', null, null, false, 'no_original'],
      ['bet_settled', null, null, null, false, 'superseded'],
      ['bet_voided', 'w', null, null, null, null],
      ['bet_won', 'w', null, null, false, 'voided'],
      ['bet_placed', 'a', 40, null, true, null],
    ]);
  });

  it('shows the rate that converted a row, and what it was worth before a better rate came', async () => {
    const id = await identify({ external_id: 'a' });
    const { service: sql } = service.platform.postgres;
    // Ten ether in wei have more digits than a double.
    await deposit(id, 1, '10000000000000000001', 'ETH');
    await deposit(id, 2, 112_50, 'SEK');
    await sunk(service.platform);
    const pending = await get(`/v1/players/${id}/ledger`);
    expect(pending.text).toContain('"amount":10000000000000000001,');
    expect(pending.data[0]).toMatchObject({ base_amount: null, rate: null, adjustments: [] });
    await sql`
      insert into fx_rates (tenant_id, base, quote, ts, rate)
      values (${tenant.tenant_id}, 'EUR', 'SEK', ${at(0)}, 11.25)`;
    const shows = (base_amount: number) =>
      until(`the deposit is worth ${base_amount}`, async (saw) => {
        const { data } = saw(await get(`/v1/players/${id}/ledger`));
        return data[0]?.['base_amount'] === base_amount ? data[0] : undefined;
      });
    const no_bonus = { base_bonus_stake: null, base_bonus_payout: null };
    const first = { base_amount: 10_00, rate: '11.25', rate_ts: at(0), rate_is_inverse: true };
    expect(await shows(10_00)).toMatchObject({ ...first, adjustments: [] });
    await sql`update fx_rates set rate = 11.26 where tenant_id = ${tenant.tenant_id}`;
    const restated = await shows(9_99);
    expect(restated).toMatchObject({ base_amount: 9_99, rate: '11.26' });
    expect(restated['adjustments']).toEqual([
      { adjusted_at: expect.stringMatching(/Z$/) as string, ...first, base_payout: null, ...no_bonus },
    ]);
  });

  it('is read in pages, without a row twice or left out', async () => {
    const id = await identify({ external_id: 'a' });
    for (let minute = 1; minute <= 5; minute++) await deposit(id, minute, minute);
    // Two at the same time.
    await send(id, 'withdrawal_confirmed', 5, { amount: 6, currency: 'EUR', transaction_id: 'w' });
    await sunk(service.platform);
    const whole = (await get(`/v1/players/${id}/ledger`)).data;
    const pages: Fields[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const page: Answer<Fields[]> = await get(`/v1/players/${id}/ledger?limit=2${cursor}`);
      expect(page.data.length).toBeLessThanOrEqual(2);
      pages.push(...page.data);
      cursor = page.next_cursor === null ? null : `&cursor=${page.next_cursor}`;
    }
    expect(whole).toHaveLength(6);
    expect(pages).toEqual(whole);
  });

  it('of a survivor has the money of those merged into it, and answers for them', async () => {
    const survivor = await identify({ external_id: 'a' });
    const gone = await identify({ anonymous_id: 'device' });
    await deposit(survivor, 1, 100);
    await deposit(gone, 2, 200);
    await sunk(service.platform);
    await identify({ external_id: 'a', anonymous_id: 'device' });
    for (const id of [survivor, gone]) {
      const { data } = await get(`/v1/players/${id}/ledger`);
      expect(data.map((row) => row['amount'])).toEqual([200, 100]);
    }
  });

  it('is empty for a player without money, and not found for one of others', async () => {
    const id = await identify({ external_id: 'a' });
    expect(await get(`/v1/players/${id}/ledger`)).toMatchObject({ status: 200, data: [], next_cursor: null });
    const other = await service.newTenant();
    for (const path of [`/v1/players/${id}/ledger`, '/v1/players/nonsense/ledger']) {
      expect(await get(path, other)).toMatchObject({ status: 404, code: 'PLAYER_NOT_FOUND' });
    }
    for (const query of ['limit=0', 'limit=201', 'cursor=x', 'from=x']) {
      expect(await get(`/v1/players/${id}/ledger?${query}`), query).toMatchObject({
        status: 422,
        code: 'VALIDATION_ERROR',
      });
    }
  });
});

describe('the audit of a player', () => {
  const change = async (id: string, body: Fields) => {
    const response = await call(`${service.base_url}/v1/players/${id}`, tenant.session_token, {
      method: 'PATCH',
      body,
    });
    expect(response.status).toBe(200);
  };

  it('has its changes with their actors, the newest first, in pages', async () => {
    const [id, beside] = [await identify({ external_id: 'a' }), await identify({ external_id: 'b' })];
    expect((await get(`/v1/players/${id}/audit`)).data).toEqual([]);
    await change(id, { email: 'one@example.com' });
    await change(beside, { email: 'beside@example.com' });
    await change(id, { email: 'two@example.com' });
    const first = await get(`/v1/players/${id}/audit?limit=1`);
    expect(first.data).toMatchObject([
      {
        action: 'update',
        resource_type: 'player',
        resource_id: id,
        actor: { kind: 'session', role: 'owner' },
        before: { email: 'one@example.com' },
        after: { email: 'two@example.com' },
      },
    ]);
    const second = await get(`/v1/players/${id}/audit?limit=1&cursor=${first.next_cursor}`);
    expect(second.data).toMatchObject([{ before: { email: null }, after: { email: 'one@example.com' } }]);
    expect(second.next_cursor).toBeNull();
  });

  it('of a survivor has the changes of those merged into it', async () => {
    const survivor = await identify({ external_id: 'a' });
    const gone = await identify({ anonymous_id: 'device' });
    await change(gone, { phone: '+1001' });
    await change(survivor, { phone: '+2001' });
    await identify({ external_id: 'a', anonymous_id: 'device' });
    for (const id of [survivor, gone]) {
      const { data } = await get(`/v1/players/${id}/audit`);
      expect(data.map((row) => row['resource_id'])).toEqual([survivor, gone]);
    }
  });

  it('is not found for a player of others', async () => {
    const id = await identify({ external_id: 'a' });
    await change(id, { phone: '+1001' });
    const other = await service.newTenant();
    for (const path of [`/v1/players/${id}/audit`, '/v1/players/nonsense/audit']) {
      expect(await get(path, other)).toMatchObject({ status: 404, code: 'PLAYER_NOT_FOUND' });
    }
    expect((await get(`/v1/players/${id}/audit?limit=x`)).code).toBe('VALIDATION_ERROR');
  });
});
