import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { KycCaller, GIVE_UP_AFTER_MS } from '../../../src/players/kyc/calls.ts';
import type { BonusPlatform } from '../../../src/adapters/platform.ts';
import { openPlatforms, type Platforms } from '../../../src/adapters/platforms.ts';
import { loadCredentialsKeys } from '../../../src/engage/providers/credentials.ts';
import { readConfig } from '../../../src/config.ts';
import {
  FakePlatformClient,
  NO_FAULTS,
  startFakePlatform,
  type FakePlatform,
} from '../../bonuses/fake-platform.ts';
import { startTestService, type TestService } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { KycClient } from './kyc-client.ts';

// What platforms are told. The service has no role that makes queued calls: the tests make them, with their own clock.

let service: TestService;
let fake: FakePlatform;
let casino: FakePlatformClient;
let client: KycClient;
let platforms: Platforms;
let players = 0;

beforeAll(async () => {
  service = await startTestService({ roles: new Set(['api', 'intake', 'player-fold', 'player-mirror']) });
  fake = await startFakePlatform([]);
  casino = new FakePlatformClient(fake.url);
  const adapter = { kind: 'http', base_url: fake.url, timeout_ms: 30_000, capabilities: { kyc: true } };
  client = await KycClient.open(service, 'dual', adapter);
  const config = readConfig({ DATA_DIR: service.data_dir });
  const credentials_keys = await loadCredentialsKeys(config);
  platforms = await openPlatforms({ ...service.platform, credentials_keys }, service.service.notifications);
});
afterAll(async () => {
  await service?.close();
  await fake?.close();
});
beforeEach(async () => {
  await casino.settle();
  await casino.control({ faults: NO_FAULTS, secrets: [client.adapter.secret], answer: null, hold: false });
});

const person = () => client.identify(`customer-${++players}`);
const heard = async () =>
  (await casino.ledger()).calls
    .filter(({ path }) => path.startsWith('/v1/kyc/'))
    .map(({ path, body, headers }) => ({
      path,
      key: headers['idempotency-key'],
      attempt: headers['x-attempt'],
      ...(JSON.parse(body) as Record<string, unknown>),
    }));

/** Makes what is due `ahead_ms` from now. */
const makeDue = (ahead_ms: number) => makeDueAt(Date.now() + ahead_ms);

/** Makes what is due at that time. */
async function makeDueAt(now_ms: number): Promise<void> {
  const clock = { now_ms: () => now_ms };
  const caller = new KycCaller({ ...service.platform, clock, platforms });
  await caller.turn();
  await caller.close();
}

it('the platform is told of each decision at once', async () => {
  const id = await person();
  const player = { tenant_id: client.tenant.tenant_id, player_external_id: `customer-${players}` };
  expect(await client.decide(id, 'request', { level: 2, requirements: ['passport'] })).toMatchObject({
    status: 202,
    data: { sync: 'done', provider_ref: 'kyc-1' },
  });
  expect(await client.decide(id, 'approve', { level: 2, note: 'seen' })).toMatchObject({
    data: { sync: 'done' },
  });
  expect(await client.decide(id, 'revoke', { reason: 'forged' })).toMatchObject({ data: { sync: 'done' } });
  expect(await heard()).toMatchObject([
    { path: '/v1/kyc/initiate', attempt: '1', ...player, level: 2, requirements: ['passport'] },
    { path: '/v1/kyc/update', ...player, status: 'approved', level: 2, reason: 'seen' },
    { path: '/v1/kyc/update', ...player, status: 'revoked', level: 2, reason: 'forged' },
  ]);
  expect(await client.kyc(id)).toMatchObject({ provider_ref: 'kyc-1', sync: 'done', calls: [] });
});

it('the decision stands when the platform is away; the call is repeated with the same key and bytes', async () => {
  const id = await person();
  await casino.control({ answer: { status: 500, body: '{}' } });
  expect(await client.decide(id, 'approve', { level: 1 })).toMatchObject({
    status: 200,
    data: { kyc_status: 'approved', sync: 'queued' },
  });
  const { calls } = await client.kyc(id);
  expect(calls).toMatchObject([{ action: 'update', attempts: 1 }]);
  expect(calls[0]?.['last_error']).toEqual(expect.any(String));
  // Not before its time.
  const due_ms = Date.parse(String(calls[0]?.['next_attempt_at']));
  await makeDueAt(due_ms - 1);
  expect(await heard()).toHaveLength(1);
  await makeDueAt(due_ms);
  await casino.control({ answer: null });
  expect(await client.kyc(id)).toMatchObject({ sync: 'queued', calls: [{ attempts: 2 }] });
  await makeDue(60_000);
  const calls_heard = await heard();
  expect(calls_heard.map(({ attempt }) => attempt)).toEqual(['1', '2', '3']);
  expect(new Set(calls_heard.map(({ key }) => key)).size).toBe(1);
  expect(await client.kyc(id)).toMatchObject({ sync: 'done', calls: [], provider_ref: 'kyc-1' });
});

