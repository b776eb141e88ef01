import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { lockScales } from '../../../src/ledger/fold/read-queries.ts';
import { MAX_CURRENCIES } from '../../../src/ledger/fx/currency-change.ts';
import { runs } from '../../engines/effort.ts';
import { until } from '../../engines/until.ts';
import type { Fixture, Tenant } from '../../http/api-fixture.ts';
import { sharedFixture } from '../../http/shared-fixture.ts';

// Currencies that admins add and change, and rates that are imported.

let fixture: Fixture;
let tenant: Tenant;
beforeAll(async () => {
  fixture = await sharedFixture();
});
afterAll(() => fixture?.close());
beforeEach(async () => {
  tenant = await fixture.makeTenant();
});

const TOKEN = { code: 'PEPE', kind: 'crypto', scale: 18, symbol: 'P', display_name: 'Pepe' };
const sql = () => fixture.platform.postgres.service;
const api = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  fixture.as(tenant.session, path, { method, body, headers });
const create = (body: unknown, headers?: Record<string, string>) =>
  api('POST', '/v1/currencies', body, headers);
const change = (code: string, body: unknown) => api('PATCH', `/v1/currencies/${code}`, body);

interface Currency extends Record<string, unknown> {
  code: string;
}
async function currency(code: string): Promise<Currency | undefined> {
  const { body } = await api('GET', '/v1/currencies');
  return (body.data as unknown as Currency[]).find((one) => one.code === code);
}

/** Inserts a ledger row of the tenant's project. */
async function insertRow(
  code: string,
  { amount, base_amount }: { amount: number; base_amount: number | null },
) {
  await sql()`
    insert into ledger (project_no, reference, ordinal, event, event_index, log_partition, log_offset, occurred_at,
      ingestion_id, player_id, currency, amount, base_amount, rate)
    select p.project_no, ${randomUUID()}, 0, 'deposit_confirmed', 0, 0, 0, now(), ${randomUUID()}, ${randomUUID()},
      ${code}, ${amount}, ${base_amount}, ${base_amount === null ? null : 2}
    from projects p where p.project_id = ${tenant.project_id}`;
}

describe('POST /v1/currencies', () => {
  it('adds an active currency, which intake accepts from then on', async () => {
    const { status, body } = await create(TOKEN);
    const shown = { ...TOKEN, is_active: true, is_base: false };
    expect([status, body.data]).toMatchObject([201, { ...shown, rate_source: 'none', rate_ts: null }]);
    expect(await currency('PEPE')).toEqual(body.data);
    const known = await fixture.deps.capabilities.get(tenant.tenant_id);
    expect(known.currencies.has('PEPE')).toBe(true);
    expect(await create(TOKEN)).toMatchObject({ status: 409, code: 'CONFLICT' });
    expect((await create({ ...TOKEN, code: 'EUR' })).status).toBe(409);
  });

  it('is done once for an Idempotency-Key', async () => {
    const key = { 'idempotency-key': randomUUID() };
    const [first, second] = [await create(TOKEN, key), await create(TOKEN, key)];
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.body.data).toEqual(first.body.data);
  });

  it.each([
    ['a scale below 0', { scale: -1 }],
    ['a scale over 18', { scale: 19 }],
    ['a scale that is no integer', { scale: 1.5 }],
    ['a code in small letters', { code: 'pepe' }],
    ['a code of one letter', { code: 'P' }],
    ['an empty name', { display_name: ' ' }],
    ['another kind', { kind: 'gold' }],
    ['no symbol', { symbol: undefined }],
    ['is_active', { is_active: false }],
  ])('refuses %s', async (_what, fields) => {
    expect(await create({ ...TOKEN, ...fields })).toMatchObject({ status: 422, code: 'VALIDATION_ERROR' });
  });

  it('takes the scales 0 and 18, and no more currencies than the limit', async () => {
    expect((await create({ ...TOKEN, code: 'A0', scale: 0 })).status).toBe(201);
    await sql()`
      insert into currencies (tenant_id, code, kind, scale, symbol, display_name)
      select ${tenant.tenant_id}, 'Z' || n, 'fiat', 2, 'Z', 'Z' from generate_series(1, ${MAX_CURRENCIES}) n`;
    expect((await create(TOKEN)).status).toBe(409);
  });
});

