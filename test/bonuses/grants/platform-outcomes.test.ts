import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ProtectionSweep } from '../../../src/bonuses/grants/protection.ts';
import { sunk, type TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { until } from '../../engines/until.ts';
import { NO_FAULTS, type Control } from '../fake-platform.ts';
import { grantsFixture, type GrantsFixture, type ShownGrant } from './grants-fixture.ts';

let service: TestService;
let on: GrantsFixture;
let casino: Awaited<ReturnType<GrantsFixture['adapter']>>;
let template_id: string;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(async () => service?.close());
beforeEach(async () => {
  on = grantsFixture(service, await service.newTenant());
  casino = await on.adapter({ timeout_ms: 30_000 });
  template_id = await on.template();
});
afterEach(async () => casino?.close());

const detailsOf = (answer: { error: unknown }) =>
  (answer.error as { details?: Record<string, unknown> }).details ?? {};
const answer = (status: number, body: object | string = '') => ({
  status,
  body: typeof body === 'string' ? body : JSON.stringify(body),
});
/** The platform's answer to the question for the status of a bonus that it has refused. */
const failed = (grant_id: string) => ({
  grant_id,
  platform_bonus_id: 'pb-1',
  status: 'failed',
  updated_at: new Date().toISOString(),
});
/** An answer after which nothing is tried by itself while a test runs. */
const lasting = (status: number) => ({ ...answer(status), headers: { 'retry-after': '3600' } });
const BUSY = lasting(429);

/** A grant that the platform was asked for, and to which it will answer as it was told once it is not held any more. */
async function beingSent(told: Pick<Control, 'answer' | 'faults'>) {
  await casino.fake.control({ ...told, hold: true });
  const granting = on.grant(template_id, await on.player());
  await expect.poll(async () => (await casino.fake.ledger()).calls.length).toBe(1);
  return { granting };
}

/** A grant after that answer. The sender lets it be until the tenant's bonuses go on; the platform is well again. */
async function stoppedAfter(told: Pick<Control, 'answer' | 'faults'>) {
  const { granting } = await beingSent(told);
  await on.config({ paused: true });
  await casino.fake.control({ answer: null, faults: NO_FAULTS, hold: false });
  const queued = await granting;
  return { queued, id: String(detailsOf(queued)['grant_id']) };
}

const bonusOf = async (grant_id: string) =>
  (await casino.fake.ledger()).bonuses.find((bonus) => bonus.grant_id === grant_id);

describe('an answer to a grant', () => {
  it('4xx: the grant has failed, and its place and budget are free', async () => {
    const once = await on.template({ max_grants_per_player: 1, budget_base: 1_000 });
    const player_id = await on.player();
    await casino.fake.control({ answer: answer(422, { code: 'ACCOUNT_CLOSED', message: 'closed' }) });
    const refused = await on.grant(once, player_id);
    expect([refused.status, refused.code]).toEqual([502, 'ADAPTER_REJECTED']);
    const grant_id = String(detailsOf(refused)['grant_id']);
    expect(detailsOf(refused)).toMatchObject({ platform_code: 'ACCOUNT_CLOSED' });
    expect(await on.get(grant_id)).toMatchObject({
      status: 'failed',
      outcome: 'rejected',
      status_reason: 'ACCOUNT_CLOSED',
      last_error: { code: 'ACCOUNT_CLOSED', message: 'closed' },
      next_attempt_at: null,
    });
    await casino.fake.control({ answer: null });
    expect((await on.grant(once, player_id)).status).toBe(201);
    await on.budgets();
  });

  it.each([
    [401, 'unsent', 'CREDENTIALS_REFUSED'],
    [429, 'unsent', 'PLATFORM_BUSY'],
    [500, 'unknown', 'OUTCOME_UNKNOWN'],
  ])('%i: 503, %s, and the sender goes on until it is credited once', async (status, outcome, code) => {
    const { queued, id } = await stoppedAfter({ answer: lasting(status) });
    expect([queued.status, queued.code]).toEqual([503, 'ADAPTER_UNAVAILABLE']);
    expect(detailsOf(queued)['next_attempt_at']).toEqual(expect.any(String));
    expect(await on.get(id)).toMatchObject({ status: 'pending', outcome, last_error: { code } });
    await on.hurry(id);
    await on.config({ paused: false });
    const grant = await on.reached(id, ({ status: now }) => now === 'active');
    expect(grant).toMatchObject({ outcome: 'confirmed', last_error: null, next_attempt_at: null });
    expect((await bonusOf(id))?.credits).toBe(1);
    await on.budgets();
  });

  it('lost after the credit: the status is asked for, and nothing is sent again', async () => {
    const { queued, id } = await stoppedAfter({ faults: { lost: 1 } });
    expect(queued.status).toBe(503);
    await on.hurry(id);
    await on.config({ paused: false });
    await on.reached(id, ({ status }) => status === 'active');
    const { calls } = await casino.fake.ledger();
    expect(calls.map(({ method }) => method)).toEqual(['POST', 'GET']);
  });

  it('a refusal that is only found by asking for the status does not give the failed call as its reason', async () => {
    const { id } = await stoppedAfter({ faults: { lost: 1 } });
    expect(await on.get(id)).toMatchObject({ last_error: { code: 'OUTCOME_UNKNOWN' } });
    await casino.fake.control({ answer: answer(200, failed(id)) });
    await on.hurry(id);
    await on.config({ paused: false });
    const grant = await on.reached(id, ({ status }) => status === 'failed');
    expect(grant).toMatchObject({ last_error: null, next_attempt_at: null });
  });

  it('accepted: pending, and active with the webhook; a webhook before the answer is as good', async () => {
    await casino.fake.control({ faults: { accept: 1 } });
    const pending = await on.grant(template_id, await on.player());
    expect([pending.status, pending.data.status, pending.data.outcome]).toEqual([
      201,
      'pending',
      'confirmed',
    ]);
    expect(await casino.fake.move({ grant_id: pending.data.id, event: 'bonus.credited' })).toBe(200);
    expect(await on.get(pending.data.id)).toMatchObject({ status: 'active', next_attempt_at: null });
    await casino.fake.control({ faults: { accept: 0, early: 1 } });
    const early = await on.grant(template_id, await on.player());
    expect([early.status, early.data.status]).toEqual([201, 'active']);
    const { history } = await on.get(early.data.id);
    expect(history.map(({ event, source }) => [event, source]).slice(0, 2)).toEqual([
      ['bonus.requested', 'api'],
      ['bonus.credited', 'webhook'],
    ]);
  });
});

describe('a webhook before an answer that never comes', () => {
  it('leaves nothing to ask', async () => {
    await casino.fake.control({ faults: { early: 1, lost: 1 } });
    const early = await on.grant(template_id, await on.player());
    expect([early.status, early.data.status], JSON.stringify(early.error)).toEqual([201, 'active']);
    expect(early.data).toMatchObject({ next_attempt_at: null, needs_review: false, last_error: null });
  });
});

describe('a cancellation', () => {
  const granted = async () => (await on.grant(template_id, await on.player())).data;

  it('asks the platform first; then the budget and the place are free', async () => {
    const { id } = await granted();
    const cancelled = await on.cancel(id, { reason: 'a mistake' });
    expect([cancelled.status, cancelled.data.status]).toEqual([200, 'cancelled']);
    expect(cancelled.data).toMatchObject({
      status_reason: 'a mistake',
      ended_at: expect.any(String) as string,
    });
    expect((await bonusOf(id))?.status).toBe('cancelled');
    const again = await on.cancel(id);
    expect([again.status, again.code]).toEqual([409, 'BONUS_GRANT_INVALID_STATUS']);
    expect((await on.cancel(randomUUID())).code).toBe('BONUS_GRANT_NOT_FOUND');
    await on.budgets();
  });

  it('of a bonus that has ended at the platform takes over how', async () => {
    const { id } = await granted();
    const { webhooks_url } = { webhooks_url: `${service.base_url}/v1/adapters/${casino.slug}/webhooks` };
    await casino.fake.control({ webhooks_url: null });
    await casino.fake.move({ grant_id: id, event: 'bonus.completed' });
    await casino.fake.control({ webhooks_url });
    const late = await on.cancel(id);
    expect([late.status, late.code]).toEqual([409, 'BONUS_GRANT_INVALID_STATUS']);
    expect((await on.get(id)).status).toBe('completed');
    await on.budgets();
  });

  it('that is refused changes nothing; one without an answer is queued', async () => {
    const { id } = await granted();
    await casino.fake.control({ answer: answer(403, { code: 'NOT_ALLOWED', message: 'no' }) });
    const refused = await on.cancel(id);
    expect([refused.status, refused.code]).toEqual([502, 'ADAPTER_REJECTED']);
    expect(await on.get(id)).toMatchObject({
      status: 'active',
      cancel_requested_at: null,
      next_attempt_at: null,
    });
    await casino.fake.control({ answer: answer(500) });
    const queued = await on.cancel(id);
    expect([queued.status, queued.code]).toEqual([503, 'ADAPTER_UNAVAILABLE']);
    expect(await on.get(id)).toMatchObject({
      status: 'active',
      cancel_requested_at: expect.any(String) as string,
    });
    await casino.fake.control({ answer: null });
    await on.hurry(id);
    await on.reached(id, ({ status }) => status === 'cancelled');
    expect((await bonusOf(id))?.status).toBe('cancelled');
  });

  it('of a grant that was not sent needs no platform', async () => {
    await casino.fake.control({ answer: BUSY });
    const queued = await on.grant(template_id, await on.player());
    const id = String(detailsOf(queued)['grant_id']);
    const cancelled = await on.cancel(id);
    expect(cancelled.data).toMatchObject({
      status: 'cancelled',
      outcome: 'unsent',
      status_reason: 'requested',
    });
    await on.budgets();
  });

  it('of a grant that is being sent, once refused, leaves it to be asked about: it is not sent again unasked', async () => {
    const { granting } = await beingSent({ answer: answer(500) });
    const [{ grant_id: id } = { grant_id: '' }] = await on.sql<{ grant_id: string }[]>`
      select grant_id from bonus_grants where tenant_id = ${on.tenant.tenant_id}`;
    expect((await on.cancel(id)).status).toBe(503);
    expect((await casino.fake.ledger()).calls).toHaveLength(1);
    // Before the call is over, so that all further ones meet the refusal, whenever they are made.
    await casino.fake.control({ answer: answer(403, { code: 'NOT_ALLOWED', message: 'no' }), hold: false });
    expect((await granting).status).toBe(503);
    await on.reached(id, ({ cancel_requested_at }) => cancel_requested_at === null);
    await on.hurry(id);
    await expect.poll(async () => (await casino.fake.ledger()).calls.length).toBeGreaterThan(2);
    const { calls } = await casino.fake.ledger();
    expect(calls.slice(0, 3).map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /v1/bonuses/grant',
      'POST /v1/bonuses/cancel',
      `GET /v1/bonuses/by-grant/${id}`,
    ]);
    expect((await on.get(id)).status).toBe('pending');
  });

  it('of a grant that the platform never got is known by its silence, and a late credit is noticed', async () => {
    const { id } = await stoppedAfter({ answer: answer(500) });
    expect((await on.cancel(id)).data).toMatchObject({
      status: 'cancelled',
      outcome: 'unknown',
      needs_review: false,
    });
    const late = await on.event(casino, 'bonus.credited', id);
    expect(late.body).toEqual({ received: true, applied: false, new_status: 'cancelled' });
    expect(await on.get(id)).toMatchObject({ status: 'cancelled', needs_review: true });
  });
});

