import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Answer } from '../../engines/http-client.ts';
import { openFixture, type Fixture } from '../../http/api-fixture.ts';
import {
  coingecko,
  frankfurter,
  frankfurterHistory,
  frankfurterV2,
  json,
  startServer,
  type TestServer,
} from './provider-servers.ts';

// Rates from servers that speak the protocols of Frankfurter and CoinGecko, checked in the table of rates.

const DATE = '2026-02-27';
const FIAT_TS = '2026-02-27 00:00:00+00';
/** 2026-02-28T13:47:11Z. */
const UPDATED_AT = 1_772_286_431;
const CRYPTO_TS = '2026-02-28 13:00:00+00';

let fixture: Fixture;
let fiat: TestServer;
let crypto: TestServer;
let second: TestServer;

beforeAll(async () => {
  fiat = await startServer(json('{}'));
  crypto = await startServer(json('{}'));
  second = await startServer(json('[]'));
  fixture = await openFixture({
    FX_FIAT_URL: `${fiat.url}/`,
    FX_CRYPTO_URL: `${crypto.url}/below/`,
    FX_SECOND_FIAT_URL: second.url,
  });
});
afterAll(async () => {
  await fixture.close();
  await Promise.all([fiat.close(), crypto.close(), second.close()]);
});
beforeEach(async () => {
  const sql = fixture.platform.postgres.service;
  // A fetch covers every tenant, so those of earlier tests must need no rates.
  await sql`delete from fx_rates`;
  await sql`update currencies set is_active = false`;
  for (const server of [fiat, crypto, second]) server.requests.splice(0);
  second.handle = json('[]');
  fiat.handle = frankfurter(DATE, { EUR: { SEK: '11.0234', USD: '1.1000' } });
  crypto.handle = coingecko(UPDATED_AT, { bitcoin: { eur: '57000.12' } });
});

/** Creates a tenant in which only these currencies are active; returns its id. */
async function newTenant(base_currency: string, active: string[]): Promise<string> {
  const request = { name: 'T', base_currency, project_name: 'P', admin_user_id: `of-${base_currency}` };
  const { body } = await fixture.internal('/v1/internal/tenants', request);
  const tenant_id = String(body.data['tenant_id']);
  const sql = fixture.platform.postgres.service;
  await sql`update currencies set is_active = code = any(string_to_array(${active.join()}, ',')) where tenant_id = ${tenant_id}`;
  return tenant_id;
}

const fetchRates = (body: object = {}): Promise<Answer> => fixture.internal('/v1/internal/fx-fetch', body);

async function stored(tenant_id: string): Promise<string[]> {
  const rows = await fixture.platform.postgres.service<{ text: string }[]>`
    select concat_ws(' ', base, quote, rate::text, ts::text, source) as text from fx_rates
    where tenant_id = ${tenant_id} order by base collate "C", quote collate "C", ts`;
  return rows.map(({ text }) => text);
}

async function tenantCount(): Promise<number> {
  const [row] = await fixture.platform.postgres.service<
    { n: number }[]
  >`select count(*)::int as n from tenants`;
  return row?.n ?? 0;
}