it('a slow platform does not keep the operator waiting', async () => {
  const id = await person();
  await casino.control({ hold: true });
  expect(await client.decide(id, 'approve', { level: 1 })).toMatchObject({
    status: 200,
    data: { sync: 'queued' },
  });
  // The platform has the call and has not answered it, and nobody has given up to wait for the answer.
  expect((await casino.ledger()).calls.map(({ status }) => status)).toEqual([0]);
  expect((await client.kyc(id)).calls).toMatchObject([{ attempts: 1, last_error: null }]);
  await casino.control({ hold: false });
  await until('the answer is noted', async (saw) => saw((await client.kyc(id))['sync']) === 'done');
  expect(await heard()).toHaveLength(1);
});

it('a newer decision replaces a call that was not answered', async () => {
  const id = await person();
  await casino.control({ answer: { status: 503, body: '{}' } });
  await client.decide(id, 'approve', { level: 1 });
  await client.decide(id, 'revoke', { reason: 'x' });
  expect((await client.kyc(id)).calls).toHaveLength(1);
  await casino.control({ answer: null });
  await casino.settle();
  await makeDue(60_000);
  await makeDue(60_000);
  expect(await heard()).toMatchObject([{ path: '/v1/kyc/update', reason: 'x' }]);
});

it('a request is given up when it is refused, or not answered for a day; both stay visible', async () => {
  const [refused, unanswered] = [await person(), await person()];
  await casino.control({ answer: { status: 422, body: '{"code":"NO_SUCH_PLAYER","message":"unknown"}' } });
  await client.decide(refused, 'request', { level: 1 });
  const given_up = { sync: 'done', calls: [{ attempts: 1, next_attempt_at: null }] };
  expect(await client.kyc(refused)).toMatchObject(given_up);
  expect((await client.kyc(refused)).calls[0]?.['last_error']).toContain('NO_SUCH_PLAYER');
  await casino.control({ answer: { status: 500, body: '{}' } });
  await client.decide(unanswered, 'request', { level: 1 });
  await makeDue(GIVE_UP_AFTER_MS + 1_000);
  expect(await client.kyc(unanswered)).toMatchObject({ calls: [{ attempts: 2, next_attempt_at: null }] });
});

it('what was decided is told until the platform takes it, however long that takes', async () => {
  const id = await person();
  await casino.control({ answer: { status: 404, body: '{"code":"NO_SUCH_PLAYER","message":"unknown"}' } });
  await client.decide(id, 'approve', { level: 1 });
  const { calls } = await client.kyc(id);
  expect(calls).toMatchObject([
    { attempts: 1, last_error: expect.stringContaining('NO_SUCH_PLAYER') as string },
  ]);
  for (const days of [1, 3, 9]) await makeDue(days * 86_400_000);
  expect(await client.kyc(id)).toMatchObject({ sync: 'queued', calls: [{ attempts: 4 }] });
  const [queued] = (await client.kyc(id)).calls;
  expect(queued?.['next_attempt_at']).toEqual(expect.any(String));
  await casino.control({ answer: null });
  await makeDue(12 * 86_400_000);
  expect(await client.kyc(id)).toMatchObject({ sync: 'done', calls: [] });
  expect((await heard()).at(-1)).toMatchObject({ status: 'approved', attempt: '5' });
});

it('what is not true any more is not told', async () => {
  const id = await person();
  await casino.control({ answer: { status: 500, body: '{}' } });
  await client.decide(id, 'approve', { level: 1 });
  await client.webhook({ event: 'kyc.rejected', player_external_id: `customer-${players}` });
  await casino.control({ answer: null });
  await casino.settle();
  await makeDue(60_000);
  expect(await heard()).toEqual([]);
  expect(await client.kyc(id)).toMatchObject({ kyc_status: 'rejected', sync: 'done', calls: [] });
});

it('a refusal is told, though a case was opened since; not once an approval followed it', async () => {
  const [reopened, approved] = [await person(), await person()];
  for (const id of [reopened, approved]) await client.decide(id, 'approve', { level: 1 });
  await casino.control({ answer: { status: 500, body: '{}' } });
  for (const id of [reopened, approved]) await client.decide(id, 'revoke', { reason: 'forged' });
  await client.webhook({ event: 'kyc.submitted', player_external_id: `customer-${players - 1}` });
  await client.webhook({ event: 'kyc.approved', level: 1, player_external_id: `customer-${players}` });
  await casino.control({ answer: null });
  await casino.settle();
  await makeDue(60_000);
  expect(await heard()).toMatchObject([
    { player_external_id: `customer-${players - 1}`, status: 'revoked', reason: 'forged' },
  ]);
});

