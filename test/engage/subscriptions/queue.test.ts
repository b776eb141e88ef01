import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { boundQueue } from '../../../src/engage/subscriptions/bound.ts';
import { queueFacts } from '../../../src/engage/subscriptions/dispatch.ts';
import { cleanUpSubscriptions, runBreaksJob, runReplayJob } from '../../../src/engage/subscriptions/jobs.ts';
import { claimDeliveries } from '../../../src/engage/webhooks/claim-queries.ts';
import { deliveryEraser } from '../../../src/engage/webhooks/erase-queries.ts';
import { writeResults } from '../../../src/engage/webhooks/result-queries.ts';
import { HELD, releaseNext } from '../../../src/engage/webhooks/turn-queries.ts';
import type { Fixture, Tenant } from '../../http/api-fixture.ts';
import { sharedFixture } from '../../http/shared-fixture.ts';

// The queue of a subscription, step by step, without processors.

const PATH = '/v1/event-subscriptions';
let fixture: Fixture;
let tenant: Tenant;
let sql: Fixture['platform']['postgres']['service'];
beforeAll(async () => {
  fixture = await sharedFixture();
  sql = fixture.platform.postgres.service;
});
afterAll(async () => fixture?.close());
beforeEach(async () => {
  tenant = await fixture.makeTenant();
});

async function call(path: string, method = 'GET', body?: unknown, status = 200) {
  const answer = await fixture.as(tenant.session, PATH + path, { method, body });
  expect(answer.status, answer.text).toBe(status);
  return answer.body.data;
}
const subscribe = async (rest: object = {}) =>
  String(
    (
      await call(
        '',
        'POST',
        { name: 'data', url: 'https://example.com/', events: ['tier.changed'], ...rest },
        201,
      )
    )['id'],
  );

async function player(): Promise<string> {
  const player_id = randomUUID();
  const { tenant_id, project_id } = tenant;
  await sql`
    insert into players (tenant_id, project_id, player_id, external_id, default_currency_code, custom_attributes, created_at,
      updated_at)
    values (${tenant_id}, ${project_id}, ${player_id}, ${`ext ${player_id}`}, 'EUR', '{}', now(), now())`;
  return player_id;
}

const change = (player_id: string, code: string) => sql`
  insert into player_tier_history (tenant_id, project_id, player_id, to_code, trigger, context, occurred_at)
  values (${tenant.tenant_id}, ${tenant.project_id}, ${player_id}, ${code}, 'manual', '{}', now())`;

interface Row {
  event_id: string;
  subscription_id: string;
  player_id: string;
  sequence: bigint;
  status: string;
  next_at: Date;
  payload: string | null;
  attempts: number;
}
const rows = () => sql<Row[]>`
  select event_id, subscription_id, player_id, sequence, status, next_at, payload, attempts from webhook_deliveries
  where tenant_id = ${tenant.tenant_id} and subscription_id is not null order by subscription_id, sequence`;
const facts = () => sql`select event, fact_key from subscription_facts where tenant_id = ${tenant.tenant_id}`;
const codes = (found: readonly Row[]) =>
  found.map(({ payload }) => /"to_code":"(\w+)"/.exec(payload ?? '')?.[1]);
const queue = async () => {
  while (await queueFacts(fixture.platform, tenant.tenant_id));
};

/** Claims what is due and has it delivered; returns what it was. */
async function deliver(status: 'delivered' | 'failed' = 'delivered'): Promise<Row[]> {
  const now = new Date();
  const due = await sql<Row[]>`
    update webhook_deliveries set attempts = attempts + 1, attempts_before = attempts_before + 1
    where tenant_id = ${tenant.tenant_id} and status = 'pending' and next_at <= now()
    returning event_id, subscription_id, player_id, sequence, status, next_at, payload, attempts`;
  const results = due.map((row) => ({
    tenant_id: tenant.tenant_id,
    project_id: tenant.project_id,
    event_id: row.event_id,
    attempts: row.attempts,
    player_id: row.player_id,
    subscription_id: row.subscription_id,
    run_id: null,
    seq: null,
    wait_for_response: false,
    save_as: null,
    status,
    next_at: now,
    is_void: false,
    was_not_sent: false,
    last_status: 200,
    last_error: null,
    last_reason: null,
    response: null,
    saved: null,
  }));
  await sql.begin((tx) => writeResults(tx, results, now));
  return due.toSorted((one, other) => Number(one.sequence - other.sequence));
}

