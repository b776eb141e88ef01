import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { packageRoot } from '../../../src/package-root.ts';
import { DEFAULT_CATALOGUE } from '../../../src/tenants/currency-catalogue.ts';
import { runs } from '../../engines/effort.ts';
import type { Answer } from '../../engines/http-client.ts';
import { openFixture, type Fixture, type Tenant } from '../../http/api-fixture.ts';

const NOW_MS = Date.parse('2026-03-01T12:00:00.250Z');

let fixture: Fixture;
let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  fixture = await openFixture({ RATE_ADMIN_PER_SECOND: '100000' });
  tenant = await fixture.makeTenant();
  other = await fixture.makeTenant();
});
beforeEach(() => {
  fixture.platform.clock = { now_ms: () => NOW_MS };
});
afterEach(async () => {
  await fixture.platform.postgres.service`delete from fx_rates`;
});
afterAll(() => fixture.close());

const get = (path: string, who = tenant): Promise<Answer> => fixture.as(who.session, path);
const latest = (base: string, quote: string, who = tenant) =>
  get(`/v1/currencies/fx?base=${base}&quote=${quote}`, who);

/** Stores a rate from a text such as `BTC EUR 57000.12 2026-02-28T13:00:00Z source`. */
async function store(text: string, who = tenant): Promise<void> {
  const [base = '', quote = '', rate = '', ts = '', source = 'manual'] = text.split(' ');
  await fixture.platform.postgres.service`
    insert into fx_rates (tenant_id, base, quote, rate, ts, source)
    values (${who.tenant_id}, ${base}, ${quote}, ${rate}::text::numeric, ${ts}::text::timestamptz, ${source})`;
}

/** The digits of the rate in the answer's text. */
const digits = (answer: Answer) => /"rate":([^,]+),/.exec(answer.text)?.[1];

describe('GET /v1/currencies', () => {
  it('lists the whole catalogue, the base currency first, then by code', async () => {
    const sql = fixture.platform.postgres.service;
    await sql`update currencies set is_active = false where tenant_id = ${tenant.tenant_id} and code = 'SEK'`;
    const { status, body } = await get('/v1/currencies');
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual(['data']);
    const rows = body.data as unknown as Record<string, unknown>[];
    const codes = rows.map(({ code }) => code);
    const others = DEFAULT_CATALOGUE.map(({ code }) => code).filter((code) => code !== 'EUR');
    expect(codes).toEqual(['EUR', ...others.toSorted((a, b) => (a < b ? -1 : 1))]);
    expect(rows[0]).toEqual({
      code: 'EUR',
      kind: 'fiat',
      scale: 2,
      symbol: '€',
      display_name: 'Euro',
      is_active: true,
      is_base: true,
      rate_source: 'identity',
      rate_ts: null,
      is_rate_stale: false,
    });
    expect(rows.find(({ code }) => code === 'ETH')).toMatchObject({
      kind: 'crypto',
      scale: 18,
      is_base: false,
    });
    expect(rows.filter(({ is_active }) => is_active === false).map(({ code }) => code)).toEqual(['SEK']);
    expect(rows.filter(({ is_base }) => is_base === true)).toHaveLength(1);
  });
});