describe('webhooks', () => {
  const granted = async (): Promise<ShownGrant> => (await on.grant(template_id, await on.player())).data;

  it('move the grant, and are replays the second time', async () => {
    const { id } = await granted();
    const wagered = { event_id: randomUUID(), data: { total_wagered: 700, wagering_required: 5_000 } };
    const first = await on.event(casino, 'bonus.progress', id, wagered);
    expect(first).toEqual({ status: 200, body: { received: true, applied: true, new_status: 'active' } });
    expect((await on.event(casino, 'bonus.progress', id, wagered)).body).toEqual({
      applied: false,
      replay: true,
    });
    const less = await on.event(casino, 'bonus.wagered', id, { data: { total_wagered: 600 } });
    expect(less.body).toMatchObject({ applied: false, new_status: 'active' });
    expect(await on.get(id)).toMatchObject({
      wagering_progress: 700,
      wagering_required: 5_000,
      progress_source: 'platform',
    });
    const done = await on.event(casino, 'bonus.completed', id, { data: { released_amount: 1_000 } });
    expect(done.body).toEqual({ received: true, applied: true, new_status: 'completed' });
    const after = await on.event(casino, 'bonus.expired', id);
    expect(after.body).toEqual({ received: true, applied: false, new_status: 'completed' });
    expect(await on.get(id)).toMatchObject({
      status: 'completed',
      released_amount: 1_000,
      released_amount_base: 1_000,
    });
  });

  it('of a platform that the project connected later move what its built-in sandbox credited', async () => {
    const later = grantsFixture(service, await service.newTenant());
    const { data } = await later.grant(await later.template(), await later.player());
    expect(data).toMatchObject({ status: 'active', adapter_slug: 'sandbox' });
    const platform = await later.adapter();
    try {
      const { platform_bonus_id } = data;
      // What a platform does not say may be null.
      const lost = await later.event(platform, 'bonus.lost', data.id, {
        platform_bonus_id,
        data: { reason: null, total_wagered: null },
      });
      expect(lost.body).toEqual({ received: true, applied: true, new_status: 'lost' });
      const foreign = await on.event(casino, 'bonus.lost', data.id, { platform_bonus_id });
      expect(foreign.status).toBe(404);
    } finally {
      await platform.close();
    }
  });

  it('that do not fit are refused and may come again', async () => {
    const { id } = await granted();
    const event_id = randomUUID();
    const other = await on.event(casino, 'bonus.completed', id, { event_id, platform_bonus_id: 'another' });
    expect([other.status, other.body['code']]).toEqual([422, 'VALIDATION_ERROR']);
    const unknownEvents = async () => {
      const { values } = await service.platform.metrics.webhookUnknownEvents.get();
      return values.find(({ labels }) => labels.adapter === casino.slug)?.value ?? 0;
    };
    for (const [event, rest, status] of [
      ['kyc.approved', {}, 422],
      ['bonus.wagered', {}, 422],
      ['bonus.credited', { data: { amount: -1 } }, 422],
      ['bonus.credited', { grant_id: 'x' }, 422],
      // Postgres reads no time of the year 0.
      ['bonus.credited', { ts: '0000-01-01T00:00:00Z' }, 422],
      ['bonus.credited', { data: { expires_at: '0000-01-01T00:00:00Z' } }, 422],
      ['bonus.credited', { grant_id: randomUUID() }, 404],
      ['bonus.credited', { grant_id: '11111111-1111-1111-1111-111111111111' }, 404],
      ['bonus.something', {}, 200],
      ['bonus.accepted', {}, 200],
    ] as const) {
      expect((await on.event(casino, event, id, rest)).status, event).toBe(status);
    }
    // Both of those that were taken.
    expect(await unknownEvents()).toBe(2);
    expect((await on.event({ ...casino, secret: 'x'.repeat(43) }, 'bonus.completed', id)).body['code']).toBe(
      'FORBIDDEN',
    );
    const stranger = grantsFixture(service, await service.newTenant());
    const theirs = (await stranger.grant(await stranger.template(), await stranger.player())).data;
    expect((await on.event(casino, 'bonus.completed', theirs.id)).status).toBe(404);
    expect((await on.event(casino, 'bonus.completed', id, { event_id })).body).toMatchObject({
      applied: true,
    });
  });

  it('with amounts that no row holds are applied with the largest, and marked', async () => {
    const { id } = await granted();
    const huge = {
      data: { amount: '9'.repeat(30), winnings: '9'.repeat(38), released_amount: '9'.repeat(38) },
    };
    expect((await on.event(casino, 'bonus.completed', id, huge)).body).toMatchObject({ applied: true });
    expect(await on.get(id)).toMatchObject({
      status: 'completed',
      needs_review: true,
      bonus_amount: '9'.repeat(30),
      bonus_amount_base: String(2n ** 63n - 1n),
    });
    await on.budgets();
  });

  it('of a failed grant revive it, beyond the limit and with a mark', async () => {
    const once = await on.template({ max_grants_per_player: 1, exclusion_group: 'one', budget_base: 1_500 });
    const player_id = await on.player();
    await casino.fake.control({ answer: answer(400, { code: 'NO', message: 'no' }) });
    const failed = String(detailsOf(await on.grant(once, player_id))['grant_id']);
    await casino.fake.control({ answer: null });
    expect((await on.grant(once, player_id)).status).toBe(201);
    expect((await on.event(casino, 'bonus.credited', failed)).body).toMatchObject({
      applied: true,
      new_status: 'active',
    });
    expect(await on.get(failed)).toMatchObject({
      status: 'active',
      needs_review: true,
      outcome: 'confirmed',
    });
    await on.budgets();
  });

  it('are events of the player on the log', async () => {
    const { id, player_id } = await granted();
    await on.event(casino, 'bonus.completed', id, { ts: '2026-01-02T03:04:05.678Z' });
    await on.event(casino, 'bonus.completed', id);
    const names = async () => {
      await sunk(service.platform);
      const { data } = await on.client.api<{ event: string; properties: Record<string, unknown> }[]>(
        'GET',
        `/v1/players/${String(player_id)}/timeline`,
      );
      return data;
    };
    await expect
      .poll(async () => (await names()).map(({ event }) => event).sort(), { timeout: 20_000 })
      .toEqual(['bonus_claimed', 'bonus_completed']);
    const [claimed] = (await names()).filter(({ event }) => event === 'bonus_claimed');
    expect(claimed?.properties).toMatchObject({
      source: 'adapter',
      grant_id: id,
      amount: 1_000,
      currency: 'EUR',
    });
  });
});

