import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TestService } from '../engines/service.ts';
import { sharedService } from '../engines/shared-service.ts';
import { messagingClient, type MessagingClient } from '../engage/messaging/messaging-client.ts';
import { deposit, Operator, session } from '../players/identity/operator.ts';
import { end, wait } from '../engage/journeys/journey-fixture.ts';

let service: TestService;
let client: MessagingClient;
beforeAll(async () => {
  service = await sharedService();
  client = messagingClient(service);
});
afterAll(() => service.close());

type Json = Record<string, unknown>;

const definition = {
  operator: 'AND',
  conditions: [{ type: 'trait', field: 'total_deposited', op: 'gt', value: 100 }],
};

async function made(path: string, body: Json): Promise<string> {
  const { status, data, error } = await client.api('POST', path, body);
  expect(status, JSON.stringify(error)).toBe(201);
  return `${path}/${String(data['id'])}`;
}

async function player(): Promise<string> {
  const [id] = await client.players(1);
  return `/v1/players/${id}`;
}

/** Slugs are unique in the installation. */
let adapters = 0;

/** Each kind of record: how one is made, and two changes of it. */
const KINDS: readonly [name: string, make: () => Promise<string>, one: Json, other: Json][] = [
  ['segment', () => made('/v1/segments', { name: 's', definition }), { name: 'a' }, { description: 'b' }],
  [
    'template',
    () => made('/v1/templates', { name: 't', channel: 'sms', body: 'x' }),
    { name: 'a' },
    { body: 'b' },
  ],
  [
    'messaging provider',
    () => made('/v1/messaging-providers', { name: 'p', kind: 'sandbox', channel: 'sms', config: {} }),
    { name: 'a' },
    { name: 'b' },
  ],
  [
    'campaign',
    () => made('/v1/campaigns', { name: 'c', type: 'broadcast', channel: 'sms' }),
    { name: 'a' },
    { name: 'b' },
  ],
  [
    'journey',
    () =>
      made('/v1/journeys', {
        name: 'j',
        trigger: { kind: 'api' },
        graph: { start_node_id: 'wait', nodes: [wait(), end] },
      }),
    { name: 'a' },
    { name: 'b' },
  ],
  [
    'bonus template',
    () =>
      made('/v1/bonus-templates', {
        name: 'b',
        type: 'no_deposit',
        config: { amount: 100, currency: 'EUR' },
        wagering_requirement_multiplier: 1,
      }),
    { name: 'a' },
    { name: 'b' },
  ],
  [
    'bonus campaign',
    async () => {
      const template = await made('/v1/bonus-templates', {
        name: 'of a campaign',
        type: 'no_deposit',
        config: { amount: 100, currency: 'EUR' },
        wagering_requirement_multiplier: 1,
      });
      const segment = await made('/v1/segments', { name: 'of a bonus campaign', definition });
      const idOf = (path: string) => path.split('/').at(-1);
      return made('/v1/bonus-campaigns', {
        name: 'bc',
        template_id: idOf(template),
        segment_id: idOf(segment),
      });
    },
    { name: 'a' },
    { name: 'b' },
  ],
  [
    'player',
    () => player(),
    { timezone: 'Europe/Malta' },
    { email: 'other@example.com', custom_attributes: { vip: true } },
  ],
  [
    'adapter',
    () => made('/v1/adapters', { slug: `tags-${(adapters += 1)}`, kind: 'sandbox', is_active: false }),
    { max_rps: 7 },
    { max_in_flight: 3, timeout_ms: 900 },
  ],
  [
    'configuration',
    () => Promise.resolve('/v1/tenant/config'),
    { verticals: ['casino'] },
    { kyc_model: 'dual' },
  ],
];

const read = async (path: string) => {
  const { status, headers, data } = await client.api('GET', path);
  expect(status).toBe(200);
  return { etag: headers.get('etag') ?? '', data };
};
const patch = (path: string, body: Json, if_match: string) =>
  client.api('PATCH', path, body, { 'if-match': if_match });