it('a change costs nothing where nobody subscribes, and one event of each subscription that asks for it', async () => {
  const player_id = await player();
  await change(player_id, 'before');
  expect(await facts()).toEqual([]);
  const [first, second] = [await subscribe(), await subscribe()];
  await subscribe({ events: ['grant.active'] });
  await change(player_id, 'after');
  await queue();
  expect(await facts()).toEqual([]);
  const found = await rows();
  expect(codes(found)).toEqual(['after', 'after']);
  expect(new Set(found.map(({ subscription_id }) => subscription_id))).toEqual(new Set([first, second]));
  expect(new Set(found.map(({ event_id }) => event_id)).size).toBe(2);
  expect(JSON.parse(found[0]?.payload ?? '')).toMatchObject({
    event: 'tier.changed',
    sequence: 1,
    player: { id: player_id, external_id: `ext ${player_id}` },
  });
});

it('a subscription is failing while the event that ended last was given up', async () => {
  const id = await subscribe();
  const state = async () => (await call(`/${id}`))['delivery'] as Record<string, unknown>;
  const [one, other] = [await player(), await player()];
  await change(one, 'a');
  await queue();
  expect(await state()).toMatchObject({ state: 'delivering' });
  await deliver('failed');
  expect(await state()).toMatchObject({ state: 'failing', pending: 0, failed: 1 });
  await change(one, 'b');
  await change(other, 'c');
  await queue();
  expect(await state()).toMatchObject({ state: 'failing', pending: 2 });
  await deliver();
  expect(await state()).toMatchObject({ state: 'idle', pending: 0, failed: 1 });
  await change(other, 'd');
  await queue();
  await deliver('failed');
  expect(await state()).toMatchObject({ state: 'failing', failed: 2 });
});

it("all but one of a player's events are held, and the end of that one releases the next", async () => {
  await subscribe();
  const [one, other] = [await player(), await player()];
  for (const code of ['a', 'b']) for (const id of [one, other]) await change(id, code);
  await queue();
  await change(one, 'c');
  await queue();
  expect((await rows()).map(({ next_at }) => next_at.getTime() === HELD.getTime())).toEqual([
    false,
    false,
    true,
    true,
    true,
  ]);
  expect(codes(await deliver())).toEqual(['a', 'a']);
  expect(codes(await deliver('failed'))).toEqual(['b', 'b']);
  await change(other, 'd');
  await queue();
  expect(codes(await deliver())).toEqual(['c', 'd']);
  expect(await deliver()).toEqual([]);
});

it('releasing lets nothing go while an event is under way', async () => {
  const subscription_id = await subscribe();
  const player_id = await player();
  for (const code of ['a', 'b']) await change(player_id, code);
  await queue();
  const turn = { tenant_id: tenant.tenant_id, subscription_id, player_id };
  await sql.begin((tx) => releaseNext(tx, [turn], new Date()));
  expect((await rows()).filter(({ next_at }) => next_at < HELD)).toHaveLength(1);
});

it('an event that is added while the last one ends is never held for ever', async () => {
  await subscribe();
  const player_id = await player();
  await change(player_id, 'a');
  await queue();
  for (let n = 0; n < 10; n++) {
    await change(player_id, `n${n}`);
    await Promise.all([queue(), deliver()]);
  }
  const left: (string | undefined)[] = [];
  for (let found = await deliver(); found.length > 0; found = await deliver()) left.push(...codes(found));
  expect(left.at(-1)).toBe('n9');
  expect((await rows()).map(({ status }) => status)).toEqual(Array(11).fill('delivered'));
});

it('nothing is queued about deleted players, and a merged player is named by the survivor', async () => {
  await subscribe();
  const [gone, merged, survivor] = [await player(), await player(), await player()];
  const { tenant_id, project_id } = tenant;
  for (const id of [gone, merged]) await change(id, 'x');
  await sql`update players set deleted_at = now() where player_id = ${gone}`;
  await sql`
    insert into player_merges (tenant_id, project_id, player_id, into_player_id, merged_at)
    values (${tenant_id}, ${project_id}, ${merged}, ${survivor}, now())`;
  await sql`delete from players where player_id = ${merged}`;
  await queue();
  const found = await rows();
  expect(found.map(({ player_id }) => player_id)).toEqual([survivor]);
  expect(found[0]?.payload).toContain(`"player":{"id":"${survivor}"`);
});

