import { afterAll, beforeAll, expect, it } from 'vitest';
import { grantsFixture } from '../../bonuses/grants/grants-fixture.ts';
import { counted, type TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { until } from '../../engines/until.ts';
import { ask, column, insights } from './insight-client.ts';

let service: TestService;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(() => service.close());

it('bonuses are counted by template, with what they have cost, and their players', async () => {
  const on = grantsFixture(service);
  const adapter = await on.adapter();
  const [gift, other] = [await on.template(), await on.template()];
  const [ann, ben] = [await on.player(), await on.player()];
  const grants = [await on.grant(gift, ann), await on.grant(gift, ben), await on.grant(other, ben)].map(
    ({ data }) => data.id,
  );
  const [first = '', second = ''] = grants;
  for (const id of grants) await on.event(adapter, 'bonus.credited', id, { data: { amount: 1_000 } });
  await on.event(adapter, 'bonus.completed', first, { data: { released_amount: 700 } });
  await on.event(adapter, 'bonus.expired', second);
  const query = { kind: 'bonuses', range: { last: { days: 2 } } };
  const answer = await until('the events of the grants are in ClickHouse', async (saw) => {
    await counted(service.platform);
    const found = saw(await ask(service, service, query));
    return column(found, found.totals, 'bonuses_ended')[0] === 1 ? found : undefined;
  });
  expect(answer.rows).toEqual([
    [gift, 2, 2, 2_000, 1, 700, 1],
    [other, 1, 1, 1_000, 0, 0, 0],
  ]);
  expect(answer.totals).toEqual([[null, 3, 2, 3_000, 1, 700, 1]]);
  expect(answer.other).toEqual([[null, 0, 0, 0, 0, 0, 0]]);
  const players = async (cell: object) => {
    const { status, text, data } = await insights(service, service, '/players', { query, cell });
    expect(status, text).toBe(200);
    return (data as unknown as { id: string; value: number }[]).map(({ id, value }) => [id, value]);
  };
  expect(await players({ figure: 'bonus_released', id: gift })).toEqual([[ann, 700]]);
  expect(await players({ figure: 'bonus_granted' })).toEqual([
    [ben, 2_000],
    [ann, 1_000],
  ]);
  // Bonus cost that comes from grants: what was released.
  const { status, error } = await on.client.api('PATCH', '/v1/tenant/config', {
    config: { reporting: { bonus_cost: 'grants' } },
  });
  expect(status, JSON.stringify(error)).toBe(200);
  const series = ['bonus_cost', 'ngr'].map((metric) => ({ metric }));
  const cost = await ask(service, service, { kind: 'trend', range: { last: { days: 2 } }, series });
  expect(cost.bonus_cost).toBe('grants');
  expect(cost.totals[0]?.slice(2)).toEqual([700, -700]);
  const shown = await on.client.api('GET', '/v1/overview?days=2');
  expect(shown.data['now']).toMatchObject({ ngr: -700, ggr: 0 });
  await adapter.close();
});
