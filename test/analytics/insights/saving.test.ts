import { afterAll, beforeAll, expect, it } from 'vitest';
import { accept, newPlayer } from '../../console/events/event-client.ts';
import { call } from '../../engines/http-client.ts';
import { counted, type TestService, type TestTenant } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { until } from '../../engines/until.ts';
import { insights } from './insight-client.ts';

let service: TestService;
let tenant: TestTenant;
let ids: string[];
beforeAll(async () => {
  service = await sharedService();
  tenant = await service.newTenant();
  ids = [];
  for (const name of ['ann', 'ben', 'cem']) ids.push(await newPlayer(service, tenant, { external_id: name }));
  const deposit = (n: number, amount: number, day: string) => ({
    event: 'deposit_confirmed',
    player_id: ids[n],
    timestamp: `2026-07-0${day}T10:00:00Z`,
    properties: { amount, currency: 'EUR', transaction_id: `t${n}-${day}`, payment_method: 'card' },
  });
  await accept(service, tenant, deposit(0, 500, '1'), deposit(1, 300, '1'), deposit(2, 100, '2'));
  await counted(service.platform);
});
afterAll(() => service.close());

const query = {
  kind: 'trend',
  range: { from: '2026-07-01T00:00:00Z', to: '2026-07-03T00:00:00Z' },
  series: [{ metric: 'deposits' }, { metric: 'ggr' }],
};
const first_day = { series: 0, at: '2026-07-01T00:00:00.000Z' };
const save = (body: object, of: TestTenant = tenant) =>
  insights(service, of, '/segment', { query, cell: first_day, name: 'saved', ...body });
const get = async (path: string) =>
  (await call(service.base_url + path, tenant.session_token, { method: 'GET' })).data;
const membersOf = async (id: string) => {
  const rows = (await get(`/v1/segments/${id}/members?limit=100`)) as unknown as { player_id: string }[];
  return rows.map(({ player_id }) => player_id);
};

it.each(['live', 'frozen'])('the players of a cell become a %s segment', async (as) => {
  const { status, text, data } = await save({ as });
  expect(status, text).toBe(201);
  const id = String(data['id']);
  await until(async () => (await get(`/v1/segments/${id}`))['last_computed_at'] !== null);
  await until(async () => (await membersOf(id)).length === 2);
  expect(await membersOf(id)).toEqual(ids.slice(0, 2).toSorted());
  expect((await get(`/v1/segments/${id}`))['refresh_strategy']).toBe(as === 'live' ? 'realtime' : 'manual');
});

it('a cell that the language cannot say can be frozen only', async () => {
  const cell = { ...first_day, series: 1 };
  const { status, code, error } = await save({ as: 'live', cell });
  expect([status, code]).toEqual([422, 'INSIGHT_NOT_A_SEGMENT']);
  expect(error.details).toMatchObject({ path: 'query.series.1.metric' });
  const frozen = await save({ as: 'frozen', cell });
  expect(frozen.status, frozen.text).toBe(201);
  // Nobody has bet: the list is empty, and complete.
  const id = String(frozen.data['id']);
  await until(async () => (await get(`/v1/segments/${id}`))['last_computed_at'] !== null);
  expect(await membersOf(id)).toEqual([]);
});

it('a cell that is none of the query is refused by its path', async () => {
  for (const [cell, path] of [
    [{ series: 9 }, 'cell.series'],
    [{ at: '2026-07-01T01:00:00.000Z' }, 'cell.at'],
    [{ unknown: 1 }, 'cell.unknown'],
  ] as const) {
    const { status, error } = await save({ as: 'frozen', cell });
    expect(status).toBe(422);
    expect(error.details.issues[0]?.path).toBe(path);
  }
});

it('neither the list nor the definition of a segment reaches another tenant', async () => {
  const other = await service.newTenant();
  const { data } = await save({ as: 'frozen' }, other);
  const id = String(data['id']);
  const of = (path: string) => call(service.base_url + path, other.session_token, { method: 'GET' });
  await until(async () => (await of(`/v1/segments/${id}`)).data['last_computed_at'] !== null);
  expect((await of(`/v1/segments/${id}`)).data['estimated_size']).toBe(0);
  const filter = { definition: { operator: 'AND', conditions: [{ type: 'list', list_id: id }] } };
  const foreign = await save({ as: 'live', query: { ...query, filter } });
  expect([foreign.status, foreign.code]).toEqual([422, 'SEGMENT_DEFINITION_INVALID']);
});

it('numbers of a query that a double does not hold apart are two, in figures and in lists', async () => {
  const other = await service.newTenant();
  const orders = ['9007199254740993', '9007199254740992', '9007199254740992'];
  const players: string[] = [];
  for (const order of orders) {
    const player_id = await newPlayer(service, other, { external_id: `buyer ${players.length}` });
    players.push(player_id);
    const raw = `{"event":"custom_order","player_id":"${player_id}","timestamp":"2026-07-01T10:00:00Z","properties":{"order_id":${order}}}`;
    expect((await call(`${service.ingest_url}/v1/events`, other.api_key, { raw })).status).toBe(202);
  }
  await counted(service.platform);
  for (const order of new Set(orders)) {
    const ids_of_order = players.filter((_id, n) => orders[n] === order);
    const where = `[{"property":"order_id","op":"eq","value":${order}}]`;
    const series = `[{"event":"custom_order","aggregate":"players","where":${where}}]`;
    const of_order = `{"kind":"trend","range":${JSON.stringify(query.range)},"series":${series}}`;
    const post = (path: string, raw: string) =>
      call(`${service.base_url}/v1/insights${path}`, other.session_token, { raw });
    expect((await post('/query', of_order)).data['totals'], of_order).toEqual([
      [null, true, ids_of_order.length],
    ]);
    const cell = JSON.stringify(first_day);
    const { data } = await post('/segment', `{"query":${of_order},"cell":${cell},"name":"o","as":"frozen"}`);
    const members = async () => {
      const url = `${service.base_url}/v1/segments/${String(data['id'])}`;
      if ((await call(url, other.session_token, { method: 'GET' })).data['last_computed_at'] === null)
        return false;
      return (await call(`${url}/members`, other.session_token, { method: 'GET' })).data as unknown as {
        player_id: string;
      }[];
    };
    expect((await until(members)).map(({ player_id }) => player_id)).toEqual(ids_of_order.toSorted());
  }
});
