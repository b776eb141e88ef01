import { afterAll, beforeAll, expect, it } from 'vitest';
import { platformsOpener } from '../../../src/app/bonus-platforms.ts';
import { reconcileBonuses, type ReconcileOptions } from '../../../src/bonuses/reconcile/reconcile.ts';
import { readConfig } from '../../../src/config.ts';
import type { TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { NO_FAULTS } from '../fake-platform.ts';
import { grantsFixture, type GrantsFixture } from '../grants/grants-fixture.ts';

let service: TestService;
let on: GrantsFixture;
beforeAll(async () => {
  service = await sharedService();
  on = grantsFixture(service);
});
afterAll(async () => service?.close());

async function reconcile(tenant_id = service.tenant_id): Promise<Record<string, number>> {
  const response = await fetch(`${service.base_url}/v1/internal/bonus-reconcile`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-internal-secret': service.internal_secret },
    body: JSON.stringify({ tenant_id }),
  });
  const { data, error } = (await response.json()) as { data: Record<string, number>; error: unknown };
  expect(response.status, JSON.stringify(error)).toBe(200);
  return data;
}

const NOTHING = { checked: 0, applied: 0, mismatched: 0, missing: 0, failed: 0, incomplete: 0 };

/** Ends all live grants, so that the next test begins with none. */
const endAll = () => on.sql`
  update bonus_grants set status = 'expired', ended_at = now(), next_attempt_at = null where status in ('pending', 'active')`;

/** A run as the daily job has it, in a process of its own: what calls have failed before does not hold it up. */
async function runJob(options: ReconcileOptions) {
  const config = readConfig({ DATA_DIR: service.data_dir });
  const open = platformsOpener(config, service.platform, { on: () => Promise.resolve() } as never);
  return reconcileBonuses({ ...service.platform, platforms: await open() }, options);
}

/** A platform, and an active grant on it. */
async function granted(rest: Record<string, unknown> = {}) {
  await endAll();
  const casino = await on.adapter(rest);
  const template_id = await on.template({ time_limit_hours: 1 });
  const { data, status } = await on.grant(template_id, await on.player());
  expect([status, data.status]).toEqual([201, 'active']);
  const close = async () => {
    await on.sql`update adapters set is_active = false where slug = ${casino.slug}`;
    await casino.close();
  };
  return { ...casino, id: data.id, close };
}

it('an end that no webhook has reported is applied, once', async () => {
  const { fake, id, close } = await granted();
  expect(await reconcile()).toEqual({ ...NOTHING, checked: 1 });
  await fake.control({ webhooks_url: null });
  await fake.move({ grant_id: id, event: 'bonus.completed', data: { released_amount: 700 } });
  expect((await on.get(id)).status).toBe('active');
  expect(await reconcile()).toEqual({ ...NOTHING, checked: 1, applied: 1 });
  const shown = await on.get(id);
  expect(shown.status).toBe('completed');
  expect(shown.history.at(-1)).toMatchObject({ event: 'bonus.completed', source: 'reconciliation' });
  expect(await reconcile()).toEqual(NOTHING);
  await on.budgets();
  await close();
});

it('an active bonus that its platform does not know is marked for review, and stays', async () => {
  const { fake, id, close } = await granted();
  await fake.control({ faults: { lie: 1 } });
  expect(await reconcile()).toEqual({ ...NOTHING, checked: 1, missing: 1 });
  expect(await on.get(id)).toMatchObject({ status: 'active', needs_review: true });
  await fake.control({ faults: NO_FAULTS });
  await close();
});

it('a platform that cannot be asked leaves the bonus until its time is over for a day', async () => {
  const capabilities = { grant: true, cancel: true, status: false, kyc: false, completion: 'platform' };
  const { id, close } = await granted({ capabilities });
  expect(await reconcile()).toEqual({ ...NOTHING, checked: 1 });
  await on.sql`update bonus_grants set expires_at = now() - interval '23 hours' where grant_id = ${id}`;
  expect(await reconcile()).toEqual({ ...NOTHING, checked: 1 });
  await on.sql`update bonus_grants set expires_at = now() - interval '25 hours' where grant_id = ${id}`;
  expect(await reconcile()).toEqual({ ...NOTHING, checked: 1, applied: 1 });
  const shown = await on.get(id);
  expect(shown.status).toBe('expired');
  expect(shown.history.at(-1)).toMatchObject({ event: 'bonus.expired', source: 'clock' });
  await close();
});

