import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { waitUntilCaughtUp } from '../../../src/analytics/caught-up.ts';
import { ProtectionSweep } from '../../../src/bonuses/grants/protection.ts';
import type { Body } from '../../engage/messaging/messaging-client.ts';
import type { TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { grantsFixture, type GrantsFixture } from './grants-fixture.ts';

let service: TestService;
let on: GrantsFixture;
beforeAll(async () => {
  service = await sharedService();
  on = grantsFixture(service, await service.newTenant());
});
afterAll(async () => service?.close());

const money = (transaction_id: string, amount: number, currency = 'EUR') => ({
  transaction_id,
  amount,
  currency,
});
const confirm = (player_id: string, transaction_id: string, amount = 5_000) =>
  on.client.event(player_id, 'deposit_confirmed', {
    ...money(transaction_id, amount),
    payment_method: 'card',
  });
const reverse = (player_id: string, transaction_id: string, amount: number, currency?: string) =>
  on.client.event(player_id, 'deposit_reversed', {
    ...money(transaction_id, amount, currency),
    reversal_id: randomUUID(),
  });

/** A grant for a deposit. */
async function grantFor(player_id: string, deposit_transaction_id: string): Promise<string> {
  const { status, data, error } = await on.grant(await on.template(), player_id, { deposit_transaction_id });
  expect(status, JSON.stringify(error)).toBe(201);
  expect(data).toMatchObject({ deposit_transaction_id, deposit_reversed_at: null, needs_review: false });
  return data.id;
}
const auditOf = async (id: string) =>
  (await on.client.api<Body[]>('GET', `/v1/audit-log?resource_id=${id}&action=update`)).data;
const marked = async () => (await service.platform.metrics.bonusDepositsReversed.get()).values[0]?.value ?? 0;

/** Everything that was sent is folded, and a round of the sweep has ended that began after it. */
async function swept(): Promise<void> {
  await waitUntilCaughtUp(service.platform, 30_000);
  const sweep = new ProtectionSweep(service.platform);
  while (await sweep.turn());
}

it('a live bonus is to be reviewed once its deposit is reversed to 0, whatever came first', async () => {
  const player_id = await on.player();
  const [late, early, other, partly, foreign] = ['late', 'early', 'other', 'partly', 'foreign'] as const;
  await confirm(player_id, late);
  const before = await marked();
  const of_late = await grantFor(player_id, late);
  // The reversal is known before the deposit, and both before the grant.
  await reverse(player_id, early, 5_000);
  await confirm(player_id, early);
  const of_early = await grantFor(player_id, early);
  const ended = await grantFor(player_id, late);
  await on.cancel(ended);
  const of_partly = await grantFor(player_id, partly);
  await confirm(player_id, partly);
  await reverse(player_id, partly, 4_999);
  const of_foreign = await grantFor(player_id, foreign);
  await confirm(player_id, foreign);
  await reverse(player_id, foreign, 5_000, 'USD');
  const of_unknown = await grantFor(player_id, other);
  await reverse(player_id, other, 5_000);
  // Two parts, from another player's account.
  await reverse(await on.player(), late, 2_000);
  await reverse(player_id, late, 3_000);
  await swept();

  for (const id of [of_late, of_early]) {
    const grant = await on.get(id);
    expect(grant).toMatchObject({ status: 'active', needs_review: true });
    expect(grant['deposit_reversed_at']).toEqual(expect.any(String));
    expect(await auditOf(id)).toMatchObject([
      {
        resource_type: 'bonus_grant',
        before: { needs_review: false },
        after: { needs_review: true },
      },
    ]);
  }
  for (const id of [of_partly, of_foreign, of_unknown, ended]) {
    expect(await on.get(id)).toMatchObject({ needs_review: false, deposit_reversed_at: null });
    expect((await auditOf(id)).filter(({ after }) => 'needs_review' in (after as Body))).toEqual([]);
  }
  expect((await marked()) - before).toBe(2);
  await swept();
  expect(await auditOf(of_late)).toHaveLength(1);
  expect((await marked()) - before).toBe(2);
  const { data: found } = await on.client.api<Body[]>('GET', '/v1/bonus-grants?needs_review=true');
  expect(new Set(found.map(({ id }) => id))).toEqual(new Set([of_late, of_early]));
});
