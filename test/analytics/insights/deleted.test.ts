import { afterAll, beforeAll, expect, it } from 'vitest';
import { accept, api, depositOf, newPlayer } from '../../console/events/event-client.ts';
import { counted, type TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { until } from '../../engines/until.ts';
import { ask, column, insights } from './insight-client.ts';

let service: TestService;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(() => service.close());

it('of a deleted player the money stays, and figures about who players are count nobody who is gone', async () => {
  const tenant = await service.newTenant();
  const call = (path: string, request?: object) => api(service, tenant.session_token, path, request);
  const [ann, ben] = [
    await newPlayer(service, tenant, { external_id: 'ann' }),
    await newPlayer(service, tenant, { external_id: 'ben' }),
  ];
  await accept(service, tenant, depositOf(ann, 'a', 500), depositOf(ben, 'b', 300));
  await counted(service.platform);
  const metrics = ['new_players', 'first_deposits', 'depositors', 'deposits'];
  const query = {
    kind: 'trend',
    range: { last: { days: 2 } },
    series: metrics.map((metric) => ({ metric })),
  };
  const totals = async () => {
    const answer = await ask(service, tenant, query);
    return metrics.map((metric) => column(answer, answer.totals, metric)[0]);
  };
  expect(await totals()).toEqual([2, 2, 2, 800]);
  expect((await call(`/v1/players/${ben}`, { method: 'DELETE' })).status).toBeLessThan(300);
  await until('the deletion is in the figures', async (saw) => saw(await totals())[0] === 1, 60_000);
  expect(await totals()).toEqual([1, 1, 2, 800]);
  const listed = async (series: number) => {
    const { data } = await insights(service, tenant, '/players', { query, cell: { series } });
    return (data as unknown as { id: string }[]).map(({ id }) => id).toSorted();
  };
  expect(await listed(0)).toEqual([ann]);
  expect(await listed(1)).toEqual([ann]);
  expect(await listed(2)).toEqual([ann, ben].toSorted());
  expect(await listed(3)).toEqual([ann, ben].toSorted());
  for (const series of [0, 1]) {
    const saved = await insights(service, tenant, '/segment', {
      query,
      cell: { series },
      name: 'n',
      as: 'live',
    });
    expect(saved.status, saved.text).toBe(201);
    const path = `/v1/segments/${String(saved.data['id'])}/members?limit=10`;
    const members = async () => {
      const { data } = await call(path);
      return (data as unknown as { player_id: string }[]).map(({ player_id }) => player_id);
    };
    await until('the segment has its members', async (saw) => saw(await members()).join() === ann, 60_000);
  }
});
