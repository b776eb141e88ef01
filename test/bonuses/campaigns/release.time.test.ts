import { afterAll, beforeAll, expect, it } from 'vitest';
import { PROCESSORS } from '../../../src/platform/postgres/limits.ts';
import { startTestService, type TestService } from '../../engines/service.ts';
import { campaignsFixture, consistent, countOf, release, reserved } from './campaigns-fixture.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(async () => service?.close());

const fresh = () => campaignsFixture(service);

it('the release of a campaign that waits for the budget of its template stops no other', async () => {
  const [slow, other] = [await fresh(), await fresh()];
  const template_id = await slow.template({ max_grants_per_player: 1 });
  const [taken = '', ...players] = await slow.client.players(3);
  const slow_id = await reserved(slow, [taken, ...players], { template_id, rate_per_second: 100 });
  // A player who has the bonus already returns what was reserved.
  expect((await slow.grant(template_id, taken)).status).toBe(201);
  const others = await other.client.players(40);
  const other_id = await reserved(other, others, {
    template_id: await other.template(),
    rate_per_second: 40,
  });
  await slow.sql.begin(async (tx) => {
    await tx`select from bonus_budgets where template_id = ${template_id} for update`;
    // All three are released in one batch, and wait together for the budget of the one that returns what was reserved.
    await Promise.all([release(slow, slow_id, 1_000), release(other, other_id)]);
    const begun_ms = performance.now();
    await other.reaches(other_id, ({ status }) => status === 'issued');
    expect(performance.now() - begun_ms).toBeLessThan(PROCESSORS.lock_ms);
    expect(await countOf(slow, slow_id, 'reserved')).toBe(3);
  });
  const done = await slow.reaches(slow_id, ({ status }) => status === 'issued');
  expect(done.stats).toMatchObject({ granted: 2, skipped: 1 });
  await consistent(slow, slow_id);
  await consistent(other, other_id);
});