describe('PATCH /v1/currencies/:code', () => {
  it('changes all but the code', async () => {
    await create(TOKEN);
    const fields = { kind: 'fiat', scale: 4, symbol: 'Q', display_name: 'Frog', is_active: false };
    expect(await change('PEPE', fields)).toMatchObject({
      status: 200,
      body: { data: { code: 'PEPE', ...fields } },
    });
    const known = await fixture.deps.capabilities.get(tenant.tenant_id);
    expect(known.currencies.has('PEPE')).toBe(false);
    expect(await change('PEPE', { code: 'FROG' })).toMatchObject({ status: 422, code: 'FIELD_NOT_WRITABLE' });
    expect((await change('PEPE', { scale: 19 })).status).toBe(422);
    for (const code of ['NONE', '%00', 'A'.repeat(40)])
      expect(await change(code, { scale: 2 })).toMatchObject({ status: 404, code: 'CURRENCY_NOT_FOUND' });
  });

  it('leaves the base currency active, and its scale and kind as they are', async () => {
    for (const fields of [{ is_active: false }, { scale: 3 }, { kind: 'crypto' }])
      expect(await change('EUR', fields)).toMatchObject({ status: 409, code: 'CONFLICT' });
    const same = { is_active: true, scale: 2, kind: 'fiat', symbol: 'E' };
    expect(await change('EUR', same)).toMatchObject({ status: 200, body: { data: same } });
  });

  it.each([
    ['converted', { amount: 100, base_amount: 50 }],
    ['pending', { amount: 100, base_amount: null }],
  ])('keeps the scale of a currency with a %s amount in the ledger', async (_what, row) => {
    await insertRow('SEK', row);
    expect(await change('SEK', { scale: 3 })).toMatchObject({ status: 409, code: 'CONFLICT' });
    expect((await change('SEK', { scale: 2, symbol: 'k', is_active: false })).status).toBe(200);
    // Neither another currency nor another tenant is affected.
    expect((await change('NOK', { scale: 3 })).status).toBe(200);
    tenant = await fixture.makeTenant();
    expect((await change('SEK', { scale: 3 })).status).toBe(200);
  });

  it('waits for a fold that has read the scale, and then finds its row', async () => {
    let answer: ReturnType<typeof change> | undefined;
    const { tenant_id } = tenant;
    await sql().begin(async (tx) => {
      await lockScales(tx, [{ tenant_id, currency: 'SEK', occurred_at_ms: 0 }]);
      answer = change('SEK', { scale: 3 });
      await until('the change waits', async (saw) => {
        const waiting = await sql()`select from pg_locks where not granted`;
        return saw(waiting.length) > 0;
      });
      await tx`
        insert into ledger (project_no, reference, ordinal, event, event_index, log_partition, log_offset,
          occurred_at, ingestion_id, player_id, currency, amount)
        select p.project_no, 'late', 0, 'deposit_confirmed', 0, 0, 0, now(), ${randomUUID()}, ${randomUUID()}, 'SEK',
          100
        from projects p where p.project_id = ${tenant.project_id}`;
    });
    expect(await answer).toMatchObject({ status: 409, code: 'CONFLICT' });
  });

  it('makes no crypto currency with rates a fiat currency: they would hide all later ones', async () => {
    await sql()`
      insert into fx_rates (tenant_id, base, quote, ts, rate)
      values (${tenant.tenant_id}, 'BTC', 'EUR', now(), 50000)`;
    expect((await change('BTC', { kind: 'fiat' })).status).toBe(409);
  });
});