describe('a fetch', () => {
  it('asks once per base currency for the currencies that its tenants need, and stores every digit', async () => {
    const one = await newTenant('EUR', ['EUR', 'SEK', 'BTC']);
    const two = await newTenant('EUR', ['EUR', 'USD', 'ETH']);
    const dollar = await newTenant('USD', ['USD', 'KWD', 'DOGE', 'BTC']);
    const idle = await newTenant('GBP', ['GBP']);
    const SEK = '11.02340000000000000000000000000000000001';
    fiat.handle = frankfurter(DATE, {
      EUR: { SEK, USD: '1.1', GBP: '0.85' },
      USD: { KWD: '3.1e-1', EUR: '0.9' },
    });
    crypto.handle = coingecko(UPDATED_AT, {
      bitcoin: { eur: '57000.12', usd: '62000' },
      ethereum: { eur: '3000.5', usd: '3300' },
      dogecoin: { eur: '0.1', usd: '8.123456789012345678e-2' },
    });
    const { status, body } = await fetchRates();
    expect(status).toBe(200);
    expect(body.data).toEqual({ upserted: 7, tenants: await tenantCount(), failures: [] });
    expect(fiat.requests.toSorted()).toEqual([
      '/v1/latest?base=EUR&symbols=SEK,USD',
      '/v1/latest?base=USD&symbols=KWD',
    ]);
    expect(crypto.requests).toEqual([
      '/below/api/v3/simple/price?ids=bitcoin,dogecoin,ethereum&vs_currencies=eur,usd&include_last_updated_at=true',
    ]);
    expect(await stored(one)).toEqual([
      `BTC EUR 57000.12 ${CRYPTO_TS} coingecko`,
      `EUR SEK ${SEK} ${FIAT_TS} frankfurter`,
    ]);
    expect(await stored(two)).toEqual([
      `ETH EUR 3000.5 ${CRYPTO_TS} coingecko`,
      `EUR USD 1.1 ${FIAT_TS} frankfurter`,
    ]);
    expect(await stored(dollar)).toEqual([
      `BTC USD 62000 ${CRYPTO_TS} coingecko`,
      `DOGE USD 0.08123456789012345678 ${CRYPTO_TS} coingecko`,
      `USD KWD 0.31 ${FIAT_TS} frankfurter`,
    ]);
    expect(await stored(idle)).toEqual([]);
  });

  it('prices fiat currencies in crypto for a tenant whose base is a crypto currency', async () => {
    const tenant = await newTenant('BTC', ['BTC', 'LTC', 'EUR', 'SEK']);
    crypto.handle = coingecko(UPDATED_AT, {
      bitcoin: { btc: '1', eur: '57000.12', sek: '630000' },
      litecoin: { btc: '0.0012', eur: '70', sek: '770' },
    });
    expect((await fetchRates()).body.data).toMatchObject({ upserted: 3, failures: [] });
    expect(fiat.requests).toEqual([]);
    expect(crypto.requests[0]).toContain('?ids=bitcoin,litecoin&vs_currencies=btc,eur,sek&');
    expect(await stored(tenant)).toEqual([
      `BTC EUR 57000.12 ${CRYPTO_TS} coingecko`,
      `BTC SEK 630000 ${CRYPTO_TS} coingecko`,
      `LTC BTC 0.0012 ${CRYPTO_TS} coingecko`,
    ]);
  });

  it('updates existing rows, and adds rows for a later time', async () => {
    const tenant = await newTenant('EUR', ['EUR', 'SEK', 'BTC']);
    const first = await fetchRates();
    expect((await fetchRates()).body.data).toEqual(first.body.data);
    expect(await stored(tenant)).toHaveLength(2);

    const sql = fixture.platform.postgres.service;
    await sql`update fx_rates set source = 'manual' where tenant_id = ${tenant} and base = 'BTC'`;
    fiat.handle = frankfurter(DATE, { EUR: { SEK: '11.5' } });
    crypto.handle = coingecko(UPDATED_AT + 60, { bitcoin: { eur: '58000' } });
    expect((await fetchRates()).body.data).toMatchObject({ upserted: 2 });
    expect(await stored(tenant)).toEqual([
      `BTC EUR 58000 ${CRYPTO_TS} coingecko`,
      `EUR SEK 11.5 ${FIAT_TS} frankfurter`,
    ]);
    crypto.handle = coingecko(UPDATED_AT + 3_600, { bitcoin: { eur: '59000' } });
    await fetchRates();
    expect(await stored(tenant)).toHaveLength(3);
  });

  it('can be limited to one kind and to one tenant', async () => {
    const one = await newTenant('EUR', ['EUR', 'SEK', 'BTC']);
    const two = await newTenant('EUR', ['EUR', 'SEK', 'BTC']);
    expect((await fetchRates({ kinds: ['fiat', 'fiat'] })).body.data).toMatchObject({ upserted: 2 });
    expect(crypto.requests).toEqual([]);
    const { body } = await fetchRates({ kinds: ['crypto'], tenant_id: two });
    expect(body.data).toEqual({ upserted: 1, tenants: 1, failures: [] });
    expect([(await stored(one)).length, (await stored(two)).length]).toEqual([1, 2]);

    const unknown = await fetchRates({ tenant_id: '00000000-0000-4000-8000-000000000000' });
    expect([unknown.status, unknown.body.error.code]).toEqual([404, 'TENANT_NOT_FOUND']);
    for (const body of [{ kinds: [] }, { kinds: ['gold'] }, { tenant_id: 'x' }, { what: 1 }]) {
      expect((await fetchRates(body)).body.error.code).toBe('VALIDATION_ERROR');
    }
  });

  it('succeeds without the currencies that a provider does not have', async () => {
    const tenant = await newTenant('EUR', ['EUR', 'SEK', 'KWD', 'BTC', 'ETH', 'LTC']);
    crypto.handle = json(
      `{"bitcoin":{"eur":57000,"last_updated_at":${UPDATED_AT}},"ethereum":{},"litecoin":{"eur":null}}`,
    );
    expect((await fetchRates()).body.data).toMatchObject({ upserted: 2, failures: [] });
    expect(await stored(tenant)).toEqual([
      `BTC EUR 57000 ${CRYPTO_TS} coingecko`,
      `EUR SEK 11.0234 ${FIAT_TS} frankfurter`,
    ]);
  });
});

