import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { isSigned } from '../../../src/http/auth/webhook-signature.ts';
import { cleanUpSubscriptions } from '../../../src/engage/subscriptions/jobs.ts';
import { GIFT } from '../../bonuses/grants/grants-fixture.ts';
import type { TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { until } from '../../engines/until.ts';
import { answering, startReceiver, type Answer, type Receiver } from '../webhooks/receiver.ts';
import { eventsOf, subscriptionClient, type SubscriptionClient } from './subscription-client.ts';

let service: TestService;
let on: SubscriptionClient;
const open: Receiver[] = [];
beforeAll(async () => {
  service = await sharedService();
  on = subscriptionClient(service, await service.newTenant());
});
afterAll(async () => service?.close());
afterEach(async () => {
  await Promise.all(open.splice(0).map((receiver) => receiver.close()));
});

async function receiver(answer: Answer): Promise<Receiver> {
  const started = await startReceiver(answer);
  open.push(started);
  return started;
}

/** Makes the deliveries of a subscription that wait for their next attempt due now, as if the pause were over. */
const hurry = (subscription_id: string) => service.platform.postgres.service`
  with due as (
    update webhook_deliveries set next_at = now() - interval '1 second'
    where subscription_id = ${subscription_id} and status = 'pending' and next_at < now() + interval '1 day' returning 1)
  select pg_notify('webhook_deliveries', '') from due`;

it('facts of every kind arrive, signed, through the front door', async () => {
  const there = await receiver(answering(200));
  const events = [
    'segment.entered',
    'segment.left',
    'tier.changed',
    'message.sent',
    'message.failed',
    'grant.pending',
    'grant.active',
    'exclusion.set',
    'exclusion.ended',
  ];
  const { id, secret } = await on.subscribe(there.url, events);
  const [first = '', second = '', third = ''] = await on.players(3);
  const had = (event: string, player_id = first) =>
    until(`${event} of ${player_id}`, (saw) =>
      saw(eventsOf(there.received)).find((one) => one.event === event && one.player?.id === player_id),
    );
  const conditions = [
    {
      type: 'event',
      event: 'login',
      aggregate: 'count',
      op: 'gte',
      value: 1,
      window: { last: { hours: 1 } },
    },
  ];
  const definition = { operator: 'AND', conditions };
  const segment = await on.api('POST', '/v1/segments', {
    name: 'logged in',
    definition,
    refresh_strategy: 'realtime',
  });
  expect(segment.status, JSON.stringify(segment.error)).toBe(201);
  await on.event(first, 'login');
  expect((await had('segment.entered')).data).toEqual({ segment_id: segment.data['id'] });

  const tier = await on.api('POST', '/v1/vip-tiers', {
    code: 'gold',
    name: 'Gold',
    rank: 1,
    requirements: {},
  });
  expect(tier.status, JSON.stringify(tier.error)).toBe(201);
  const put = await on.api('POST', `/v1/players/${first}/tier`, { to_code: 'gold', reason: 'test' });
  expect(put.status, JSON.stringify(put.error)).toBe(200);
  expect((await had('tier.changed')).data).toMatchObject({ to_code: 'gold' });

  const template_id = String(
    (await on.api('POST', '/v1/bonus-templates', { name: 'gift', ...GIFT })).data['id'],
  );
  const grant = await on.api('POST', '/v1/bonus-grants', {
    template_id,
    player_id: first,
    granted_by_kind: 'manual',
    granted_by_id: null,
  });
  expect(grant.status, JSON.stringify(grant.error)).toBe(201);
  expect((await had('grant.active')).data).toMatchObject({
    grant_id: grant.data['id'],
    template_id,
    from_status: 'pending',
    to_status: 'active',
  });
  expect((await had('grant.pending')).sequence).toBeLessThan((await had('grant.active')).sequence);

  // The second player is excluded before: the gate skips the message, the first one gets it.
  await on.event(second, 'self_exclusion_set');
  expect((await had('exclusion.set', second)).data).toMatchObject({
    kind: 'self_exclusion',
    source: 'event',
  });
  const campaign_id = await on.campaign({
    template_id: await on.template(),
    provider_id: await on.provider(),
    segment_id: await on.segment([first, second]),
  });
  await on.send(campaign_id);
  expect((await had('message.sent')).data).toMatchObject({ channel: 'email', campaign_id, error_code: null });
  expect((await had('message.failed', second)).data).toMatchObject({ error_code: 'SKIPPED_SELF_EXCLUDED' });
  await on.event(third, 'cooldown_entered', { until: new Date(Date.now() + 1_000).toISOString() });
  expect((await had('exclusion.set', third)).data).toMatchObject({ kind: 'cooldown', source: 'event' });
  expect((await had('exclusion.ended', third)).data).toMatchObject({ kind: 'cooldown', source: 'clock' });
  await on.event(second, 'self_exclusion_lifted');
  expect((await had('exclusion.ended', second)).data).toMatchObject({ source: 'event' });

  for (const { headers, body } of there.received) {
    const signature = String(headers['x-service-signature']);
    const timestamp = String(headers['x-service-timestamp']);
    expect(isSigned([secret], { signature, timestamp, body }, Date.now())).toBe(true);
    expect(headers['x-service-event-id']).toBe((JSON.parse(body) as { event_id: string }).event_id);
    expect(body).not.toContain('@example.com');
  }
  expect(await on.subscription(id)).toMatchObject({ status: 'active', delivery: { failed: 0, dropped: 0 } });
  await on.unsubscribe(id);
});

it("a player's events arrive in order, also while attempts fail, and nobody waits for another player", async () => {
  const failing = new Set<string>();
  const there = await receiver((response, n, request) => {
    const { player } = eventsOf(there.received)[n - 1] ?? { player: null };
    answering(failing.has(player?.id ?? '') ? 503 : 200)(response, n, request);
  });
  const { id } = await on.subscribe(there.url, ['tier.changed']);
  const [stuck = '', free = ''] = await on.players(2);
  failing.add(stuck);
  const codes = Array.from({ length: 12 }, (_, n) => `t${n}`);
  await on.changeTiers([stuck, free], codes);
  const codesOf = (player_id: string) =>
    eventsOf(there.received)
      .filter(({ player }) => player?.id === player_id)
      .map(({ data }) => String(data['to_code']));
  await until((saw) => saw(codesOf(free)).length === codes.length);
  expect(codesOf(free)).toEqual(codes);
  expect(new Set(codesOf(stuck))).toEqual(new Set(['t0']));
  expect(await on.subscription(id)).toMatchObject({
    delivery: { state: 'failing', pending: 12, last_error: { code: 'WEBHOOK_HTTP_ERROR', status: 503 } },
  });
  failing.clear();
  await hurry(id);
  await until((saw) => saw(codesOf(stuck)).at(-1) === 't11');
  expect([...new Set(codesOf(stuck))]).toEqual(codes);
  const first = there.received.filter(({ body }) => body.includes('"t0"') && body.includes(stuck));
  expect(first.length).toBeGreaterThan(1);
  expect(new Set(first.map(({ body }) => body)).size).toBe(1);
  expect(new Set(first.map(({ headers }) => headers['x-service-event-id'])).size).toBe(1);
  await on.unsubscribe(id);
});

it('a receiver that refuses a new secret gets everything once it has it, and is shown as failing until then', async () => {
  const known: string[] = [];
  const there = await receiver((response, n, request) => {
    const { body = '' } = there.received[n - 1] ?? {};
    const signature = String(request.headers['x-service-signature']);
    const timestamp = String(request.headers['x-service-timestamp']);
    const is_genuine = isSigned(known, { signature, timestamp, body }, Date.now());
    answering(is_genuine ? 200 : n % 2 === 0 ? 401 : 403)(response, n, request);
  });
  const { id, secret } = await on.subscribe(there.url, ['exclusion.set']);
  known.push(secret);
  const rotated = await on.command(id, 'rotate-secret');
  const [one = '', other = ''] = await on.players(2);
  for (const player_id of [one, other]) await on.event(player_id, 'self_exclusion_set');
  const refused = await until(async (saw) => {
    const { delivery } = saw(await on.subscription(id));
    const { data } = await on.api<Record<string, unknown>[]>(
      'GET',
      `/v1/event-subscriptions/${id}/deliveries`,
    );
    const codes = saw(data.map(({ response_status }) => response_status));
    return codes.includes(401) && codes.includes(403) ? delivery : undefined;
  });
  expect(refused).toMatchObject({ state: 'failing', pending: 2, failed: 0 });
  known.splice(0, 1, rotated.secret);
  await hurry(id);
  const delivered = await until(async (saw) => {
    const { delivery } = saw(await on.subscription(id));
    return delivery.pending === 0 ? delivery : undefined;
  });
  expect(delivered).toMatchObject({ state: 'idle', failed: 0 });
  await on.unsubscribe(id);
});

it('a replay sends what was queued since a time again: the same ids and bytes, in the same order', async () => {
  const there = await receiver(answering(200));
  const { id } = await on.subscribe(there.url, ['tier.changed']);
  const players = await on.players(3);
  await on.changeTiers(players, ['early']);
  await until((saw) => saw(there.received).length === 3);
  await until(async (saw) => saw(await on.subscription(id)).delivery.pending === 0);
  const from = new Date();
  await on.changeTiers(players, ['a', 'b', 'c']);
  await until((saw) => saw(there.received).length === 12);
  await until(async (saw) => saw(await on.subscription(id)).delivery.pending === 0);
  const before = there.received.slice(3).map(({ body }) => body);
  await on.command(id, 'replay', { from: from.toISOString() }, 202);
  await until((saw) => saw(there.received).length === 21);
  const again = there.received.slice(12).map(({ body }) => body);
  expect(again.toSorted()).toEqual(before.toSorted());
  for (const player_id of players) {
    const of = (bodies: string[]) => bodies.filter((body) => body.includes(player_id));
    expect(of(again)).toEqual(of(before));
  }
  const shown = await until(async (saw) => {
    const found = saw(await on.subscription(id));
    return found.replay?.ended_at === null ? undefined : found;
  });
  expect(shown.replay).toMatchObject({ from: from.toISOString(), replayed: 9 });
  await on.unsubscribe(id);
});

it('a paused subscription keeps what happens, a deleted one is sent nothing, and a test shows the answer', async () => {
  const there = await receiver(answering(200, 'fine'));
  const { id } = await on.subscribe(there.url, ['tier.changed']);
  await on.command(id, 'test', {}, 202);
  const tested = await until(async (saw) => {
    const { data } = await on.api<Record<string, unknown>[]>(
      'GET',
      `/v1/event-subscriptions/${id}/deliveries`,
    );
    return saw(data).find(({ status }) => status === 'delivered');
  });
  expect(tested).toMatchObject({
    event: 'subscription.test',
    player_id: null,
    response: 'fine',
    attempts: 1,
  });
  expect(eventsOf(there.received)).toMatchObject([{ event: 'subscription.test', player: null, data: {} }]);

  await on.command(id, 'pause');
  const [player_id = ''] = await on.players(1);
  await on.changeTiers([player_id], ['a', 'b']);
  await until(async (saw) => saw(await on.subscription(id)).delivery.pending === 2);
  expect(await on.subscription(id)).toMatchObject({ status: 'paused', delivery: { state: 'paused' } });
  await on.command(id, 'enable');
  await until((saw) => saw(there.received).length === 3);
  expect(eventsOf(there.received).map(({ data }) => data['to_code'])).toEqual([undefined, 'a', 'b']);

  await on.command(id, 'pause');
  await on.changeTiers([player_id], ['c']);
  await until(async (saw) => saw(await on.subscription(id)).delivery.pending === 1);
  await on.unsubscribe(id);
  await until(async (saw) => saw(await on.subscription(id)).delivery.pending === 0);
  expect(there.received).toHaveLength(3);
  await cleanUpSubscriptions(service.platform, new AbortController().signal);
});

it('nothing is sent about a deleted player, also what waits', async () => {
  let status = 503;
  const there = await receiver((response, n, request) => answering(status)(response, n, request));
  const { id } = await on.subscribe(there.url, ['tier.changed']);
  const [gone = '', other = ''] = await on.players(2);
  await on.changeTiers([gone, other], ['a', 'b']);
  await until((saw) => new Set(saw(eventsOf(there.received)).map(({ player }) => player?.id)).size === 2);
  const before = there.received.length;
  expect((await on.api('DELETE', `/v1/players/${gone}`)).status).toBe(200);
  status = 200;
  await hurry(id);
  await until(async (saw) => saw(await on.subscription(id)).delivery.pending === 0);
  const later = eventsOf(there.received.slice(before));
  expect(later.filter(({ player }) => player?.id === other).map(({ data }) => data['to_code'])).toEqual([
    'a',
    'b',
  ]);
  const { data } = await on.api<Record<string, unknown>[]>(
    'GET',
    `/v1/event-subscriptions/${id}/deliveries?status=cancelled`,
  );
  expect(data.map(({ player_id, error_code }) => [player_id, error_code])).toEqual(
    data.map(() => [gone, 'SKIPPED_NO_RECIPIENT']),
  );
  expect(data.length).toBeGreaterThan(0);
  await on.unsubscribe(id);
});
