import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { startTestService, type TestService, type TestTenant } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { messagingClient, type MessagingClient } from '../../engage/messaging/messaging-client.ts';

let service: TestService;
let tenant: TestTenant;
let client: MessagingClient;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service?.close());
beforeEach(async () => {
  tenant = await service.newTenant('EUR');
  client = messagingClient(service, tenant);
});

interface Rate {
  base: string;
  quote: string;
  rate: string;
  ts: string;
  source: string;
}
interface LedgerRow {
  reference: string;
  base_amount: number | null;
  rate: string | null;
  adjustments: unknown[];
}

const EXACT = '11.1234567890123456789012345678901234567';
const post = (body: object, headers: Record<string, string> = {}) =>
  client.api<Rate>('POST', '/v1/currencies/rates', body, headers);
const list = (query: string) => client.api<Rate[]>('GET', `/v1/currencies/rates?${query}`);
const deposit = (player_id: string, transaction_id: string) =>
  client.event(player_id, 'deposit_confirmed', {
    amount: 1_000_000,
    currency: 'SEK',
    transaction_id,
    payment_method: 'card',
  });
const ledger = async (player_id: string) =>
  (await client.api<LedgerRow[]>('GET', `/v1/players/${player_id}/ledger`)).data;

it('a manual rate converts the events after it to the digit, and those before it keep theirs', async () => {
  const sql = service.platform.postgres.service;
  await sql`
    insert into fx_rates (tenant_id, base, quote, ts, rate, source)
    values (${tenant.tenant_id}, 'EUR', 'SEK', now() - interval '1 day', 10, 'frankfurter')`;
  const [player_id = ''] = await client.players(1);
  await deposit(player_id, 'before');
  await until('the first is folded', async (saw) => {
    const rows = saw(await ledger(player_id));
    return rows[0]?.base_amount === 100_000 ? rows : undefined;
  });
  const posted = await post({ base: 'EUR', quote: 'SEK', rate: EXACT });
  expect([posted.status, posted.data]).toMatchObject([
    201,
    { base: 'EUR', quote: 'SEK', rate: EXACT, source: 'manual' },
  ]);
  await deposit(player_id, 'after');
  // 1,000,000 divided by the rate, rounded half to even.
  const digits = BigInt(EXACT.replace('.', ''));
  const expected = Number((2n * 1_000_000n * 10n ** 37n + digits) / (2n * digits));
  await until('the second is folded, and the change of rates is worked off', async (saw) => {
    const rows = saw(await ledger(player_id));
    const [left] = saw(
      await sql<{ n: number }[]>`
      select count(*)::integer as n from fx_rate_changes where tenant_id = ${tenant.tenant_id}`,
    );
    return rows.length === 2 && left?.n === 0 ? rows : undefined;
  });
  expect(await ledger(player_id)).toMatchObject([
    { reference: 'after', base_amount: expected, rate: EXACT, adjustments: [] },
    { reference: 'before', base_amount: 100_000, rate: '10', adjustments: [] },
  ]);
  const log = await client.api('GET', '/v1/audit-log?resource_type=fx_rates');
  expect(log.data).toMatchObject([
    { action: 'create', resource_id: 'EUR/SEK', after: { rate: EXACT, source: 'manual' } },
  ]);
});

it('a rate of the past restates the events after it, and is kept as it is given', async () => {
  const [player_id = ''] = await client.players(1);
  await deposit(player_id, 'waiting');
  await until('it waits for a rate', async (saw) => saw(await ledger(player_id))[0]?.base_amount === null);
  const past = (ts: string, rate: string) => post({ base: 'EUR', quote: 'SEK', rate, ts });
  expect((await past('2024-01-31T01:00:00+01:00', '10')).data).toMatchObject({
    ts: '2024-01-31T00:00:00.000Z',
    source: 'manual',
  });
  await until('it is converted', async (saw) => saw(await ledger(player_id))[0]?.base_amount === 100_000);
  const day_ms = 86_400_000;
  const yesterday = new Date(Math.floor(Date.now() / day_ms) * day_ms - day_ms).toISOString();
  expect((await past(yesterday, '20')).data.ts).toBe(yesterday);
  const [row] = await until('it is restated', async (saw) => {
    const rows = saw(await ledger(player_id));
    return rows[0]?.base_amount === 50_000 ? rows : undefined;
  });
  expect(row).toMatchObject({ rate: '20', adjustments: [{ rate: '10' }] });
  for (const rate of ['20', '21'])
    expect(await past(yesterday, rate)).toMatchObject({ status: 409, code: 'CONFLICT' });
});