describe('a provider that fails', () => {
  const broken = (text: string) => json(text);
  const tomorrow = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
  const price = (text: string) => `{"bitcoin":{"eur":${text},"last_updated_at":${UPDATED_AT}}}`;

  it.each([
    ['another base', `{"base":"USD","date":"${DATE}","rates":{"SEK":11}}`, 'is for USD'],
    ['no base', `{"date":"${DATE}","rates":{"SEK":11}}`, 'malformed'],
    ['no rates', `{"base":"EUR","date":"${DATE}"}`, 'malformed'],
    ['no date', `{"base":"EUR","rates":{"SEK":11}}`, 'malformed'],
    ['a date that is none', '{"base":"EUR","date":"2026-02-30","rates":{"SEK":11}}', 'malformed'],
    ['a date to come', `{"base":"EUR","date":"${tomorrow(3)}","rates":{"SEK":11}}`, 'future'],
    ['a rate of 0', `{"base":"EUR","date":"${DATE}","rates":{"SEK":0,"USD":1.1}}`, '0 is not a valid rate'],
    [
      'a negative rate',
      `{"base":"EUR","date":"${DATE}","rates":{"USD":1.1,"SEK":-1}}`,
      '-1 is not a valid rate',
    ],
    ['no number', `{"base":"EUR","date":"${DATE}","rates":{"SEK":"11"}}`, 'malformed'],
    ['NaN', `{"base":"EUR","date":"${DATE}","rates":{"SEK":NaN}}`, 'not answered with JSON'],
    ['a code nobody asked for', `{"base":"EUR","date":"${DATE}","rates":{"SEK":11,"XXX":1}}`, 'XXX'],
    [
      'two rates of one code',
      `{"base":"EUR","date":"${DATE}","rates":{"SEK":11,"SEK":12}}`,
      'not answered with JSON',
    ],
    ['a list', '[]', 'malformed'],
  ])('for fiat, with %s, leaves no rate of its answer', async (_what, text, message) => {
    const tenant = await newTenant('EUR', ['EUR', 'SEK', 'USD', 'BTC']);
    fiat.handle = broken(text);
    const { body } = await fetchRates();
    expect(body.data).toMatchObject({ upserted: 1, failures: [{ provider: 'frankfurter' }] });
    expect(JSON.stringify(body.data['failures'])).toContain(message);
    expect(JSON.stringify(body.data['failures'])).toContain(`${fiat.url}/v1/latest?base=EUR`);
    expect(await stored(tenant)).toEqual([`BTC EUR 57000.12 ${CRYPTO_TS} coingecko`]);
  });

  it.each([
    ['a price of 0', price('0'), '0 is not a valid price'],
    ['a negative price', price('-5'), '-5 is not a valid price'],
    ['a price beyond all bounds', price('1e300'), '1e300 is not a valid price'],
    ['no number', price('"57000"'), 'malformed'],
    ['no time', '{"bitcoin":{"eur":57000}}', 'last_updated_at'],
    ['a time that is none', '{"bitcoin":{"eur":57000,"last_updated_at":1.5}}', 'last_updated_at'],
    ['a time to come', '{"bitcoin":{"eur":57000,"last_updated_at":99999999999}}', 'last_updated_at'],
    ['a coin nobody asked for', `{"doge":{"eur":1,"last_updated_at":${UPDATED_AT}}}`, 'doge'],
    ['a currency nobody asked for', `{"bitcoin":{"eur":1,"sek":2,"last_updated_at":${UPDATED_AT}}}`, 'sek'],
    ['a list', '[]', 'malformed'],
  ])('for crypto, with %s, leaves no rate of its answer', async (_what, text, message) => {
    const tenant = await newTenant('EUR', ['EUR', 'SEK', 'BTC', 'ETH']);
    crypto.handle = broken(text);
    const { body } = await fetchRates();
    expect(body.data).toMatchObject({ upserted: 1, failures: [{ provider: 'coingecko' }] });
    expect(JSON.stringify(body.data['failures'])).toContain(message);
    expect(await stored(tenant)).toEqual([`EUR SEK 11.0234 ${FIAT_TS} frankfurter`]);
  });

  it('for one base currency does not stop the others; one that is down gets no further requests', async () => {
    const refused = await newTenant('KES', ['KES', 'SEK']);
    const known = await newTenant('EUR', ['EUR', 'SEK']);
    const answer = fiat.handle;
    fiat.handle = (...call) => (call[2].get('base') === 'KES' ? json('{}', 403)(...call) : answer(...call));
    const { body } = await fetchRates({ kinds: ['fiat'] });
    expect(body.data).toMatchObject({ upserted: 1, failures: [{ provider: 'frankfurter' }] });
    expect(JSON.stringify(body.data['failures'])).toContain('base=KES&symbols=SEK was answered with 403');
    expect([await stored(refused), (await stored(known)).length]).toEqual([[], 1]);

    fiat.requests.splice(0);
    fiat.handle = (_request, response) => response.writeHead(503, { 'retry-after': '3600' }).end();
    expect((await fetchRates({ kinds: ['fiat'] })).body.data['failures']).toHaveLength(1);
    expect(fiat.requests).toHaveLength(1);
  });
});