it('a player that is merged away leaves no segment in which the survivor is', async () => {
  await subscribe({ events: ['segment.entered', 'segment.left'] });
  const [merged, survivor] = [await player(), await player()];
  const { tenant_id, project_id } = tenant;
  const [shared, other] = [randomUUID(), randomUUID()];
  await sql`
    insert into segment_members (tenant_id, project_id, segment_id, player_id, entered_at)
    values (${tenant_id}, ${project_id}, ${shared}, ${survivor}, now())`;
  for (const segment_id of [shared, other])
    await sql`
      insert into segment_changes (tenant_id, project_id, segment_id, has_entered, player_ids, changed_at)
      values (${tenant_id}, ${project_id}, ${segment_id}, false, array[${merged}::uuid], now())`;
  await sql`
    insert into player_merges (tenant_id, project_id, player_id, into_player_id, merged_at)
    values (${tenant_id}, ${project_id}, ${merged}, ${survivor}, now())`;
  await sql`delete from players where player_id = ${merged}`;
  await queue();
  const found = await rows();
  expect(found.map(({ sequence }) => sequence)).toEqual([1n]);
  expect(found[0]?.payload).toContain(`"data":{"segment_id":"${other}"}`);
  expect(await facts()).toEqual([]);
});

it('an erasure withholds what waits, and empties what was sent', async () => {
  await subscribe();
  const [erased, other] = [await player(), await player()];
  for (const code of ['a', 'b']) for (const id of [erased, other]) await change(id, code);
  await queue();
  await deliver();
  const { tenant_id, project_id } = tenant;
  const person = { tenant_id, project_id, player_ids: [erased], erasure_id: randomUUID() };
  for (let changed = 1; changed > 0;)
    changed = await sql.begin((tx) => deliveryEraser.erase(tx, person, 100));
  expect(await sql.begin((tx) => deliveryEraser.inUse?.(tx, person) ?? Promise.resolve(0))).toBe(0);
  const found = await rows();
  const of = (id: string) => found.filter(({ player_id }) => player_id === id);
  expect(of(erased).map(({ status, payload }) => [status, payload])).toEqual([
    ['delivered', null],
    ['cancelled', null],
  ]);
  expect(of(other).every(({ payload }) => payload !== null)).toBe(true);
  expect(codes(await deliver())).toEqual(['b']);
});

it('the oldest events beyond those that may wait are dropped and counted, and the next ones of their players go on', async () => {
  const subscription_id = await subscribe();
  const [one, other] = [await player(), await player()];
  for (const code of ['a', 'b', 'c']) for (const id of [one, other]) await change(id, code);
  await queue();
  const ref = { tenant_id: tenant.tenant_id, project_id: tenant.project_id, subscription_id };
  await sql`update event_subscriptions set counted_at_sequence = 0 where subscription_id = ${subscription_id}`;
  await boundQueue(fixture.platform, ref, { max_pending: 3, step: 1 });
  expect(codes(await rows())).toEqual(['b', 'c', 'c']);
  expect(await call(`/${subscription_id}`)).toMatchObject({ delivery: { pending: 3, dropped: 3 } });
  expect(codes(await deliver())).toEqual(['b', 'c']);
  expect(codes(await deliver())).toEqual(['c']);
  // The next count comes when so many more are queued that there may be too many.
  await change(one, 'd');
  await queueFacts(fixture.platform, tenant.tenant_id, { max_pending: 0, step: 1 });
  expect((await rows()).filter(({ status }) => status === 'pending')).toHaveLength(0);
});

