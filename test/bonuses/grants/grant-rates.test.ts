import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sunk, type TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import type { Body } from '../../engage/messaging/messaging-client.ts';
import { GIFT, grantsFixture, type GrantsFixture } from './grants-fixture.ts';

// Rates whose inverse has no last digit: an amount that is whole must stay so.

let service: TestService;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(async () => service?.close());

/** A new tenant whose base currency is the euro, with these rates `<base> <quote> <rate>`. */
async function tenantWith(...rates: string[]): Promise<GrantsFixture> {
  const on = grantsFixture(service, await service.newTenant('EUR'));
  for (const rate of rates) {
    const [base, quote, value] = rate.split(' ') as [string, string, string];
    await on.sql`
      insert into fx_rates (tenant_id, base, quote, ts, rate, source)
      values (${on.tenant.tenant_id}, ${base}, ${quote}, '2026-01-01', ${value}, 'manual')`;
  }
  return on;
}

const gift = (amount: number, currency: string): Body => ({ ...GIFT, config: { amount, currency } });

async function granted(on: GrantsFixture, template: Body, rest: Body = {}) {
  const answer = await on.grant(await on.template(template), await on.player(), rest);
  expect(answer.status, JSON.stringify(answer.error)).toBe(201);
  await on.budgets();
  return answer.data;
}

it('the worth in the base currency is exact across the inverse of a rate', async () => {
  const on = await tenantWith('EUR USD 1.1');
  expect(await granted(on, gift(11_000, 'USD'))).toMatchObject({
    bonus_amount: 11_000,
    bonus_amount_base: 10_000,
  });
  // One cent more is rounded up.
  expect((await granted(on, gift(11_001, 'USD'))).bonus_amount_base).toBe(10_001);
});

it('the rate of a grant is a number with all its digits, wherever a grant is shown', async () => {
  const on = await tenantWith('EUR USD 1.0777123456789012345');
  const headers = {
    authorization: `Bearer ${on.tenant.session_token}`,
    'content-type': 'application/json',
    'idempotency-key': randomUUID(),
  };
  const text = async (path: string, body?: Body) => {
    const request = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    return (await fetch(service.base_url + path, { headers, ...request })).text();
  };
  const [template_id, player_id] = [await on.template(gift(1_000, 'USD')), await on.player()];
  const asked = { template_id, player_id, granted_by_kind: 'manual', granted_by_id: null };
  const made = await text('/v1/bonus-grants', asked);
  const { data } = JSON.parse(made) as { data: Body };
  expect(data).toMatchObject({ bonus_amount: 1_000, status: 'active' });
  const path = `/v1/bonus-grants/${String(data['id'])}`;
  const shown = [
    made,
    await text('/v1/bonus-grants', asked),
    await text(path),
    await text(`/v1/bonus-grants?player_id=${player_id}`),
    await text(`${path}/cancel`, {}),
    await text('/v1/currencies/fx?base=USD&quote=EUR'),
  ];
  const digits = shown.map((one) => /"rate":([^,]*),"ts":"[^"]*"/.exec(one)?.[1]);
  expect(digits).toEqual(digits.map(() => digits.at(-1)));
  expect(digits[0]).toMatch(/^0\.\d{20,}$/);
  expect(await on.get(String(data['id']))).toMatchObject({
    fx: { rate: Number(digits[0]) },
    currency: 'USD',
  });
});

it('terms are converted exactly by the inverse of a rate, and across the base currency', async () => {
  const inverse = await tenantWith('EUR GBP 0.85');
  expect(await granted(inverse, gift(8_500, 'GBP'), { currency_override: 'EUR' })).toMatchObject({
    bonus_amount: 10_000,
    bonus_amount_base: 10_000,
  });
  const cross = await tenantWith('EUR GBP 0.85', 'EUR USD 1.1');
  expect(await granted(cross, gift(8_500, 'GBP'), { currency_override: 'USD' })).toMatchObject({
    bonus_amount: 11_000,
    bonus_amount_base: 10_000,
  });
  // Less than one whole unit is left over: rounded down.
  const spins = { count: 10, value_per_spin: 86, currency: 'GBP', eligible_games: ['book'] };
  const template = { ...GIFT, type: 'free_spins', config: spins };
  expect((await granted(inverse, template, { currency_override: 'EUR' })).bonus_amount).toBe(1_010);
});

it('a loss is converted exactly', async () => {
  const on = await tenantWith('GBP EUR 1.2');
  const player_id = await on.player();
  const bet = { bet_id: 'one', currency: 'EUR', game_id: 'book', game_category: 'slots' };
  await on.client.event(player_id, 'bet_settled', { ...bet, amount: 12_000, payout: 0, outcome: 'lost' });
  await sunk(service.platform);
  const config = { percent: 100, window_days: 7, min_loss: 0, currency: 'GBP', cap_amount: 50_000 };
  const answer = await on.grant(await on.template({ ...GIFT, type: 'cashback', config }), player_id);
  expect(answer.data, JSON.stringify(answer.error)).toMatchObject({
    bonus_amount: 10_000,
    bonus_amount_base: 12_000,
  });
});

it('what the platform reports is worth exactly as much, by the rate of the grant', async () => {
  const on = await tenantWith('EUR USD 1.1');
  const adapter = await on.adapter();
  try {
    await adapter.fake.control({
      answer: { status: 201, body: JSON.stringify({ platform_bonus_id: 'pb-1', status: 'pending' }) },
    });
    const { id } = await granted(on, gift(22_000, 'USD'));
    const credited = { platform_bonus_id: 'pb-1', data: { amount: 11_000 } };
    expect((await on.event(adapter, 'bonus.credited', id, credited)).status).toBe(200);
    expect(await on.get(id)).toMatchObject({ bonus_amount: 11_000, bonus_amount_base: 10_000 });
    const completed = { platform_bonus_id: 'pb-1', data: { released_amount: 5_500 } };
    expect((await on.event(adapter, 'bonus.completed', id, completed)).status).toBe(200);
    expect((await on.get(id))['released_amount_base']).toBe(5_000);
    await on.budgets();
  } finally {
    await adapter.close();
  }
});

it('a campaign that costs exactly its limit is issued', async () => {
  const on = await tenantWith('EUR USD 1.1');
  const template_id = await on.template(gift(11_000, 'USD'));
  const segment_id = await on.client.segment(await on.client.players(2));
  const body = { name: 'campaign', template_id, segment_id, max_liability: 20_000 };
  const { data } = await on.client.api('POST', '/v1/bonus-campaigns', body);
  const dry = `/v1/bonus-campaigns/${String(data['id'])}/issue?dry_run=true`;
  expect((await on.client.api('POST', dry)).data).toMatchObject({ would_grant: 2, cost_base: 20_000 });
});

it('a value that is exactly what a licence allows is allowed', async () => {
  const on = await tenantWith('DKK EUR 0.13');
  const licence = { license_jurisdiction: 'spillemyndigheden' };
  const patched = await on.client.api('PATCH', '/v1/tenant/config', licence);
  expect(patched.status, JSON.stringify(patched.error)).toBe(200);
  await on.template({ ...gift(13_000, 'EUR'), name: 'exact', wagering_requirement_multiplier: 0 });
});