it.each([400, 404, 422])(
  'a base currency that the provider answers with %i gets no rates',
  async (status) => {
    const unknown = await newTenant('KES', ['KES', 'SEK']);
    const known = await newTenant('EUR', ['EUR', 'SEK']);
    const answer = fiat.handle;
    fiat.handle = (...call) =>
      call[2].get('base') === 'KES' ? json('{}', status)(...call) : answer(...call);
    expect((await fetchRates({ kinds: ['fiat'] })).body.data).toMatchObject({ upserted: 1, failures: [] });
    expect([await stored(unknown), (await stored(known)).length]).toEqual([[], 1]);
  },
);

describe('the second provider of fiat rates', () => {
  it('is asked for what the first one does not have, and only for that', async () => {
    const tenant = await newTenant('EUR', ['EUR', 'SEK', 'USD', 'KES', 'AED']);
    second.handle = frankfurterV2([
      '2026-02-26 EUR KES 150.12345678901234567890',
      '2026-02-27 EUR SEK 99',
      '2026-02-27 EUR XAU 0.0002',
    ]);
    expect((await fetchRates({ kinds: ['fiat'] })).body.data).toMatchObject({ upserted: 3, failures: [] });
    expect(second.requests).toEqual(['/v2/rates?base=EUR']);
    expect(await stored(tenant)).toEqual([
      'EUR KES 150.12345678901234567890 2026-02-26 00:00:00+00 frankfurter-v2',
      `EUR SEK 11.0234 ${FIAT_TS} frankfurter`,
      `EUR USD 1.1000 ${FIAT_TS} frankfurter`,
    ]);
    second.requests.splice(0);
    await newTenant('EUR', ['EUR', 'SEK']);
    await fixture.platform.postgres.service`update currencies set is_active = code in ('EUR', 'SEK')`;
    await fetchRates({ kinds: ['fiat'], tenant_id: tenant });
    expect(second.requests).toEqual([]);
  });

  it('serves a base currency that the first one refuses', async () => {
    const tenant = await newTenant('KES', ['KES', 'SEK']);
    fiat.handle = json('{}', 404);
    second.handle = frankfurterV2(['2026-02-27 KES SEK 0.07']);
    await fetchRates({ kinds: ['fiat'] });
    expect(await stored(tenant)).toEqual([`KES SEK 0.07 ${FIAT_TS} frankfurter-v2`]);
  });

  it.each([
    ['down', json('{}', 403), '403'],
    ['malformed', json('{}'), 'malformed'],
    ['for another base', json(`[{"date":"${DATE}","base":"USD","quote":"KES","rate":1}]`), 'is for USD'],
    ['negative', json(`[{"date":"${DATE}","base":"EUR","quote":"KES","rate":-1}]`), 'not a valid rate'],
    ['from the future', frankfurterV2(['2999-01-01 EUR KES 1']), 'future'],
    ['twice', frankfurterV2([`${DATE} EUR KES 1`, `${DATE} EUR KES 2`]), 'two rates'],
  ])('whose answer is %s takes nothing from the rates of the first', async (_what, handle, message) => {
    const tenant = await newTenant('EUR', ['EUR', 'SEK', 'KES']);
    second.handle = handle;
    const { body } = await fetchRates({ kinds: ['fiat'] });
    expect(body.data).toMatchObject({ upserted: 1, failures: [{ provider: 'frankfurter-v2' }] });
    expect(JSON.stringify(body.data['failures'])).toContain(message);
    expect(await stored(tenant)).toEqual([`EUR SEK 11.0234 ${FIAT_TS} frankfurter`]);
  });
});