it('an event whose call is under way is not dropped, and holds the next ones of its player', async () => {
  const subscription_id = await subscribe();
  const player_id = await player();
  for (const code of ['a', 'b']) await change(player_id, code);
  await queue();
  const { tenant_id, project_id } = tenant;
  const lane = { tenant_id, host: `example.com/${subscription_id}`, places: 5 };
  expect(await claimDeliveries(sql, [lane], new Date())).toHaveLength(1);
  const dropAll = async () => {
    await sql`update event_subscriptions set counted_at_sequence = 0 where subscription_id = ${subscription_id}`;
    const ref = { tenant_id, project_id, subscription_id };
    await boundQueue(fixture.platform, ref, { max_pending: 0, step: 1 });
  };
  await dropAll();
  expect(codes(await rows())).toEqual(['a']);
  await change(player_id, 'c');
  await queue();
  expect((await rows()).map(({ next_at }) => next_at.getTime() === HELD.getTime())).toEqual([false, true]);
  // One that waits for its next attempt is not under way.
  await sql`update webhook_deliveries set next_at = next_at + interval '1 minute' where subscription_id = ${subscription_id}
    and next_at < ${HELD}`;
  await dropAll();
  expect(await rows()).toEqual([]);
});

it('a replay whose job has used up its attempts is over', async () => {
  const subscription_id = await subscribe();
  const from = new Date(Date.now() - 60_000).toISOString();
  const replay = (status: number) => call(`/${subscription_id}/replay`, 'POST', { from }, status);
  await replay(202);
  await replay(409);
  const key = `event-subscription-replay ${subscription_id}`;
  await sql.begin(async (tx) => {
    await tx`set local role none`;
    await tx`update graphile_worker._private_jobs set attempts = max_attempts where key = ${key}`;
  });
  expect(await call(`/${subscription_id}`)).toMatchObject({ replay: { ended_at: expect.any(String) } });
  const { tenant_id, project_id } = tenant;
  await replay(202);
  expect(await call(`/${subscription_id}`)).toMatchObject({ replay: { ended_at: null } });
  await runReplayJob(
    fixture.platform,
    { tenant_id, project_id, subscription_id },
    new AbortController().signal,
  );
  expect(await call(`/${subscription_id}`)).toMatchObject({ replay: { ended_at: expect.any(String) } });
});

it('a replay goes before later events that wait, and after the one under way; what is old is removed', async () => {
  const subscription_id = await subscribe();
  const player_id = await player();
  for (const code of ['a', 'b']) await change(player_id, code);
  await queue();
  await deliver();
  await deliver();
  for (const code of ['c', 'd']) await change(player_id, code);
  await queue();
  await call(
    `/${subscription_id}/replay`,
    'POST',
    { from: new Date(Date.now() - 60_000).toISOString() },
    202,
  );
  await call(`/${subscription_id}/replay`, 'POST', { from: new Date().toISOString() }, 409);
  const { tenant_id, project_id } = tenant;
  const payload = { tenant_id, project_id, subscription_id };
  await runReplayJob(fixture.platform, payload, new AbortController().signal);
  // Again, as after a crash: nothing is replayed twice.
  await runReplayJob(fixture.platform, payload, new AbortController().signal);
  const order: (string | undefined)[] = [];
  for (let found = await deliver(); found.length > 0; found = await deliver()) order.push(...codes(found));
  expect(order).toEqual(['c', 'a', 'b', 'd']);
  expect(await call(`/${subscription_id}`)).toMatchObject({ replay: { replayed: 2 } });

  await sql`
    update webhook_deliveries set created_at = now() - interval '8 days' where subscription_id = ${subscription_id} and sequence < 3`;
  await cleanUpSubscriptions(fixture.platform, new AbortController().signal);
  expect(codes(await rows())).toEqual(['c', 'd']);
  await cleanUpSubscriptions(fixture.platform, new AbortController().signal, { max_pending: 1 });
  expect(codes(await rows())).toEqual(['d']);
});

it('who subscribes to the end of exclusions learns of the breaks that were open before', async () => {
  const player_id = await player();
  const { tenant_id, project_id } = tenant;
  await sql`
    insert into player_exclusions (tenant_id, project_id, exclusion_id, player_id, kind, since, accepted_at, recorded_at, ends_at,
      source)
    values (${tenant_id}, ${project_id}, ${randomUUID()}, ${player_id}, 'cooldown', now(), now(), now(),
      now() + interval '1 hour', 'event')`;
  const subscription_id = await subscribe({ events: ['exclusion.ended'] });
  await runBreaksJob(fixture.platform, { tenant_id, project_id, subscription_id });
  expect(
    await sql`select from subscription_break_ends where tenant_id = ${tenant_id} and ends_at > now()`,
  ).toHaveLength(1);
});