it.each([
  ['in the future', () => new Date(Date.now() + 60_000).toISOString()],
  ['without an offset', () => '2024-01-31T00:00:00'],
  ['that is none', () => '2024-02-30T00:00:00Z'],
])('refuses a time %s', async (_what, ts) => {
  const { status, code } = await post({ base: 'EUR', quote: 'SEK', rate: '11', ts: ts() });
  expect([status, code]).toEqual([422, 'VALIDATION_ERROR']);
});

it('the history of a pair is listed by page, the latest first, each rate with all its digits', async () => {
  await service.platform.postgres.service`
    insert into fx_rates (tenant_id, base, quote, ts, rate, source)
    select ${tenant.tenant_id}, 'EUR', 'USD', now() - n * interval '1 day', 1 + n / 8.0, 'frankfurter'
    from generate_series(1, 5) n`;
  await post({ base: 'EUR', quote: 'USD', rate: EXACT });
  const rates: string[] = [];
  for (let cursor = ''; ;) {
    const page = await list(`base=EUR&quote=USD&limit=4${cursor}`);
    rates.push(...page.data.map(({ rate }) => rate));
    if (page.next_cursor === null) break;
    cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`;
  }
  expect(rates.map((rate) => rate.replace(/0+$/, ''))).toEqual([
    EXACT,
    '1.125',
    '1.25',
    '1.375',
    '1.5',
    '1.625',
  ]);
  expect((await list('base=USD&quote=EUR')).data).toEqual([]);
  expect((await list('base=EUR')).status).toBe(422);
});

it('the same Idempotency-Key is one rate', async () => {
  const key = { 'idempotency-key': randomUUID() };
  const body = { base: 'EUR', quote: 'GBP', rate: '0.85' };
  const [first, second] = [await post(body, key), await post(body, key)];
  expect(second.data).toEqual(first.data);
  expect((await list('base=EUR&quote=GBP')).data).toHaveLength(1);
});

it.each([
  ['zero', { base: 'EUR', quote: 'SEK', rate: '0.00' }],
  ['a number', { base: 'EUR', quote: 'SEK', rate: 11.25 }],
  ['an exponent', { base: 'EUR', quote: 'SEK', rate: '1e3' }],
  ['a negative rate', { base: 'EUR', quote: 'SEK', rate: '-1' }],
  ['too many digits', { base: 'EUR', quote: 'SEK', rate: `1.${'3'.repeat(41)}` }],
  ['a currency in itself', { base: 'EUR', quote: 'EUR', rate: '1' }],
  ['an unknown currency', { base: 'EUR', quote: 'XXX', rate: '1' }],
  ['the direction in which fiat is not kept', { base: 'SEK', quote: 'EUR', rate: '0.1' }],
  ['the direction in which crypto is not kept', { base: 'EUR', quote: 'BTC', rate: '0.1' }],
  ['two currencies of which neither is the base', { base: 'USD', quote: 'SEK', rate: '0.1' }],
])('refuses %s', async (_what, body) => {
  const { status, code } = await post(body);
  expect([status, code]).toEqual([422, 'VALIDATION_ERROR']);
});

it('refuses a rate that an older one of the other direction would hide', async () => {
  await service.platform.postgres.service`
    insert into fx_rates (tenant_id, base, quote, ts, rate)
    values (${tenant.tenant_id}, 'SEK', 'EUR', now() - interval '1 year', 0.1)`;
  const { status, code } = await post({ base: 'EUR', quote: 'SEK', rate: '11' });
  expect([status, code]).toEqual([409, 'CONFLICT']);
  expect((await post({ base: 'BTC', quote: 'EUR', rate: '60000.5' })).status).toBe(201);
});