describe('protected players', () => {
  it('are protected from the moment at which their exclusion is accepted, whether it is folded or not', async () => {
    const players = await on.client.players(40);
    const answers = await Promise.all(
      players.map(async (player_id) => {
        await on.client.event(player_id, 'self_exclusion_set');
        return on.grant(template_id, player_id);
      }),
    );
    for (const { status, error, data } of answers) {
      if (status === 201) {
        // The fold took longer than a request waits: the grant is decided when it has come so far.
        expect(data.status).toBe('pending');
        await on.reached(data.id, (grant) => grant.status === 'cancelled');
        continue;
      }
      expect(status).toBe(422);
      expect(detailsOf({ error })['reason']).toBe('SELF_EXCLUDED');
    }
    expect((await casino.fake.ledger()).calls).toEqual([]);
    const rows = await on.sql<{ status: string; outcome: string }[]>`
      select distinct status, outcome from bonus_grants where tenant_id = ${on.tenant.tenant_id}`;
    // Those that were not folded yet have left a cancelled intent.
    for (const row of rows) expect(row).toEqual({ status: 'cancelled', outcome: 'unsent' });
    await on.budgets();
  });

  it('get nothing that was not sent; an active bonus is marked, or cancelled if the tenant wants it', async () => {
    const [waiting, keeping] = [await on.player(), await on.player()];
    const active = (await on.grant(template_id, keeping)).data;
    await casino.fake.control({ answer: BUSY });
    const queued = String(detailsOf(await on.grant(template_id, waiting))['grant_id']);
    for (const player_id of [waiting, keeping]) await on.client.event(player_id, 'self_exclusion_set');
    await casino.fake.control({ answer: null });
    await on.hurry(queued);
    const ended = await on.reached(queued, ({ status }) => status === 'cancelled');
    expect(ended).toMatchObject({ status_reason: 'PLAYER_EXCLUDED', outcome: 'unsent' });
    expect(await bonusOf(queued)).toBeUndefined();
    const marked = await on.reached(active.id, ({ needs_review }) => needs_review);
    expect(marked.status).toBe('active');
    await on.config({ on_exclusion: 'cancel' });
    const other = await on.player();
    const cancelled = (await on.grant(template_id, other)).data;
    await on.client.event(other, 'self_exclusion_set');
    // That the service looks again and again was seen above: nothing is learned from another of its pauses.
    const sweep = new ProtectionSweep(service.platform);
    await until('the bonus is cancelled', async (saw) => {
      await sweep.turn();
      return saw((await on.get(cancelled.id)).status) === 'cancelled';
    });
    expect((await bonusOf(cancelled.id))?.status).toBe('cancelled');
    await on.budgets();
  });

  it('whose bonus the platform can neither cancel nor find are marked, and the platform is not asked without pause', async () => {
    const mine = grantsFixture(service, await service.newTenant());
    const theirs = await mine.adapter({ capabilities: { cancel: false, status: false } });
    try {
      await theirs.fake.control({ answer: answer(500) });
      const player_id = await mine.player();
      const id = String(detailsOf(await mine.grant(await mine.template(), player_id))['grant_id']);
      await mine.client.event(player_id, 'self_exclusion_set');
      const begun_ms = Date.now();
      await mine.hurry(id);
      const marked = await mine.reached(id, ({ needs_review }) => needs_review);
      expect(marked).toMatchObject({ status: 'pending', last_error: { code: 'UNSUPPORTED' } });
      const [row] = await mine.sql<
        { calls: number }[]
      >`select calls from bonus_grants where grant_id = ${id}`;
      expect(row?.calls).toBeLessThan(8);
      expect(Date.parse(String(marked.next_attempt_at))).toBeGreaterThan(begun_ms + 1_000);
    } finally {
      await theirs.close();
    }
  });

  it('a paused tenant sends nothing until it goes on', async () => {
    const { id } = await stoppedAfter({ answer: BUSY });
    await casino.fake.settle();
    await on.hurry(id);
    const other = grantsFixture(service, await service.newTenant());
    const theirs = await other.adapter();
    try {
      // The sender looks at one lane after the other, so it has come past this one before it begins the second look.
      for (let look = 1; look <= 2; look++) {
        await theirs.fake.control({ answer: BUSY });
        const sent = await other.grant(await other.template(), await other.player());
        const other_id = String(detailsOf(sent)['grant_id']);
        await theirs.fake.control({ answer: null });
        await other.hurry(other_id);
        await other.reached(other_id, ({ status }) => status === 'active');
      }
    } finally {
      await theirs.close();
    }
    const [row] = await on.sql<{ calls: number }[]>`select calls from bonus_grants where grant_id = ${id}`;
    expect(row?.calls).toBe(1);
    expect((await casino.fake.ledger()).calls).toEqual([]);
    await on.config({ paused: false });
    await on.reached(id, ({ status }) => status === 'active');
  });
});
