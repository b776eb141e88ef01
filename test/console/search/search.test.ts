import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Fixture, Tenant } from '../../http/api-fixture.ts';
import { sharedFixture } from '../../http/shared-fixture.ts';

let fixture: Fixture;
let tenant: Tenant;
let other: Tenant;
const ids: Record<string, string> = {};

const DEFINITION = { operator: 'AND', conditions: [{ type: 'random', percent: 50, salt: 'half' }] };
const TEMPLATE = { channel: 'email', subject: 'Hi', body: 'Hello' };

async function make(of: Tenant, path: string, body: object): Promise<string> {
  const answer = await fixture.as(of.session, path, { method: 'POST', body });
  expect(answer.status, answer.text).toBe(201);
  return String(answer.body.data['id']);
}

async function find(q: string, of = tenant): Promise<unknown[]> {
  const answer = await fixture.as(of.session, `/v1/search?q=${encodeURIComponent(q)}`);
  expect(answer.status, answer.text).toBe(200);
  return (answer.body.data as unknown as { type: string; id: string }[]).map(({ type, id }) => {
    const name = Object.entries(ids).find(([, known]) => known === id)?.[0];
    return `${type} ${name ?? id}`;
  });
}

beforeAll(async () => {
  fixture = await sharedFixture();
  [tenant, other] = [await fixture.makeTenant(), await fixture.makeTenant()];
  const segment = { definition: DEFINITION, refresh_strategy: 'manual' };
  ids['lapsed'] = await make(tenant, '/v1/segments', { ...segment, name: 'Lapsed VIP players' });
  ids['mail'] = await make(tenant, '/v1/templates', { ...TEMPLATE, name: 'Mail to VIP players' });
  ids['offer'] = await make(tenant, '/v1/campaigns', { name: 'vip offer 100%', channel: 'email' });
  ids['theirs'] = await make(other, '/v1/segments', { ...segment, name: 'VIP players of others' });
  ids['gone'] = await make(tenant, '/v1/templates', { ...TEMPLATE, name: 'VIP, deleted' });
  await fixture.as(tenant.session, `/v1/templates/${ids['gone']}`, { method: 'DELETE' });
});
afterAll(() => fixture?.close());

it('finds what has all the words in its name, in any letter case and order', async () => {
  expect(await find('vip')).toEqual(['segment lapsed', 'campaign offer', 'template mail']);
  expect(await find('PLAYERS vip')).toEqual(['segment lapsed', 'template mail']);
  expect(await find('0%')).toEqual(['campaign offer']);
  expect(await find('%')).toEqual(['campaign offer']);
  expect(await find('v_p')).toEqual([]);
});

it('finds a record by its id, and nothing of another tenant', async () => {
  expect(await find(ids['mail'] ?? '')).toEqual(['template mail']);
  expect(await find((ids['mail'] ?? '').toUpperCase())).toEqual(['template mail']);
  expect(await find(ids['theirs'] ?? '')).toEqual([]);
  expect(await find('vip', other)).toEqual(['segment theirs']);
});

it('shows five of a type, those that begin with the text first', async () => {
  for (let i = 1; i <= 6; i++)
    ids[`old ${i}`] = await make(tenant, '/v1/templates', { ...TEMPLATE, name: `an entry ${i}` });
  ids['begins'] = await make(tenant, '/v1/templates', { ...TEMPLATE, name: 'Entry' });
  ids['old 7'] = await make(tenant, '/v1/templates', { ...TEMPLATE, name: 'an entry 7' });
  expect(await find('entry')).toEqual(['template begins', ...[7, 6, 5, 4].map((i) => `template old ${i}`)]);
});

it('needs a text', async () => {
  const answer = await fixture.as(tenant.session, '/v1/search?q=%20');
  expect(answer.status).toBe(422);
});

it('says what players are called by, with masked emails, and of merged players what the survivor is called by', async () => {
  const identify = async (body: object) => {
    const answer = await fixture.as(tenant.api_key, '/v1/players/identify', { method: 'POST', body });
    return String(answer.body.data['player_id']);
  };
  const ann = await identify({ external_id: 'ann', traits: { email: 'ann@example.com' } });
  const visitor = await identify({ anonymous_id: 'visitor of names', traits: { email: 'eve@example.com' } });
  const names = async (list: string[], of = tenant) =>
    (await fixture.as(of.session, `/v1/players/names?ids=${list.join(',')}`)).body.data as unknown as {
      player_id: string;
    }[];
  const found = new Map(
    (await names([ann, visitor, crypto.randomUUID()])).map((row) => [row.player_id, row]),
  );
  const shared = { merged_into: null, status: 'active' };
  expect([...found.keys()].toSorted()).toEqual([ann, visitor].toSorted());
  expect(found.get(ann)).toEqual({
    player_id: ann,
    external_id: 'ann',
    masked_email: 'a•••@example.com',
    ...shared,
  });
  expect(found.get(visitor)).toMatchObject({ external_id: null, masked_email: 'e•••@example.com' });
  await identify({ external_id: 'ann', anonymous_id: 'visitor of names' });
  expect(await names([visitor])).toMatchObject([
    { player_id: visitor, merged_into: ann, external_id: 'ann' },
  ]);
  expect(await names([ann], other)).toEqual([]);
});