describe('GET /v1/currencies/fx', () => {
  it('returns the latest rate of the pair, whatever its source, with its original digits', async () => {
    await store('EUR SEK 11.0200 2026-02-27T00:00:00Z frankfurter');
    expect((await latest('EUR', 'SEK')).body.data).toEqual({
      base: 'EUR',
      quote: 'SEK',
      rate: 11.02,
      ts: '2026-02-27T00:00:00.000+00:00',
      source: 'frankfurter',
    });
    expect(digits(await latest('EUR', 'SEK'))).toBe('11.0200');
    // A manual rate counts once it is the latest. A rate of the current millisecond counts, a later one does not.
    await store('EUR SEK 12345678901234567890.123456789012345678901 2026-03-01T12:00:00.25Z');
    await store('EUR SEK 9 2026-03-01T12:00:00.251Z frankfurter');
    const manual = await latest('EUR', 'SEK');
    expect(digits(manual)).toBe('12345678901234567890.123456789012345678901');
    expect(manual.body.data).toMatchObject({ ts: '2026-03-01T12:00:00.250+00:00', source: 'manual' });
    fixture.platform.clock = { now_ms: () => NOW_MS + 1 };
    const fetched = await latest('EUR', 'SEK');
    expect(fetched.body.data).toMatchObject({ rate: 9, source: 'frankfurter' });
    expect(fetched.body.data['ts']).toBe('2026-03-01T12:00:00.251+00:00');
  });

  it('inverts the opposite pair only when the pair itself has no rate', async () => {
    await store('SEK EUR 3 2026-02-28T00:00:00Z manual');
    const inverse = await latest('EUR', 'SEK');
    expect(digits(inverse)).toBe('0.33333333333333333333');
    expect(inverse.body.data).toMatchObject({ ts: '2026-02-28T00:00:00.000+00:00', source: 'manual' });
    await store('EUR SEK 11 2020-01-01T00:00:00Z frankfurter');
    expect((await latest('EUR', 'SEK')).body.data).toMatchObject({ rate: 11, source: 'frankfurter' });
  });

  it('crosses through the base currency when both directions have no rate', async () => {
    await store('EUR SEK 11.02 2026-02-27T00:00:00Z frankfurter');
    await store('BTC EUR 57000.10 2026-02-28T13:00:00Z coingecko');
    const cross = await latest('BTC', 'SEK');
    expect(digits(cross)).toBe('628141.102');
    expect(cross.body.data).toMatchObject({
      ts: '2026-02-27T00:00:00.000+00:00',
      source: 'coingecko+frankfurter',
    });
    const back = await latest('SEK', 'BTC');
    expect(digits(back)).toBe('0.0000015919989900613126889');
    expect(back.body.data).toMatchObject({
      ts: '2026-02-27T00:00:00.000+00:00',
      source: 'frankfurter+coingecko',
    });
    await store('USD EUR 0.9 2026-02-28T00:00:00Z frankfurter');
    expect((await latest('USD', 'SEK')).body.data).toMatchObject({ source: 'frankfurter' });
    await store('BTC SEK 600000 2020-01-01T00:00:00Z manual');
    expect((await latest('BTC', 'SEK')).body.data).toMatchObject({ rate: 600_000, source: 'manual' });
  });

  it('returns 1 for equal currencies', async () => {
    expect((await latest('SEK', 'SEK')).body.data).toEqual({
      base: 'SEK',
      quote: 'SEK',
      rate: 1,
      ts: '2026-03-01T12:00:00.250+00:00',
      source: 'identity',
    });
  });

  it('is 404 when no rate is valid yet, even if another tenant has one', async () => {
    await store('EUR SEK 11 2026-03-01T12:00:00.251Z');
    await store('EUR SEK 11 2026-02-01T00:00:00Z manual', other);
    await store('BTC USD 60000 2026-02-01T00:00:00Z');
    await store('EUR USD 1.1 2026-02-01T00:00:00Z');
    for (const [base, quote] of [
      ['EUR', 'SEK'],
      ['SEK', 'EUR'],
      ['SEK', 'USD'],
      // A conversion into the base currency itself is not crossed through another currency.
      ['BTC', 'EUR'],
    ]) {
      const { status, body } = await latest(base ?? '', quote ?? '');
      expect([status, body.error.code]).toEqual([404, 'FX_RATE_NOT_FOUND']);
      expect(body.error.message).toContain(`from ${base} to ${quote}`);
    }
    expect((await latest('EUR', 'SEK', other)).status).toBe(200);
  });

  it.each([
    ['', ['base', 'quote']],
    ['?base=EUR', ['quote']],
    ['?quote=EUR', ['base']],
    ['?base=EUR&quote=', ['quote']],
    ['?base=EUR&quote=sek', ['quote']],
    ['?base=XXX&quote=ZZZ', ['base', 'quote']],
    ['?base=XXX&quote=XXX', ['base', 'quote']],
    ["?base=EUR&quote='%20or%20true", ['quote']],
    ['?base=EUR&base=USD&quote=SEK', ['base']],
    ['?base=EUR&quote=SEK&at=now', ['at']],
  ])('refuses %s', async (query, paths) => {
    const { status, body } = await get(`/v1/currencies/fx${query}`);
    expect([status, body.error.code]).toEqual([422, 'VALIDATION_ERROR']);
    const issues = body.error.details['issues'] as { path: string }[];
    expect(issues.map(({ path }) => path)).toEqual(paths);
  });

  it.each(['0001-01-01', '0044-03-15', '0049-12-31', '1850-07-01'])('returns a rate of %s', async (day) => {
    await store(`EUR SEK 7 ${day}T00:00:00Z`);
    expect((await latest('EUR', 'SEK')).body.data).toMatchObject({
      rate: 7,
      ts: `${day}T00:00:00.000+00:00`,
    });
  });

  it('returns rates of inactive currencies', async () => {
    const sql = fixture.platform.postgres.service;
    await sql`update currencies set is_active = false where tenant_id = ${tenant.tenant_id} and code = 'NOK'`;
    await store('EUR NOK 11 2026-02-01T00:00:00Z');
    expect((await latest('EUR', 'NOK')).body.data).toMatchObject({ rate: 11 });
  });
});

describe('manual rates', () => {
  it('are written by the statements in docs/operating.md', async () => {
    const page = await readFile(join(packageRoot, 'docs', 'operating.md'), 'utf8');
    const [, block = ''] = /### Manual rates[\s\S]*?```sql\n([\s\S]*?)```/.exec(page) ?? [];
    const statements = block
      .replaceAll('<tenant_id>', tenant.tenant_id)
      .split(';')
      .filter((text) => text.trim() !== '');
    expect(statements).toHaveLength(4);
    await store('EUR SEK 11.02 2026-02-28T00:00:00Z frankfurter');
    const seen: unknown[] = [];
    for (const statement of statements) {
      await fixture.platform.postgres.service.unsafe(statement);
      const { rate, source } = (await latest('EUR', 'SEK')).body.data;
      seen.push([rate, source]);
    }
    const fetched = [11.02, 'frankfurter'];
    expect(seen).toEqual([fetched, [11.25, 'manual'], [11.26, 'manual'], fetched]);
  });
});