describe('with a platform that answers when the test says so', () => {
  type Answer = Awaited<ReturnType<BonusPlatform['kyc']>>;
  const unanswered: Answer = { kind: 'unsent', reason: 'unreachable', message: 'away' };
  const HOUR_MS = 3_600_000;

  /** Takes a turn an hour ahead; resolves with what was asked, when all of it is answered. */
  async function turnWith(answer: (body: string) => Promise<Answer>, ahead_ms = HOUR_MS): Promise<string[]> {
    const asked: string[] = [];
    const kyc = ({ body }: { body: string }) => {
      asked.push(body);
      return answer(body);
    };
    const stub = { of: () => Promise.resolve({ kyc } as unknown as BonusPlatform) };
    const clock = { now_ms: () => Date.now() + ahead_ms };
    const caller = new KycCaller({ ...service.platform, clock, platforms: stub });
    await caller.turn();
    await caller.close();
    return asked;
  }

  it.each([
    ['answers', { kind: 'accepted', provider_ref: 'older' }],
    ['does not answer', unanswered],
  ] as const)(
    'a newer decision waits for the call that is being made, which the platform %s',
    async (_what, end) => {
      const id = await person();
      await casino.control({ answer: { status: 503, body: '{}' } });
      await client.decide(id, 'approve', { level: 1 });
      await casino.control({ answer: null });
      await casino.settle();
      let decided: Awaited<ReturnType<KycClient['decide']>> | undefined;
      const asked = await turnWith(async (body) => {
        expect(body).toContain('"approved"');
        decided = await client.decide(id, 'revoke', { reason: 'forged' });
        expect(await turnWith(() => Promise.reject(new Error('too early')), 2_000)).toEqual([]);
        return end;
      }, 2_000);
      expect(asked).toHaveLength(1);
      expect(decided?.data).toMatchObject({ kyc_status: 'revoked', sync: 'queued' });
      expect(await heard()).toEqual([]);
      expect((await client.kyc(id)).calls).toMatchObject([{ action: 'update', attempts: 0 }]);
      expect(
        await turnWith(() => Promise.resolve({ kind: 'accepted', provider_ref: 'newer' })),
      ).toMatchObject([expect.stringContaining('"revoked"')]);
      expect(await turnWith(() => Promise.reject(new Error('nothing is left')), 2 * HOUR_MS)).toEqual([]);
      expect(await client.kyc(id)).toMatchObject({ provider_ref: 'newer', sync: 'done', calls: [] });
    },
  );

  it('a process that ends while it calls holds the newer decision up for the time of its claim', async () => {
    const id = await person();
    await casino.control({ answer: { status: 503, body: '{}' } });
    await client.decide(id, 'approve', { level: 1 });
    await service.platform.postgres.service`
      update kyc_calls set attempts = attempts + 1, next_attempt_at = ${new Date(Date.now() + 60_000)},
        claimed_until = ${new Date(Date.now() + 60_000)} where player_id = ${id}`;
    expect(await client.decide(id, 'revoke', { reason: 'x' })).toMatchObject({ data: { sync: 'queued' } });
    const take = () => Promise.resolve<Answer>({ kind: 'accepted', provider_ref: null });
    expect(await turnWith(take, 30_000)).toEqual([]);
    expect(await turnWith(take, 90_000)).toMatchObject([expect.stringContaining('"revoked"')]);
    const rows = await service.platform.postgres.service`select from kyc_calls where player_id = ${id}`;
    expect(rows).toHaveLength(0);
  });

  it('a call stays queued when what the platform said cannot be stored', async () => {
    const id = await person();
    await casino.control({ answer: { status: 503, body: '{}' } });
    await client.decide(id, 'approve', { level: 1 });
    const asked = await turnWith(() => Promise.resolve({ kind: 'accepted', provider_ref: 'no \0 text' }));
    expect(asked).toHaveLength(1);
    expect(await client.kyc(id)).toMatchObject({
      sync: 'queued',
      provider_ref: null,
      calls: [{ attempts: 2 }],
    });
    await turnWith(() => Promise.resolve({ kind: 'accepted', provider_ref: 'a text' }), 2 * HOUR_MS);
    expect(await client.kyc(id)).toMatchObject({ sync: 'done', provider_ref: 'a text' });
  });

  it('calls of one project that cannot be made hold up no other project', async () => {
    const id = await person();
    await casino.control({ answer: { status: 503, body: '{}' } });
    await client.decide(id, 'approve', { level: 1 });
    const { tenant_id, project_id } = await service.newTenant();
    const sql = service.platform.postgres.service;
    // For each player an update that waits, and behind it a request that is due longest.
    await sql`
      insert into kyc_calls (tenant_id, project_id, player_id, call_id, action, body, next_attempt_at, created_at)
      select ${tenant_id}, ${project_id}, player_id, gen_random_uuid(), action, '{}', at, made
      from (select gen_random_uuid() as player_id from generate_series(1, 250)) p
      cross join (values ('update', now() + interval '30 days', now() - interval '2 days'),
        ('initiate', now() - interval '1 day', now() - interval '1 day')) as c (action, at, made)`;
    const asked = await turnWith(() => Promise.resolve({ kind: 'accepted', provider_ref: null }));
    await sql`delete from kyc_calls where tenant_id = ${tenant_id}`;
    expect(asked).toMatchObject([expect.stringContaining(`customer-${players}`)]);
  });
});

it('calls end with the player', async () => {
  const id = await person();
  await casino.control({ answer: { status: 500, body: '{}' } });
  await client.decide(id, 'approve', { level: 1 });
  await client.api('DELETE', `/v1/players/${id}`);
  expect(await client.kyc(id)).toMatchObject({ kyc_status: 'approved', calls: [] });
});