describe.each(KINDS)('the version of a %s', (_name, make, one, other) => {
  test('lets the change through that was made from it, and refuses the next from the same', async () => {
    const path = await make();
    const { etag } = await read(path);
    expect(etag).toMatch(/^"[\w-]{22}"$/);
    const first = await patch(path, one, etag);
    expect(first.status, JSON.stringify(first.error)).toBe(200);
    const changed = first.headers.get('etag') ?? '';
    expect(changed).not.toBe(etag);
    expect((await read(path)).etag).toBe(changed);

    const second = await patch(path, other, etag);
    expect([second.status, second.code]).toEqual([412, 'PRECONDITION_FAILED']);
    const { details } = second.error;
    expect(details['etag']).toBe(changed);
    expect(details['current']).toMatchObject(one);
    expect((await read(path)).etag).toBe(changed);

    expect((await patch(path, other, `"other", ${changed}`)).status).toBe(200);
    expect((await patch(path, one, '*')).status).toBe(200);
    expect((await client.api('PATCH', path, other)).status).toBe(200);
    expect((await patch(path, one, `W/${(await read(path)).etag}`)).code).toBe('PRECONDITION_FAILED');
  });

  test('lets exactly one of several through that come at once', async () => {
    const path = await make();
    const { etag } = await read(path);
    const bodies = [one, one, one, one];
    // Each says something else, so that none is the change that was made already.
    const named = bodies.map((body, i) => ('name' in body ? { ...body, name: `editor ${i}` } : body));
    const answers = await Promise.all(named.map((body) => patch(path, body, etag)));
    const passed = answers.filter(({ status }) => status === 200).length;
    if ('name' in one) expect(passed).toBe(1);
    else expect(passed).toBeGreaterThanOrEqual(1);
    for (const { status } of answers) expect([200, 412]).toContain(status);
  });
});

test('the version of a segment does not change when its members are computed', async () => {
  const path = await made('/v1/segments', { name: 'computed', definition, refresh_strategy: 'manual' });
  const { etag } = await read(path);
  expect((await client.api('POST', `${path}/refresh`)).status).toBe(200);
  await expect
    .poll(async () => (await read(path)).data['last_computed_at'], { timeout: 20_000 })
    .not.toBeNull();
  expect((await read(path)).etag).toBe(etag);
});

describe('the version of a player', () => {
  test('lets exactly one of many editors through, each of whom changes another field', async () => {
    const path = await player();
    const { etag } = await read(path);
    const bodies: Json[] = [
      { email: 'editor@example.com' },
      { phone: '+35679000001' },
      { telegram_id: 'editor' },
      { timezone: 'Europe/Malta' },
      { status: 'banned' },
      // Attributes are merged: this one is the player's own, so the winner is stored as it was sent.
      { custom_attributes: { first_name: 'Grace' } },
    ];
    const answers = await Promise.all(bodies.map((body) => patch(path, body, etag)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 412)).toHaveLength(bodies.length - 1);
    const winner = answers.findIndex(({ status }) => status === 200);
    for (const { status, error } of answers)
      if (status === 412) expect(error).toMatchObject({ details: { current: bodies[winner] } });
    const { data } = await read(path);
    const stored = bodies.map((body) =>
      Object.entries(body).every(([name, value]) => JSON.stringify(data[name]) === JSON.stringify(value)),
    );
    expect(stored).toEqual(bodies.map((_body, i) => i === winner));
  });

  test('stays while events change totals, and changes when one excludes the player', async () => {
    const operator = new Operator(service, service);
    const { player_id } = await operator.identify({ external_id: 'edited' });
    const path = `/v1/players/${player_id}`;
    const before = await read(path);
    await operator.fold(session({ player_id }), deposit({ player_id }, 'between', 700));
    const after = await read(path);
    expect(after.data['total_deposited']).toBe(700);
    expect(after.data['updated_at']).not.toBe(before.data['updated_at']);
    expect(after.etag).toBe(before.etag);
    // The same person on another device is no edit either.
    await operator.identify({ external_id: 'edited', anonymous_id: 'tablet' });
    expect((await patch(path, { timezone: 'Europe/Malta' }, before.etag)).status).toBe(200);

    const { etag } = await read(path);
    await operator.fold({ event: 'self_exclusion_set', player_id });
    const { status, error } = await patch(path, { status: 'active' }, etag);
    expect([status, error]).toMatchObject([412, { details: { current: { status: 'self_excluded' } } }]);
    expect((await read(path)).data['status']).toBe('self_excluded');
  });
});
