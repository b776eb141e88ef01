import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { rewriteOnce } from '../../processors/event-rewriter/index.ts';
import { newId } from '../../src/platform/ids.ts';
import { loadEvents } from '../../src/reconcile/load-events.ts';
import { accept, api, newPlayer } from '../console/events/event-client.ts';
import { counted, type TestService, type TestTenant } from '../engines/service.ts';
import { sharedService } from '../engines/shared-service.ts';
import { until } from '../engines/until.ts';

let service: TestService;
let tenant: TestTenant;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(() => service.close());
beforeEach(async () => {
  tenant = await service.newTenant();
});

const GAME = { game_id: 'book', game_category: 'slots' };
const placed = { event: 'bet_placed', properties: { bet_id: 'b', amount: 100, currency: 'EUR', ...GAME } };
const won = { event: 'bet_won', properties: { bet_id: 'b', payout: 40, currency: 'EUR' } };

async function send(who: object, ...events: object[]): Promise<void> {
  await accept(service, tenant, ...events.map((event) => ({ ...who, ...event })));
  await counted(service.platform);
}

/** What each event says it is about, by its name, in both tables. */
async function items(tables = ['events', 'events_by_player']): Promise<Record<string, string>> {
  const read = async (table: string) => {
    const rows = await service.platform.clickhouse.query<{ event: string; about: string }>(
      `select event, concat(item, ' / ', item_group) as about from ${table} final
      where tenant_id = {tenant_id:UUID} order by event`,
      { tenant_id: tenant.tenant_id },
    );
    return Object.fromEntries(rows.map(({ event, about }) => [event, about]));
  };
  const [first = {}, ...others] = await Promise.all(tables.map(read));
  for (const other of others) expect(other).toEqual(first);
  return first;
}

const BOTH = { bet_placed: 'book / slots', bet_won: 'book / slots' };

it('an outcome takes the game of the bet, also when the bet is placed later', async () => {
  await send({ anonymous_id: 'a' }, placed, won);
  expect(await items()).toEqual(BOTH);
  tenant = await service.newTenant();
  await send({ anonymous_id: 'a' }, won);
  expect(await items()).toEqual({ bet_won: ' / ' });
  await send({ anonymous_id: 'a' }, placed);
  expect(await items()).toEqual(BOTH);
});

it('it keeps the game when a rate comes later, and when its player is merged', async () => {
  const in_dollars = { ...won, properties: { ...won.properties, currency: 'USD' } };
  await send({ anonymous_id: 'a' }, placed, in_dollars);
  const { clickhouse, postgres } = service.platform;
  await postgres.service`
    insert into fx_rates (tenant_id, base, quote, rate, ts)
    values (${tenant.tenant_id}, 'USD', 'EUR', 0.5, '2020-01-01')`;
  const worth = async () => {
    const rows = await clickhouse.query<{ payout_counted: string }>(
      `select payout_counted from events final where tenant_id = {tenant_id:UUID} and event = 'bet_won'`,
      { tenant_id: tenant.tenant_id },
    );
    return rows.map((row) => row.payout_counted);
  };
  await until('the payout is restated', async (saw) => saw(await worth()).join() === '20');
  expect(await items()).toEqual(BOTH);
  const survivor = await newPlayer(service, tenant, { external_id: 'ann' });
  expect(await newPlayer(service, tenant, { external_id: 'ann', anonymous_id: 'a' })).toBe(survivor);
  const owners = async () => {
    const rows = await clickhouse.query<{ player_id: string }>(
      `select distinct player_id from events_by_player final where tenant_id = {tenant_id:UUID}`,
      { tenant_id: tenant.tenant_id },
    );
    return rows.map(({ player_id }) => player_id);
  };
  await until('the events are rewritten', async (saw) => {
    await rewriteOnce(service.platform, 0);
    return saw(await owners()).join() === survivor;
  });
  expect(await items()).toEqual(BOTH);
});

it('a rebuild has it, and after an erasure nobody knows which game it was', async () => {
  const player_id = await newPlayer(service, tenant, { external_id: 'ann' });
  const { platform } = service;
  const { tenant_id, project_id } = tenant;
  // Like a rebuild, into a table of its own: ClickHouse drops the repeated inserts of one table.
  const rebuild = async () => {
    const table = `events_of_${newId().replaceAll('-', '')}`;
    await platform.clickhouse.command(`create table ${table} as events`);
    await loadEvents(platform, [{ tenant_id, project_id }], table, () => Promise.resolve());
    const found = await items([table]);
    await platform.clickhouse.command(`drop table ${table}`);
    return found;
  };
  await send({ player_id }, won);
  await send({ player_id }, placed);
  expect(await rebuild()).toEqual(BOTH);
  const erase = (body: object) =>
    api(service, tenant.session_token, `/v1/players/${player_id}/erase`, { body });
  const asked = await erase({ reason: 'asked', basis: 'GDPR Art. 17' });
  await erase({ confirmation_token: asked.data['confirmation_token'] });
  const path = `/v1/erasures?player_id=${player_id}`;
  await until('the player is erased', async (saw) => {
    const { data } = saw(await api(service, tenant.session_token, path));
    return (data as unknown as { status: string }[])[0]?.status === 'done';
  });
  const nothing = { bet_placed: ' / ', bet_won: ' / ' };
  expect(await items()).toEqual(nothing);
  // Neither do events that come later, corrections, or another rebuild.
  await send({ player_id }, { event: 'bet_voided', properties: { bet_id: 'b' } });
  expect(await items()).toEqual({ ...nothing, bet_voided: ' / ' });
  expect(await rebuild()).toEqual({ ...nothing, bet_voided: ' / ' });
});
