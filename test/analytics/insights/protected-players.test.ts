import { afterAll, beforeAll, expect, it } from 'vitest';
import { samplePlayers } from '../../../src/analytics/insights/insight-queries.ts';
import { accept, depositOf, newPlayer } from '../../console/events/event-client.ts';
import { call } from '../../engines/http-client.ts';
import { counted, type TestService, type TestTenant } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { insights } from './insight-client.ts';

let service: TestService;
let tenant: TestTenant;
beforeAll(async () => {
  service = await sharedService();
  tenant = await service.newTenant();
});
afterAll(() => service.close());

interface Protection {
  players: number;
  asked: number;
  protected: number;
  at_risk: number;
}
interface PlayersMeta {
  next_cursor: string | null;
  protection?: Protection;
}

const query = {
  kind: 'trend',
  range: { from: '2026-07-01T00:00:00Z', to: '2026-07-03T00:00:00Z' },
  series: [{ metric: 'deposits' }],
};

async function playersOf(more: object, of: TestTenant = tenant) {
  const { status, text, data } = await insights(service, of, '/players', { query, ...more });
  expect(status, text).toBe(200);
  const { meta } = JSON.parse(text) as { meta: PlayersMeta };
  return { rows: data as unknown as { id: string }[], meta };
}

const change = async (player_id: string, body: object) => {
  const url = `${service.base_url}/v1/players/${player_id}`;
  const { status, text } = await call(url, tenant.session_token, { method: 'PATCH', body });
  expect(status, text).toBe(200);
};
const risk = (rg_risk: string) => ({ custom_attributes: { rg_risk } });

/** What makes each player one to leave alone, and as which he is counted: by the pages, not by the code. */
const PLAYERS: Readonly<
  Record<string, readonly [counted_as: 'protected' | 'at_risk' | undefined, ...object[]]>
> = {
  'nothing is said': [undefined],
  'no risk': [undefined, risk('none')],
  'a word that is no level': [undefined, risk('medium')],
  'low risk': ['at_risk', risk('low')],
  'strong risk': ['at_risk', risk('strong')],
  'strong risk, and gets no e-mail': [
    'at_risk',
    risk('strong'),
    { custom_attributes: { consent: { email: false } } },
  ],
  excluded: ['protected', { status: 'self_excluded' }],
  banned: ['protected', { status: 'banned' }],
  'excluded and at risk': ['protected', risk('strong'), { status: 'self_excluded' }],
  'has the telephone number of the excluded': ['protected'],
  'on a break': ['protected'],
  'was on a break': [undefined],
};

it('the first page says how many players must be left alone, each counted once', async () => {
  const ids: Record<string, string> = {};
  for (const [n, name] of Object.keys(PLAYERS).entries()) {
    const phone = name.includes('the excluded') || name === 'excluded' ? '+35699001122' : `+3569900200${n}`;
    ids[name] = await newPlayer(service, tenant, { external_id: name, traits: { phone } });
  }
  const at = (event: object) => ({ timestamp: '2026-07-01T10:00:00Z', ...event });
  await accept(service, tenant, ...Object.values(ids).map((id, n) => at(depositOf(id, `d${n}`, 100 + n))));
  await counted(service.platform);
  for (const [name, [, ...changes]] of Object.entries(PLAYERS))
    for (const one of changes) await change(ids[name] ?? '', one);
  await service.platform.postgres.service`
    update players set cooldown_until = now() + case player_id when ${ids['on a break'] ?? ''} then interval '1 day'
      else interval '-1 day' end
    where player_id in ${service.platform.postgres.service([ids['on a break'] ?? '', ids['was on a break'] ?? ''])}`;

  const named = Object.keys(PLAYERS);
  const as = (what: string) => named.filter((name) => PLAYERS[name]?.[0] === what).length;
  const expected = {
    players: named.length,
    asked: named.length,
    protected: as('protected'),
    at_risk: as('at_risk'),
  };
  expect((await playersOf({})).meta).toEqual({ next_cursor: null, protection: expected });
  // Of more players than a page has, all are counted too, and only once.
  const first = await playersOf({ limit: 5 });
  expect(first.meta.protection).toEqual(expected);
  const second = await playersOf({ limit: 5, cursor: first.meta.next_cursor });
  expect(second.rows).toHaveLength(5);
  expect(second.meta.protection).toBeUndefined();
  // Who is deleted stays in the figure, and is nobody to reach.
  for (const name of ['excluded', 'low risk']) {
    const url = `${service.base_url}/v1/players/${ids[name]}`;
    expect((await call(url, tenant.session_token, { method: 'DELETE' })).status).toBe(200);
  }
  // The address of an excluded person stays barred.
  expect((await playersOf({ limit: 5 })).meta.protection).toEqual({
    ...expected,
    protected: expected.protected - 1,
    at_risk: expected.at_risk - 1,
  });
});

it('of more players than the gate is asked about, a sample is drawn, and all are counted', async () => {
  const { sql, params } = samplePlayers(
    { sql: 'select generateUUIDv4() as player_id from numbers({all:UInt32})', params: { all: 25_000 } },
    10_000,
  );
  const [row] = await service.platform.clickhouse.query<{ players: string; ids: string[] }>(sql, params);
  expect(row?.players).toBe('25000');
  expect(new Set(row?.ids).size).toBe(10_000);
});

it('a cell without players has nobody to leave alone, and other tenants are not asked about', async () => {
  const nobody = { players: 0, asked: 0, protected: 0, at_risk: 0 };
  expect((await playersOf({ cell: { at: '2026-07-02T00:00:00.000Z' } })).meta.protection).toEqual(nobody);
  const other = await service.newTenant();
  expect((await playersOf({}, other)).meta).toEqual({ next_cursor: null, protection: nobody });
});
