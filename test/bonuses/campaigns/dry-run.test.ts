import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { DryRuns } from '../../../src/bonuses/campaigns/dry-run.ts';
import type { Body } from '../../engage/messaging/messaging-client.ts';
import type { TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { until } from '../../engines/until.ts';
import { campaignsFixture, type CampaignsFixture } from './campaigns-fixture.ts';

let service: TestService;
beforeAll(async () => {
  service = await sharedService();
});
afterEach(() => vi.restoreAllMocks());
afterAll(async () => service?.close());

const fresh = () => campaignsFixture(service);
const never = () => new AbortController().signal;
const BUSY = { code: 'SERVICE_UNAVAILABLE' };

/** A draft over a segment of so many players. */
async function draft(on: CampaignsFixture, members: number, template: Body = {}) {
  const segment_id = await on.client.segment([]);
  const { tenant_id, project_id } = on.tenant;
  await on.sql`
    with made as (
      insert into players (tenant_id, project_id, player_id, default_currency_code, created_at, updated_at)
      select ${tenant_id}::uuid, ${project_id}::uuid, gen_random_uuid(), 'EUR', now(), now() from generate_series(1, ${members}::integer)
      returning player_id)
    insert into segment_members (tenant_id, project_id, segment_id, player_id, entered_at)
    select ${tenant_id}::uuid, ${project_id}::uuid, ${segment_id}::uuid, player_id, now() from made`;
  const { data, error } = await on.create({ template_id: await on.template(template), segment_id });
  expect(error).toBeUndefined();
  return { tenant_id, project_id, campaign_id: data.id };
}

/** Holds every transaction of requests until the gate is opened. */
function gate() {
  const { postgres } = service.platform;
  const work = postgres.asTenant.bind(postgres);
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  const calls = vi.spyOn(postgres, 'asTenant').mockImplementation(async (tenant_id, body) => {
    await opened;
    return work(tenant_id, body);
  });
  return { calls, open };
}

it('a dry run of many pages counts every member once', async () => {
  const on = await fresh();
  const ref = await draft(on, 2_500);
  const { data } = await on.issue(ref.campaign_id, {}, '?dry_run=true');
  expect(data).toEqual({ members: 2_500, would_grant: 2_500, skips: {}, cost_base: 2_500_000 });
});

it('members whose losses were not asked for in time are asked about in the next page', async () => {
  const config = { percent: 10, window_days: 7, min_loss: 100, currency: 'EUR', cap_amount: 5_000 };
  const ref = await draft(await fresh(), 60, { type: 'cashback', config });
  // Eight at once, for two seconds: not all of them.
  vi.spyOn(service.platform.clickhouse, 'query').mockImplementation(async (_sql, asked) => {
    await new Promise((resolve) => setTimeout(resolve, 400));
    const { owners } = asked as { owners: string[] };
    return owners.map((owner) => ({ owner, stakes: '5000', payouts: '0' })) as never;
  });
  expect(await new DryRuns(service.platform).run(ref, never())).toEqual({
    members: 60,
    would_grant: 60,
    skips: {},
    cost_base: 30_000n,
  });
});

it('a dry run ends when its time is over', async () => {
  const ref = await draft(await fresh(), 1);
  const { platform } = service;
  await expect(new DryRuns(platform, 0).run(ref, never())).rejects.toMatchObject(BUSY);
  expect(await new DryRuns(platform).run(ref, never())).toMatchObject({ members: 1 });
});

it('a tenant has one dry run at a time, and all tenants leave a place', async () => {
  const [one, two, three] = await Promise.all([
    draft(await fresh(), 1),
    draft(await fresh(), 1),
    draft(await fresh(), 1),
  ]);
  const runs = new DryRuns(service.platform);
  const { open } = gate();
  const first = runs.run(one, never());
  await expect(runs.run(one, never())).rejects.toMatchObject(BUSY);
  const second = runs.run(two, never());
  await expect(runs.run(three, never())).rejects.toMatchObject(BUSY);
  open();
  expect([(await first).members, (await second).members]).toEqual([1, 1]);
  expect((await runs.run(three, never())).members).toBe(1);
  expect((await runs.run(one, never())).members).toBe(1);
});

it('a dry run whose caller has left goes on no further, and gives its place back', async () => {
  const on = await fresh();
  const [large, small] = [await draft(on, 20_000), await draft(on, 1)];
  const { postgres } = service.platform;
  const work = postgres.asTenant.bind(postgres);
  const calls = vi.spyOn(postgres, 'asTenant').mockImplementation(async (tenant_id, body) => {
    const result = await work(tenant_id, body);
    await new Promise((resolve) => setTimeout(resolve, 100));
    return result;
  });
  const leaving = new AbortController();
  const url = `${service.base_url}/v1/bonus-campaigns/${large.campaign_id}/issue?dry_run=true`;
  const headers = {
    authorization: `Bearer ${on.tenant.session_token}`,
    'x-project-id': on.tenant.project_id,
  };
  const asked = fetch(url, { method: 'POST', headers, signal: leaving.signal });
  await until('it has begun', (saw) => Promise.resolve(saw(calls.mock.calls.length) > 2));
  leaving.abort();
  await expect(asked).rejects.toThrow('aborted');
  await until('another one has its place', async (saw) => {
    const { status } = saw(await on.issue(small.campaign_id, {}, '?dry_run=true'));
    return status === 200;
  });
  // All pages of the first one are 40 transactions.
  expect(calls.mock.calls.length).toBeLessThan(20);
});
