import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { until } from '../../engines/until.ts';
import type { TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { placed, type Fields } from '../identity/operator.ts';
import { TierClient } from './tier-client.ts';

let service: TestService;
let client: TierClient;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(() => service.close());
beforeEach(async () => {
  client = await TierClient.open(service);
});

const GOLD = {
  code: 'gold',
  name: 'Gold',
  rank: 30,
  color: '#D4AF37',
  glyph: '★',
  requirements: { lifetime_deposit_subunit: 100_000, lifetime_wagered_subunit: 500_000, min_days_active: 30 },
  demotion: { inactivity_days: 90, grace_days: 7 },
  perks: { cashback_pct: 2.5, dedicated_host: true, priority_kyc: false, lounge: 'A' },
  is_active: true,
};

it('a tier is stored as it was sent, and what was left out has its default', async () => {
  const { status, data } = await client.api('POST', '/v1/vip-tiers', GOLD);
  expect(status).toBe(201);
  expect(data).toMatchObject({ ...GOLD, tenant_id: client.tenant.tenant_id });
  const least = await client.api('POST', '/v1/vip-tiers', { code: 'a_1', name: 'A', rank: 0 });
  expect(least.data).toMatchObject({
    requirements: { lifetime_deposit_subunit: 0, lifetime_wagered_subunit: 0, min_days_active: 0 },
    demotion: null,
    perks: {},
    color: null,
    glyph: null,
    is_active: true,
  });
  const listed = await client.api('GET', '/v1/vip-tiers?limit=1');
  expect(listed.data).toEqual([least.data]);
  const { next_cursor } = (listed as unknown as { meta: { next_cursor: string } }).meta;
  const rest = await client.api('GET', `/v1/vip-tiers?cursor=${next_cursor}`);
  expect(rest.data).toEqual([data]);
  expect(rest).toMatchObject({ meta: { next_cursor: null } });
});

it('what cannot be a tier is refused', async () => {
  await client.api('POST', '/v1/vip-tiers', GOLD);
  const refused = async (change: object) => {
    const { status, error } = await client.api('POST', '/v1/vip-tiers', { ...GOLD, ...change });
    return `${status} ${error.code}`;
  };
  expect(await refused({ rank: 31 })).toBe('409 VIP_TIER_CODE_TAKEN');
  expect(await refused({ code: 'other' })).toBe('409 VIP_TIER_RANK_TAKEN');
  for (const wrong of [
    { code: 'Gold' },
    { code: 'x'.repeat(41) },
    { rank: -1 },
    { rank: 1.5 },
    { name: '' },
    { color: 'gold' },
    { requirements: { min_days_active: -1 } },
    { requirements: { lifetime: 5 } },
    { demotion: { inactivity_days: 0 } },
    { perks: { cashback_pct: '2' } },
    { surplus: 1 },
  ]) {
    expect(await refused({ code: 'other', rank: 40, ...wrong }), JSON.stringify(wrong)).toBe(
      '422 VALIDATION_ERROR',
    );
  }
  expect(await refused({ id: 'x' })).toBe('422 FIELD_NOT_WRITABLE');
});

it('a PATCH merges objects, keeps the code, and needs a free rank', async () => {
  const { data } = await client.api('POST', '/v1/vip-tiers', GOLD);
  const path = `/v1/vip-tiers/${String(data['id'])}`;
  const patch = {
    requirements: { min_days_active: 5 },
    demotion: { inactivity_days: null },
    perks: { lounge: null, cashback_pct: 3 },
  };
  const changed = await client.api('PATCH', path, patch);
  expect(changed.data).toMatchObject({
    requirements: { ...GOLD.requirements, min_days_active: 5 },
    demotion: { inactivity_days: null, grace_days: 7 },
  });
  expect(changed.data['perks']).toEqual({ cashback_pct: 3, dedicated_host: true, priority_kyc: false });
  expect((await client.api('PATCH', path, { demotion: null })).data['demotion']).toBeNull();
  expect((await client.api('PATCH', path, { code: 'x' })).error.code).toBe('FIELD_NOT_WRITABLE');
  await client.tier('silver', 20, 0);
  expect((await client.api('PATCH', path, { rank: 20 })).error.code).toBe('VIP_TIER_RANK_TAKEN');
  // A rank of a tier that is not active is free.
  expect((await client.api('PATCH', path, { rank: 20, is_active: false })).status).toBe(200);
  expect((await client.api('PATCH', path, { is_active: true })).error.code).toBe('VIP_TIER_RANK_TAKEN');
  const unknown = await client.api('PATCH', '/v1/vip-tiers/0198c7a0-0000-7000-8000-000000000000', {
    name: 'x',
  });
  expect(`${unknown.status} ${unknown.error.code}`).toBe('404 VIP_TIER_NOT_FOUND');
});

const player = async (name: string, stakes: number) => {
  const { player_id } = await client.identify({ external_id: name, anonymous_id: name });
  if (stakes > 0) await client.fold(placed({ player_id }, `${name}-bet`, stakes));
  return player_id;
};

it('a new tier and lower requirements reach the players that are there already by the next sweep', async () => {
  const rich = await player('rich', 5_000);
  const poor = await player('poor', 10);
  await client.tier('bronze', 1, 0);
  const gold = await client.tier('gold', 3, 5_000);
  await client.settled();
  for (const id of [rich, poor]) {
    expect(await client.tierOf(id)).toMatchObject({ current_tier_code: null, history: [] });
  }
  await client.sweep(0);
  expect(await client.tierOf(rich)).toMatchObject({ current_tier_code: 'gold' });
  expect(await client.tierOf(poor)).toMatchObject({ current_tier_code: 'bronze' });
  await client.api('PATCH', `/v1/vip-tiers/${gold}`, { requirements: { lifetime_wagered_subunit: 10 } });
  await client.settled();
  expect(await client.tierOf(poor)).toMatchObject({ current_tier_code: 'bronze' });
  await client.sweep(0);
  expect(await client.tierOf(poor)).toMatchObject({ current_tier_code: 'gold' });
  // Higher requirements take nothing away.
  await client.api('PATCH', `/v1/vip-tiers/${gold}`, { requirements: { lifetime_wagered_subunit: 9_000 } });
  await client.settled();
  await client.sweep(0);
  expect(await client.tierOf(poor)).toMatchObject({ current_tier_code: 'gold' });
});

it('a deactivated tier loses its players soon after, and what they have earned above it is for the next sweep', async () => {
  const rich = await player('rich', 5_000);
  const poor = await player('poor', 10);
  await client.tier('bronze', 1, 0);
  await client.tier('silver', 2, 5_000);
  const gold = await client.tier('gold', 3, 5_000);
  await client.computes(rich, 'gold');
  await client.set(poor, { to_code: 'gold', reason: 'a guest' });
  await client.tier('diamond', 4, 5_000);
  await client.api('PATCH', `/v1/vip-tiers/${gold}`, { is_active: false });
  const { history } = await client.reaches(rich, 'silver');
  expect(history[0]).toMatchObject({ from_code: 'gold', to_code: 'silver', trigger: 'reset' });
  expect(history[0]?.context).toEqual({ cause: 'tier_deactivated' });
  await client.reaches(poor, 'bronze');
  await client.settled();
  expect(await client.tierOf(rich)).toMatchObject({ current_tier_code: 'silver' });
  await client.sweep(0);
  expect(await client.tierOf(rich)).toMatchObject({ current_tier_code: 'diamond' });
});

it('nobody goes on waiting for the checks of a deactivated tier, also whom it takes off another', async () => {
  const { tenant_id } = client.tenant;
  await client.api('PATCH', '/v1/tenant/config', { license_jurisdiction: 'ukgc' });
  const gold = await client.tier('gold', 1, 100);
  const host = await client.tier('host', 2, 1_000, { perks: { dedicated_host: true } });
  const id = await player('ann', 1_000);
  await client.computes(id, 'gold');
  expect(await client.tierOf(id)).toMatchObject({ current_tier_code: 'gold', pending_approval: 'host' });
  // Both are found by one look.
  const sql = service.platform.postgres.service;
  await sql`update vip_tiers set is_active = false where tenant_id = ${tenant_id} and tier_id = ${host}`;
  await client.api('PATCH', `/v1/vip-tiers/${gold}`, { is_active: false });
  expect(await client.reaches(id, null)).toMatchObject({ pending_approval: null });
});

it('a reset goes to the lowest tier when none is earned, and to none when there is none', async () => {
  const id = await player('ann', 0);
  const low = await client.tier('low', 1, 100);
  const high = await client.tier('high', 2, 200);
  await client.set(id, { to_code: 'high', reason: 'a guest' });
  await client.api('PATCH', `/v1/vip-tiers/${high}`, { is_active: false });
  await client.reaches(id, 'low');
  await client.api('PATCH', `/v1/vip-tiers/${low}`, { is_active: false });
  const { history } = await client.reaches(id, null);
  expect(history[0]).toMatchObject({ from_code: 'low', to_code: null, trigger: 'reset' });
});

it('viewers read, editors change; each change is in the audit log', async () => {
  const { platform } = service;
  const { tenant_id } = client.tenant;
  const session = async (role: string) => {
    const user_id = `${role}-${tenant_id}`;
    await client.internal('/v1/internal/memberships', { tenant_id, user_id, role });
    const { data } = await client.internal('/v1/internal/dev-sessions', { user_id });
    return String(data['session_token']);
  };
  const [viewer, editor] = [await session('viewer'), await session('editor')];
  const id = await player('ann', 0);
  expect((await client.api('POST', '/v1/vip-tiers', GOLD, viewer)).status).toBe(403);
  expect((await client.api('POST', '/v1/vip-tiers', GOLD, editor)).status).toBe(201);
  expect((await client.api('GET', '/v1/vip-tiers', undefined, viewer)).status).toBe(200);
  const body = { to_code: 'gold', reason: 'welcome' };
  expect((await client.api('POST', `/v1/players/${id}/tier`, body, viewer)).status).toBe(403);
  expect((await client.api('GET', `/v1/players/${id}/tier`, undefined, viewer)).status).toBe(200);
  expect((await client.api('POST', `/v1/players/${id}/tier`, body, editor)).status).toBe(200);
  const { data } = await client.api('GET', `/v1/audit-log?resource_id=${id}`);
  expect((data as unknown as Fields[])[0]).toMatchObject({
    before: { current_tier_code: null, tier_promoted_at: null },
    after: { current_tier_code: 'gold' },
  });
  await until(
    async (saw) =>
      saw(
        (await platform.postgres.service`select from tier_requests where tenant_id = ${tenant_id}`).length,
      ) === 0,
  );
});

it('a tier is read with its version, and a change of another version is refused', async () => {
  const id = await client.tier('silver', 1, 100);
  const call = (method: string, headers: Record<string, string> = {}, body?: object) =>
    fetch(`${service.base_url}/v1/vip-tiers/${id}`, {
      method,
      headers: {
        authorization: `Bearer ${client.tenant.session_token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const read = await call('GET');
  const etag = read.headers.get('etag') ?? '';
  expect(await read.json()).toMatchObject({ data: { id, code: 'silver', rank: 1 } });
  const changed = await call('PATCH', { 'if-match': etag }, { name: 'Silver' });
  expect(changed.status).toBe(200);
  expect(changed.headers.get('etag')).not.toBe(etag);
  const late = await call('PATCH', { 'if-match': etag }, { name: 'late' });
  expect(late.status).toBe(412);
  expect(await late.json()).toMatchObject({
    error: { code: 'PRECONDITION_FAILED', details: { current: { name: 'Silver' } } },
  });
  const other = await TierClient.open(service);
  expect((await other.api('GET', `/v1/vip-tiers/${id}`)).error.code).toBe('VIP_TIER_NOT_FOUND');
});

it('who moved between tiers is listed page by page, the newest first, within a time', async () => {
  await client.tier('bronze', 1, 1_000_000);
  await client.tier('silver', 2, 2_000_000);
  const { player_id } = await client.identify({ external_id: 'vip-1' });
  const moved = ['bronze', 'silver', 'bronze', 'silver', 'bronze'];
  for (const to_code of moved) await client.set(player_id, { to_code, reason: `to ${to_code}` });
  const page = async (query: string) => {
    const { data, meta } = (await client.api('GET', `/v1/tier-changes?${query}`)) as unknown as {
      data: Fields[];
      meta: { next_cursor: string | null };
    };
    return { data, next: meta.next_cursor };
  };
  const found: Fields[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const { data, next } = await page(`limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`);
    expect(data.length).toBeLessThanOrEqual(2);
    found.push(...data);
    cursor = next;
  }
  expect(found.map(({ to_code }) => to_code)).toEqual(moved.toReversed());
  expect(found[0]).toMatchObject({
    player_id,
    player_external_id: 'vip-1',
    from_code: 'silver',
    trigger: 'manual',
    context: { reason: 'to bronze' },
  });
  const last = String(found[0]?.['occurred_at']);
  const before = await page(`to=${last}`);
  const since = await page(`from=${last}`);
  expect(before.data.length + since.data.length).toBe(moved.length);
  expect(since.data.map(({ to_code }) => to_code)).toContain('bronze');
  const other = await TierClient.open(service);
  expect((await other.api('GET', '/v1/tier-changes')).data).toEqual([]);
  expect(
    (await client.api('GET', `/v1/tier-changes?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z`)).status,
  ).toBe(422);
});