describe('a history', () => {
  beforeEach(() => {
    fixture.platform.clock = { now_ms: () => Date.parse('2026-03-01T12:00:00Z') };
  });
  afterEach(() => {
    fixture.platform.clock = { now_ms: () => Date.now() };
  });

  it('has the fiat rates of every day since a date, from both providers', async () => {
    const tenant = await newTenant('EUR', ['EUR', 'SEK', 'KES', 'BTC']);
    fiat.handle = frankfurterHistory({
      '2026-01-01': { SEK: '11.1' },
      '2026-01-30': { SEK: '11.2' },
      '2026-02-27': { SEK: '11.3' },
    });
    second.handle = frankfurterV2([
      '2025-12-31 EUR KES 148',
      '2026-01-15 EUR KES 149',
      '2026-02-28 EUR KES 150',
    ]);
    const request = { since: '2026-01-01', tenant_id: tenant };
    const first = await fetchRates(request);
    expect(first.body.data).toEqual({ upserted: 5, tenants: 1, failures: [] });
    expect(fiat.requests).toEqual([
      '/v1/2026-01-01..2026-01-30?base=EUR&symbols=KES,SEK',
      '/v1/2026-01-31..2026-03-01?base=EUR&symbols=KES,SEK',
    ]);
    expect(second.requests[0]).toBe('/v2/rates?base=EUR&from=2026-01-01&to=2026-01-30');
    expect(crypto.requests).toEqual([]);
    expect(await stored(tenant)).toEqual([
      'EUR KES 149 2026-01-15 00:00:00+00 frankfurter-v2',
      'EUR KES 150 2026-02-28 00:00:00+00 frankfurter-v2',
      'EUR SEK 11.1 2026-01-01 00:00:00+00 frankfurter',
      'EUR SEK 11.2 2026-01-30 00:00:00+00 frankfurter',
      'EUR SEK 11.3 2026-02-27 00:00:00+00 frankfurter',
    ]);
    expect((await fetchRates(request)).body.data).toEqual(first.body.data);
    expect(await stored(tenant)).toHaveLength(5);
  });

  it('ends when a provider is down, and keeps what there is', async () => {
    const tenant = await newTenant('EUR', ['EUR', 'SEK']);
    const answer = frankfurterHistory({ '2026-01-01': { SEK: '11.1' } });
    fiat.handle = (request, ...rest) =>
      request.url?.includes('2026-01-01..') === true
        ? answer(request, ...rest)
        : rest[0].writeHead(503, { 'retry-after': '3600' }).end();
    const { body } = await fetchRates({ since: '2026-01-01', tenant_id: tenant });
    expect(body.data).toMatchObject({ upserted: 1, failures: [{ provider: 'frankfurter' }] });
    expect(await stored(tenant)).toHaveLength(1);
  });

  it.each([
    ['a date to come', { since: '2026-03-02' }],
    ['a date over five years ago', { since: '2021-02-24' }],
    ['a date that is none', { since: '2026-02-30' }],
    ['crypto prices', { since: '2026-01-01', kinds: ['crypto'] }],
  ])('is refused with %s', async (_what, request) => {
    expect(await fetchRates(request)).toMatchObject({ status: 422, code: 'VALIDATION_ERROR' });
    expect(fiat.requests).toEqual([]);
  });
});

