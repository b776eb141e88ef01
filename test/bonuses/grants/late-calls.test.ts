import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { NO_FAULTS } from '../fake-platform.ts';
import { grantsFixture, type GrantsFixture } from './grants-fixture.ts';

// A call may still be on its way when its grant was cancelled because the platform did not know it.

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

const answer = (status: number, body: object | string = '') => ({
  status,
  body: typeof body === 'string' ? body : JSON.stringify(body),
});
const bonusOf = async (grant_id: string) =>
  (await casino.fake.ledger()).bonuses.find((bonus) => bonus.grant_id === grant_id);

/** A grant without an answer, cancelled because the platform did not know it. The sender rests until bonuses go on. */
async function presumedCancelled(): Promise<string> {
  await casino.fake.control({ answer: answer(500), hold: true });
  const granting = on.grant(template_id, await on.player());
  await expect.poll(async () => (await casino.fake.ledger()).calls.length).toBe(1);
  await on.config({ paused: true });
  await casino.fake.control({ answer: null, faults: NO_FAULTS, hold: false });
  const grant_id = String((await granting).error.details['grant_id']);
  expect((await on.cancel(grant_id)).data).toMatchObject({ status: 'cancelled', outcome: 'unknown' });
  return grant_id;
}

it('the platform is asked about it once more, and no further, where it knows nothing of it', async () => {
  const id = await presumedCancelled();
  await on.config({ paused: false });
  await on.hurry(id);
  const grant = await on.reached(id, ({ next_attempt_at }) => next_attempt_at === null);
  expect(grant).toMatchObject({ status: 'cancelled', outcome: 'unknown', needs_review: false });
});

describe('when its call reaches the platform after all', () => {
  const creditedLate = async () => {
    const id = await presumedCancelled();
    const [call] = (await casino.fake.ledger()).calls;
    // `fetch` counts the length itself, and refuses another one.
    const { path = '', headers: { 'content-length': _, ...headers } = {}, body = '' } = call ?? {};
    await fetch(casino.fake.url + path, { method: 'POST', headers, body });
    expect(await bonusOf(id)).toMatchObject({ status: 'active' });
    return id;
  };

  it('the sender asks once more to cancel it, so that nothing stays credited', async () => {
    const begun_ms = Date.now();
    const id = await creditedLate();
    expect(Date.parse((await on.get(id)).next_attempt_at ?? '')).toBeGreaterThan(begun_ms + 30_000);
    await on.config({ paused: false });
    await on.hurry(id);
    await expect.poll(async () => (await bonusOf(id))?.status).toBe('cancelled');
    const grant = await on.reached(id, ({ next_attempt_at }) => next_attempt_at === null);
    expect(grant).toMatchObject({ status: 'cancelled', outcome: 'confirmed', needs_review: false });
    await on.budgets();
  });

  it('it is left to somebody when the platform keeps it', async () => {
    const id = await creditedLate();
    await casino.fake.control({ answer: answer(403, { code: 'NOT_ALLOWED', message: 'no' }) });
    await on.config({ paused: false });
    await on.hurry(id);
    const grant = await on.reached(id, ({ next_attempt_at }) => next_attempt_at === null);
    expect(grant).toMatchObject({ status: 'cancelled', needs_review: true });
  });

  it('the sender goes on asking while the platform gives no answer', async () => {
    const id = await creditedLate();
    await casino.fake.control({ answer: answer(500) });
    await on.config({ paused: false });
    await on.hurry(id);
    await on.reached(id, ({ last_error }) => last_error !== null);
    await casino.fake.control({ answer: null });
    await on.hurry(id);
    await on.reached(id, ({ next_attempt_at }) => next_attempt_at === null);
    expect((await bonusOf(id))?.status).toBe('cancelled');
  });
});
