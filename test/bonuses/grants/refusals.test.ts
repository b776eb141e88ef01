import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { grantsFixture, type GrantsFixture } from './grants-fixture.ts';

let service: TestService;
let on: GrantsFixture;
let casino: Awaited<ReturnType<GrantsFixture['adapter']>>;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(async () => service?.close());
beforeEach(async () => {
  on = grantsFixture(service, await service.newTenant());
  casino = await on.adapter();
});
afterEach(async () => casino?.close());

it('a webhook that refuses a bonus says why, and the grant shows it until the bonus exists after all', async () => {
  await casino.fake.control({
    answer: { status: 201, body: JSON.stringify({ platform_bonus_id: 'pb-1', status: 'pending' }) },
  });
  const { id } = (await on.grant(await on.template(), await on.player())).data;
  const refuse = (data: object) =>
    on.event(casino, 'bonus.rejected', id, { platform_bonus_id: 'pb-1', data });
  const why = { code: 'ACCOUNT_CLOSED', message: 'the account is closed' };
  for (const [data, paths] of [
    [{}, ['data.code', 'data.message']],
    [{ code: why.code }, ['data.message']],
    [{ ...why, code: null }, ['data.code']],
  ] as const) {
    const { status, body } = await refuse(data);
    expect([status, body['code']]).toEqual([422, 'VALIDATION_ERROR']);
    const { issues } = body['details'] as { issues: { path: string }[] };
    expect(issues.map(({ path }) => path)).toEqual(paths);
  }
  expect(await on.get(id)).toMatchObject({ status: 'pending', last_error: null });
  expect((await refuse(why)).body).toMatchObject({ applied: true, new_status: 'failed' });
  expect(await on.get(id)).toMatchObject({
    status: 'failed',
    status_reason: why.code,
    last_error: { ...why, at: expect.stringMatching(/^\d{4}-.*Z$/) as string },
  });
  await on.event(casino, 'bonus.credited', id, { platform_bonus_id: 'pb-1' });
  expect(await on.get(id)).toMatchObject({ status: 'active', last_error: null });
});