describe('prices of CoinGecko', () => {
  it.each([
    ['a price of 0', `{"eur":0,"last_updated_at":${UPDATED_AT}}`],
    ['a price that is text', '{"eur":"1"}'],
    ['no time', '{"eur":3000}'],
    ['a currency that nobody asked for', `{"eur":1,"sek":2,"last_updated_at":${UPDATED_AT}}`],
    ['no object', '7'],
  ])('of a coin with %s leave those of the other coins', async (_what, ether) => {
    const tenant = await newTenant('EUR', ['EUR', 'BTC', 'ETH', 'LTC']);
    const good = (price: string) => `{"eur":${price},"last_updated_at":${UPDATED_AT}}`;
    crypto.handle = json(
      `{"bitcoin":${good('57000')},"ethereum":${ether},"litecoin":${good('70')},"doge":{}}`,
    );
    const { body } = await fetchRates({ kinds: ['crypto'] });
    expect(body.data).toMatchObject({ upserted: 2 });
    const failures = body.data['failures'] as { provider: string; message: string }[];
    expect(failures.map(({ provider }) => provider)).toEqual(['coingecko', 'coingecko']);
    expect(failures[0]?.message).toContain('doge');
    expect(failures[1]?.message).toContain('ETH');
    expect(await stored(tenant)).toEqual([
      `BTC EUR 57000 ${CRYPTO_TS} coingecko`,
      `LTC EUR 70 ${CRYPTO_TS} coingecko`,
    ]);
  });

  it('are not asked for a currency of the tenant that CoinGecko does not have', async () => {
    const tenant = await newTenant('EUR', ['EUR', 'BTC']);
    await fixture.platform.postgres.service`
      insert into currencies (tenant_id, code, kind, scale, symbol, display_name)
      values (${tenant}, 'PEPE', 'crypto', 18, 'P', 'Pepe')`;
    expect((await fetchRates({ kinds: ['crypto'] })).body.data).toMatchObject({ upserted: 1, failures: [] });
    await fixture.platform.postgres.service`update currencies set is_active = code in ('EUR', 'PEPE')`;
    crypto.requests.splice(0);
    await fetchRates({ kinds: ['crypto'], tenant_id: tenant });
    expect(crypto.requests).toEqual([]);
  });

  it.each([
    [24 * 3_600 + 1, 1],
    [23 * 3_600, 0],
  ])('that are %i s old are stored, and counted if that is over a day', async (age_s, counted) => {
    const countOf = async () => {
      const { values } = await fixture.platform.metrics.staleRates.get();
      return values.find(({ labels }) => labels['provider'] === 'coingecko')?.value ?? 0;
    };
    const before = await countOf();
    const tenant = await newTenant('EUR', ['EUR', 'BTC']);
    crypto.handle = coingecko(Math.ceil(Date.now() / 3_600_000) * 3_600 - age_s, { bitcoin: { eur: '1' } });
    await fetchRates({ kinds: ['crypto'], tenant_id: tenant });
    expect(await stored(tenant)).toHaveLength(1);
    expect((await countOf()) - before).toBe(counted);
  });
});