// An independent oracle: rationals as pairs of integers, decimals by long division.

interface Rational {
  over: bigint;
  under: bigint;
}

/** `value` ÷ 10^places. */
const rational = (value: bigint, places: number): Rational => ({ over: value, under: 10n ** BigInt(places) });
const inverted = ({ over, under }: Rational): Rational => ({ over: under, under: over });
const times = (a: Rational, b: Rational): Rational => ({ over: a.over * b.over, under: a.under * b.under });

/** Reads a JSON number without an exponent. */
function read(text: string): Rational {
  expect(text).toMatch(/^(0|[1-9]\d*)(\.\d+)?$/);
  const [whole = '', decimals = ''] = text.split('.');
  return rational(BigInt(whole + decimals), decimals.length);
}

/** Whether the text is the exact value rounded to 20 significant digits, half to even. */
function isRounded(text: string, exact: Rational): boolean {
  const given = read(text);
  const significant = text.replace('.', '').replace(/^0+/, '').replace(/0+$/, '');
  if (significant.length > 20) return false;
  const difference = given.over * exact.under - exact.over * given.under;
  if (difference === 0n) return true;
  // The unit of the 20th significant digit: the largest power of ten of which the value has at least 10^19.
  let unit: Rational = { over: 10n ** 80n, under: 10n ** 19n };
  while (exact.over * unit.under < unit.over * exact.under * 10n ** 19n)
    unit = { over: unit.over, under: unit.under * 10n };
  const twice = 2n * (difference < 0n ? -difference : difference) * unit.under;
  const limit = unit.over * given.under * exact.under;
  const isEven = (BigInt(significant.padEnd(20, '0')) & 1n) === 0n;
  return twice < limit || (twice === limit && isEven);
}

describe('every rate in an answer', () => {
  const stored = fc.record({
    value: fc.oneof(fc.bigInt({ min: 1n, max: 10n ** 20n }), fc.bigInt({ min: 1n, max: 5_000n })),
    places: fc.integer({ min: 0, max: 24 }),
    is_inverse: fc.boolean(),
    day: fc.integer({ min: 1, max: 28 }),
  });
  type Stored = typeof stored extends fc.Arbitrary<infer T> ? T : never;

  const decimal = ({ value, places }: Stored) => {
    const text = value.toString().padStart(places + 1, '0');
    return places === 0 ? text : `${text.slice(0, -places)}.${text.slice(-places)}`;
  };
  const exact = (leg: Stored) => {
    const value = rational(leg.value, leg.places);
    return leg.is_inverse ? inverted(value) : value;
  };
  const dayOf = ({ day }: Stored) => `2026-02-${String(day).padStart(2, '0')}T00:00:00`;
  const put = (leg: Stored, from: string, to: string, source: string) =>
    store(`${leg.is_inverse ? `${to} ${from}` : `${from} ${to}`} ${decimal(leg)} ${dayOf(leg)}Z ${source}`);
  const cleared = () => fixture.platform.postgres.service`delete from fx_rates`;

  it('of a pair is exact, or rounded once', async () => {
    await fc.assert(
      fc
        .asyncProperty(stored, async (leg) => {
          await put(leg, 'USD', 'SEK', 'one');
          const answer = await latest('USD', 'SEK');
          const text = digits(answer) ?? '';
          if (leg.is_inverse) expect(isRounded(text, exact(leg)), text).toBe(true);
          else expect(text).toBe(decimal(leg));
          expect(answer.body.data).toMatchObject({ ts: `${dayOf(leg)}.000+00:00`, source: 'one' });
        })
        .afterEach(async () => void (await cleared())),
      { numRuns: runs(100) },
    );
  });

  it('of a cross is exact, or rounded once', async () => {
    await fc.assert(
      fc
        .asyncProperty(stored, stored, async (first, second) => {
          await put(first, 'USD', 'EUR', 'one');
          await put(second, 'EUR', 'SEK', 'two');
          const answer = await latest('USD', 'SEK');
          const text = digits(answer) ?? '';
          const product = times(exact(first), exact(second));
          if (first.is_inverse || second.is_inverse) expect(isRounded(text, product), text).toBe(true);
          else {
            const given = read(text);
            expect(given.over * product.under).toBe(product.over * given.under);
          }
          const older = first.day < second.day ? first : second;
          expect(answer.body.data).toMatchObject({ ts: `${dayOf(older)}.000+00:00`, source: 'one+two' });
        })
        .afterEach(async () => void (await cleared())),
      { numRuns: runs(100) },
    );
  });
});
