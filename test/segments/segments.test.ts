import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitUntilCaughtUp } from '../../src/analytics/caught-up.ts';
import type { TestService } from '../engines/service.ts';
import { sharedService } from '../engines/shared-service.ts';
import { until } from '../engines/until.ts';
import { call } from '../engines/http-client.ts';

let service: TestService;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(async () => service?.close());

type Body = Record<string, unknown>;

async function api(method: string, path: string, body?: unknown) {
  const sending = body === undefined ? { method } : { method, body };
  const answer = await call(`${service.base_url}${path}`, service.session_token, sending);
  return {
    status: answer.status,
    data: answer.body.data as Body,
    error: answer.body.error,
    meta: answer.body.meta,
  };
}

let people = 0;
async function identify(traits: Body = {}): Promise<string> {
  const body = { external_id: `person-${++people}`, traits };
  const answer = await call(`${service.base_url}/v1/players/identify`, service.api_key, {
    method: 'POST',
    body,
  });
  return (answer.body.data as { player_id: string }).player_id;
}

let deposits = 0;
async function send(
  player_id: string,
  event: string,
  properties: Body = {},
  timestamp?: string,
): Promise<void> {
  const body = { event, player_id, properties, ...(timestamp === undefined ? {} : { timestamp }) };
  const answer = await call(`${service.ingest_url}/v1/events`, service.api_key, { method: 'POST', body });
  expect(answer.status, answer.text).toBe(202);
}
const deposit = (player_id: string, amount: number, timestamp?: string) =>
  send(
    player_id,
    'deposit_confirmed',
    { amount, currency: 'EUR', transaction_id: `t-${++deposits}`, payment_method: 'card' },
    timestamp,
  );

const group = (...conditions: Body[]) => ({ operator: 'AND', conditions });
const bigSpenders = group({
  type: 'event',
  event: 'deposit_confirmed',
  aggregate: 'sum',
  property: 'amount',
  op: 'gt',
  value: 500,
  window: { last: { days: 30 } },
});

async function makeSegment(definition: Body, rest: Body = {}): Promise<string> {
  const made = await api('POST', '/v1/segments', { name: 'a segment', definition, ...rest });
  expect(made.status, JSON.stringify(made.error)).toBe(201);
  return String(made.data['id']);
}

const segmentsOf = async (player_id: string) =>
  (await api('GET', `/v1/players/${player_id}`)).data['segment_ids'] as string[];

const enters = (player_id: string, segment_id: string) =>
  until(`the player enters ${segment_id}`, async (saw) =>
    saw(await segmentsOf(player_id)).includes(segment_id),
  );
const leaves = (player_id: string, segment_id: string) =>
  until(
    `the player leaves ${segment_id}`,
    async (saw) => !saw(await segmentsOf(player_id)).includes(segment_id),
  );

describe('a manual segment', () => {
  it('is created, previewed, refreshed, sampled, explained, changed and deleted', async () => {
    const [rich, poor] = [await identify(), await identify()];
    await deposit(rich, 400);
    await deposit(rich, 200);
    await deposit(poor, 500);
    await waitUntilCaughtUp(service.platform, 60_000);
    const preview = await api('POST', '/v1/segments/preview', { definition: bigSpenders });
    expect(preview).toMatchObject({ status: 200, data: { estimated_size: 1, sample: [rich] } });
    const made = await api('POST', '/v1/segments', { name: 'Big spenders', definition: bigSpenders });
    expect(made.status).toBe(201);
    expect(made.data).toMatchObject({
      name: 'Big spenders',
      description: '',
      definition: bigSpenders,
      refresh_strategy: 'manual',
      estimated_size: 0,
      last_computed_at: null,
      deleted_at: null,
    });
    expect(made.data['compiled_query']).toContain('select p.player_id');
    const path = `/v1/segments/${String(made.data['id'])}`;
    expect(await segmentsOf(rich)).toEqual([]);
    const refreshed = await api('POST', `${path}/refresh`);
    expect(refreshed).toMatchObject({ status: 200, data: { matched: 1, added: 1, removed: 0 } });
    expect(await segmentsOf(rich)).toEqual([made.data['id']]);
    expect((await api('GET', path)).data).toMatchObject({ estimated_size: 1 });
    expect((await api('GET', `${path}/sample`)).data).toEqual([rich]);
    expect((await api('GET', `${path}/explain?player_id=${poor}`)).data).toMatchObject({
      matches: false,
      is_member: false,
      nodes: [
        { path: 'definition', holds: false },
        { path: 'definition.conditions.0', holds: false, value: 500 },
      ],
    });
    // The negated definition exchanges members and non-members.
    const definition = { operator: 'NOT', conditions: [bigSpenders] };
    const patched = await api('PATCH', path, { definition, description: 'the others' });
    expect(patched).toMatchObject({ status: 200, data: { description: 'the others', definition } });
    expect(await segmentsOf(rich)).toEqual([made.data['id']]);
    const again = await api('POST', `${path}/refresh`);
    expect(again.data).toMatchObject({ added: again.data['matched'], removed: 1 });
    expect(await segmentsOf(rich)).toEqual([]);
    expect(await segmentsOf(poor)).toEqual([made.data['id']]);
    expect((await api('POST', `${path}/refresh`)).data).toMatchObject({ added: 0, removed: 0 });
    const deleted = await api('DELETE', path);
    expect(deleted.data['deleted_at']).not.toBeNull();
    expect(await segmentsOf(poor)).toEqual([]);
    expect((await api('POST', `${path}/refresh`)).error).toMatchObject({ code: 'SEGMENT_NOT_FOUND' });
    expect((await api('GET', path)).data['deleted_at']).toEqual(deleted.data['deleted_at']);
  });
});

describe('a realtime segment', () => {
  it('gains a player with the event that makes the condition true', async () => {
    const segment = await makeSegment(bigSpenders, { refresh_strategy: 'realtime' });
    const player = await identify();
    await deposit(player, 400);
    await waitUntilCaughtUp(service.platform, 60_000);
    expect(await segmentsOf(player)).not.toContain(segment);
    await deposit(player, 200);
    await enters(player, segment);
  });

  it('contains players who matched before it existed, and new players who match without any event', async () => {
    const before = await identify();
    await send(before, 'login');
    await waitUntilCaughtUp(service.platform, 60_000);
    const never = { type: 'event', event: 'withdrawal_confirmed', aggregate: 'count', op: 'eq', value: 0 };
    const segment = await makeSegment(group(never), { refresh_strategy: 'realtime' });
    await enters(before, segment);
    const later = await identify();
    await enters(later, segment);
  });

  it('follows traits and other segments', async () => {
    const gold = await makeSegment(
      group({ type: 'trait', field: 'custom_attributes.plan', op: 'eq', value: 'gold' }),
      { refresh_strategy: 'realtime' },
    );
    const not_gold = await makeSegment(group({ type: 'segment', segment_id: gold, op: 'not_in' }), {
      refresh_strategy: 'realtime',
    });
    const player = await identify({ plan: 'silver' });
    await enters(player, not_gold);
    await api('PATCH', `/v1/players/${player}`, { custom_attributes: { plan: 'gold' } });
    await enters(player, gold);
    await leaves(player, not_gold);
    await api('DELETE', `/v1/players/${player}`);
    expect(await segmentsOf(player)).toEqual([]);
  });
});