it('nothing is asked about a grant of which nothing was sent', async () => {
  await endAll();
  const casino = await on.adapter();
  // Nothing is tried again by itself.
  const answer = { status: 429, body: '', headers: { 'retry-after': '3600' } };
  await casino.fake.control({ answer });
  const template_id = await on.template();
  expect((await on.grant(template_id, await on.player())).status).toBe(503);
  await on.sql`
    update bonus_grants set created_at = now() - interval '16 minutes', next_attempt_at = now() + interval '1 hour'
    where template_id = ${template_id}`;
  await casino.fake.settle();
  expect(await reconcile()).toEqual(NOTHING);
  expect((await casino.fake.ledger()).calls).toEqual([]);
  await on.sql`update adapters set is_active = false where slug = ${casino.slug}`;
  await casino.close();
});

it('figures that differ are counted, of grants and of budgets', async () => {
  const { fake, id, close } = await granted();
  await fake.control({ webhooks_url: null });
  await fake.move({ grant_id: id, event: 'bonus.wagered', data: { total_wagered: 5_000 } });
  expect(await reconcile()).toEqual({ ...NOTHING, checked: 1, mismatched: 1 });
  // 1 % is not yet apart.
  await on.sql`update bonus_grants set wagering_progress = 4950 where grant_id = ${id}`;
  expect(await reconcile()).toEqual({ ...NOTHING, checked: 1 });
  // Where the platform's total is shown, what we count ourselves is compared, too.
  const counted = (sum: number) => on.sql`
    update bonus_grants set progress_source = 'platform', wagering_sum = ${sum} where grant_id = ${id}`;
  await counted(400_000);
  expect(await reconcile()).toEqual({ ...NOTHING, checked: 1, mismatched: 1 });
  await counted(495_000);
  expect(await reconcile()).toEqual({ ...NOTHING, checked: 1 });
  await on.sql`
    update bonus_budgets set used_base = used_base + 1
    where template_id = (select template_id from bonus_grants where grant_id = ${id})`;
  expect(await reconcile()).toEqual({ ...NOTHING, checked: 1, mismatched: 1 });
  await on.sql`
    update bonus_budgets set used_base = used_base - 1
    where template_id = (select template_id from bonus_grants where grant_id = ${id})`;
  expect((await on.get(id)).status).toBe('active');
  await close();
});

it('a platform that does not answer stops no other, and what was stopped goes on where it was', async () => {
  const broken = await granted();
  const template_id = await on.template();
  await on.config({ grants_per_day: 1_000 });
  const player_id = await on.player();
  for (let i = 0; i < 30; i++) await on.grant(template_id, player_id);
  await broken.fake.control({ answer: { status: 500, body: 'no' } });
  await on.sql`update adapters set is_active = false where slug = ${broken.slug}`;
  const well = await on.adapter();
  const { status, data, error } = await on.grant(template_id, await on.player());
  expect(status, JSON.stringify(error)).toBe(201);
  await well.fake.control({ webhooks_url: null });
  await well.fake.move({ grant_id: data.id, event: 'bonus.lost' });
  const first = await reconcile();
  expect(first).toMatchObject({ checked: 1, applied: 1, mismatched: 0, missing: 0 });
  expect([first['failed'], first['incomplete']]).toEqual([24, 1]);
  expect((await on.get(data.id)).status).toBe('lost');
  // The daily one begins behind those that did not answer, and comes to them at its end.
  const { tenant_id } = service;
  const daily = () => runJob({ tenant_id });
  expect(await daily()).toEqual({ ...NOTHING, failed: 23, incomplete: 1 });
  await broken.fake.control({ answer: null });
  expect(await daily()).toEqual({ ...NOTHING, checked: 31 });
  expect(await on.sql`select from bonus_reconcile_positions`).toHaveLength(0);
  // One that is cut is gone on with, and its next one has nothing left.
  expect(await runJob({ tenant_id, limit_ms: -1 })).toEqual({ ...NOTHING, incomplete: 1 });
  expect(await runJob({ scope: 'rest' })).toEqual({ ...NOTHING, checked: 31 });
  expect(await runJob({ scope: 'rest' })).toEqual(NOTHING);
  await broken.close();
  await on.sql`update adapters set is_active = false where slug = ${well.slug}`;
  await well.close();
});

it('a pending grant is left to the sender for a quarter of an hour, and another tenant is not looked at', async () => {
  await endAll();
  const casino = await on.adapter();
  await casino.fake.control({ faults: { accept: 1 }, webhooks_url: null });
  const { data } = await on.grant(await on.template(), await on.player());
  expect(data.status).toBe('pending');
  expect(await reconcile()).toEqual(NOTHING);
  await on.sql`
    update bonus_grants set created_at = now() - interval '16 minutes', next_attempt_at = now() + interval '1 hour'
    where grant_id = ${data.id}`;
  expect(await reconcile('00000000-0000-4000-8000-000000000000')).toEqual(NOTHING);
  await casino.fake.move({ grant_id: data.id, event: 'bonus.credited' });
  expect(await reconcile()).toEqual({ ...NOTHING, checked: 1, applied: 1 });
  expect((await on.get(data.id)).status).toBe('active');
  await casino.close();
});