describe('rate_source', () => {
  it('names the provider, or the source of the rate that holds', async () => {
    const sourceOf = async (code: string) => (await currency(code))?.['rate_source'];
    expect(await sourceOf('EUR')).toBe('identity');
    expect(await sourceOf('SEK')).toBe('frankfurter');
    expect(await sourceOf('BTC')).toBe('coingecko');
    const none = ['AED', 'ARS', 'CLP', 'COP', 'GEL', 'KES', 'KWD', 'KZT', 'NGN', 'PEN', 'UAH'];
    const { body } = await api('GET', '/v1/currencies');
    const catalogue = body.data as unknown as Currency[];
    const without = catalogue.filter(({ rate_source }) => rate_source === 'none').map(({ code }) => code);
    expect(without).toEqual(none);
    await api('POST', '/v1/currencies/rates', { base: 'EUR', quote: 'KES', rate: '150' });
    expect(await currency('KES')).toMatchObject({ rate_source: 'manual', is_rate_stale: false });
  });

  it.each([
    ['BTC', 'EUR', 'coingecko', 25, true],
    ['BTC', 'EUR', 'coingecko', 23, false],
    ['EUR', 'SEK', 'frankfurter', 145, true],
    ['EUR', 'SEK', 'frankfurter', 143, false],
    ['EUR', 'SEK', 'manual', 9_000, false],
  ])('a rate %s/%s of %s that is %i hours old: stale is %s', async (base, quote, source, hours, is_stale) => {
    await sql()`
      insert into fx_rates (tenant_id, base, quote, ts, rate, source)
      values (${tenant.tenant_id}, ${base}, ${quote}, now() - ${hours} * interval '1 hour', 2, ${source})`;
    const other = base === 'EUR' ? quote : base;
    expect(await currency(other)).toMatchObject({ rate_source: source, is_rate_stale: is_stale });
  });
});

describe('POST /v1/internal/fx-rates', () => {
  interface Result {
    status: string;
    message?: string;
  }
  const send = async (rates: unknown[], tenant_id = tenant.tenant_id) => {
    const { status, body } = await fixture.internal('/v1/internal/fx-rates', { tenant_id, rates });
    return { status, results: body.data?.['results'] as Result[] };
  };
  const sek = (ts: string, rate: string) => ({ base: 'EUR', quote: 'SEK', ts, rate });
  const TS = '2024-01-31T00:00:00Z';

  it('gives a verdict for each rate, and knows them the second time', async () => {
    const rates = [
      sek(TS, '11.25'),
      sek('2024-02-01T00:00:00.001+01:00', '11.2500000000000000001'),
      sek(TS, '11.250'),
      sek(TS, '11.26'),
      { ...sek(TS, '0.1'), base: 'SEK', quote: 'EUR' },
      { ...sek(TS, '0.1'), quote: 'XXX' },
      sek(new Date(fixture.platform.clock.now_ms() + 60_000).toISOString(), '11'),
      sek('yesterday', '11'),
      sek(TS, '1e3'),
      {},
    ];
    const first = await send(rates);
    const refused = Array.from({ length: 7 }, () => 'refused');
    expect(first.results.map(({ status }) => status)).toEqual(['stored', 'stored', 'known', ...refused]);
    expect(first.results.slice(3).map(({ message }) => message?.slice(0, 14))).toEqual([
      'the pair has a',
      'base: rates ar',
      'quote: must be',
      'ts: must not b',
      'ts: must be a ',
      'rate: must be ',
      expect.stringContaining('base: '),
    ]);
    const second = await send(rates);
    expect(second.results.map(({ status }) => status)).toEqual(['known', 'known', 'known', ...refused]);
    const stored = await api('GET', '/v1/currencies/rates?base=EUR&quote=SEK');
    expect(stored.body.data).toMatchObject([
      { ts: '2024-01-31T23:00:00.001Z', rate: '11.2500000000000000001', source: 'manual' },
      { ts: '2024-01-31T00:00:00.000Z', rate: '11.25' },
    ]);
    expect((await send(rates, randomUUID())).status).toBe(404);
    expect((await send([])).status).toBe(422);
    expect((await send(Array.from({ length: 501 }, () => sek(TS, '1')))).status).toBe(422);
  });

  it('stores the first rate of each time, however the rates are cut into calls and repeated', async () => {
    const rate = fc.record({ day: fc.integer({ min: 1, max: 9 }), tenths: fc.integer({ min: 1, max: 3 }) });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(rate, { minLength: 1 }), { minLength: 1, maxLength: 4 }),
        async (calls) => {
          tenant = await fixture.makeTenant();
          const first = new Map<number, number>();
          for (const call of calls) {
            const expected = call.map(({ day, tenths }) => {
              const known = first.get(day);
              if (known === undefined) first.set(day, tenths);
              if (known === undefined) return 'stored';
              return known === tenths ? 'known' : 'refused';
            });
            const { results } = await send(
              call.map(({ day, tenths }) => sek(`2024-01-0${day}T00:00:00Z`, `0.${tenths}`)),
            );
            expect(results.map(({ status }) => status)).toEqual(expected);
          }
        },
      ),
      { numRuns: runs(20) },
    );
  });
});
