import { afterAll, beforeAll, expect, it } from 'vitest';
import { isHeldOut } from '../../../src/engage/experiments/draw.ts';
import { call } from '../../engines/http-client.ts';
import type { TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { until } from '../../engines/until.ts';
import { campaignsFixture, consistent, countOf, holdRelease, release } from './campaigns-fixture.ts';

let service: TestService;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(async () => service?.close());

it('a held-out member gets no grant and holds nothing of the limits', async () => {
  const on = await campaignsFixture(service);
  const players = await on.client.players(40);
  const segment_id = await on.client.segment(players);
  const template_id = await on.template();
  const { data } = await on.create({ template_id, segment_id, holdout_percent: 30 });
  const held_out = players.filter((player_id) => isHeldOut(data.id, player_id, 30));
  const treated = players.length - held_out.length;
  const dry = await on.issue(data.id, {}, '?dry_run=true');
  const skips = { HOLDOUT: held_out.length };
  expect(dry.data).toEqual({ members: 40, would_grant: treated, skips, cost_base: treated * 1_000 });
  await on.issue(data.id);
  const done = await on.reaches(data.id, (one) => one.status === 'issued');
  expect(done).toMatchObject({
    stats: { pending: 0, granted: treated, skipped: held_out.length, failed: 0 },
    skips,
    cost: { granted_base: treated * 1_000 },
  });
  await consistent(on, data.id);
  const rows = await on.sql<{ player_id: string; code: string | null; is_drawn: boolean }[]>`
    select player_id, code, assigned_at is not null as is_drawn from bonus_campaign_rows
    where campaign_id = ${data.id}`;
  expect(
    rows
      .filter(({ code }) => code === 'HOLDOUT')
      .map(({ player_id }) => player_id)
      .toSorted(),
  ).toEqual(held_out.toSorted());
  expect(rows.every(({ is_drawn }) => is_drawn)).toBe(true);
  const grants = await on.sql<{ player_id: string }[]>`
    select player_id from bonus_grants where campaign_id = ${data.id}`;
  expect(grants.filter(({ player_id }) => (held_out as string[]).includes(player_id))).toEqual([]);
  const uplift = await on.client.api<Record<string, unknown>>('GET', `/v1/bonus-campaigns/${data.id}/uplift`);
  expect(uplift.data).toMatchObject({
    kind: 'bonus_campaign',
    held_out: { players: held_out.length },
    arms: [{ players: treated, verdict: { reason: 'window_open' } }],
  });
});

it('where the limits end, both arms end', async () => {
  const on = await campaignsFixture(service);
  const players = await on.client.players(60);
  const segment_id = await on.client.segment(players);
  const template_id = await on.template();
  const { data } = await on.create({ template_id, segment_id, holdout_percent: 50, max_grants: 10 });
  const dry = await on.issue(data.id, {}, '?dry_run=true');
  await on.issue(data.id);
  const done = await on.reaches(data.id, (one) => one.status === 'issued');
  const held_out = done.skips['HOLDOUT'] ?? 0;
  expect(done.stats).toMatchObject({ granted: 10, skipped: 50 });
  // As many of the held-out members are drawn as there are between those who get something: about ten.
  expect(held_out).toBeGreaterThan(0);
  expect(held_out).toBeLessThan(players.filter((player_id) => isHeldOut(data.id, player_id, 50)).length);
  expect(dry.data).toMatchObject({
    members: 60,
    would_grant: 10,
    skips: { HOLDOUT: held_out, BUDGET: 50 - held_out },
  });
  await consistent(on, data.id);
  const uplift = await on.client.api<Record<string, unknown>>('GET', `/v1/bonus-campaigns/${data.id}/uplift`);
  expect(uplift.data).toMatchObject({ held_out: { players: held_out }, arms: [{ players: 10 }] });
});

it('a person who is held out under one id gets nothing that was reserved under another, and counts once', async () => {
  const on = await campaignsFixture(service);
  const identify = async (ids: Record<string, string>) => {
    const url = `${service.base_url}/v1/players/identify`;
    const { data } = await call<{ player_id: string }>(url, on.tenant.api_key, { body: ids });
    return data.player_id;
  };
  const many = Array.from({ length: 24 }, (_, i) => i);
  const guests = await Promise.all(many.map((i) => identify({ anonymous_id: `guest ${i}` })));
  const known = await Promise.all(many.map((i) => identify({ external_id: `known ${i}` })));
  const template_id = await on.template();
  const segment_id = await on.client.segment([...guests, ...known]);
  const { data } = await on.create({ template_id, segment_id, holdout_percent: 50, rate_per_second: 100 });
  await on.config({ paused: true });
  await on.issue(data.id);
  await holdRelease(on, data.id);
  await on.config({ paused: false });
  const isOut = (player_id = '') => isHeldOut(data.id, player_id, 50);
  const treated = [...guests, ...known].filter((player_id) => !isOut(player_id)).length;
  await until('all are decided', async (saw) => saw(await countOf(on, data.id, 'reserved')) === treated);
  for (const i of many)
    expect(await identify({ anonymous_id: `guest ${i}`, external_id: `known ${i}` })).toBe(known[i]);
  await release(on, data.id);
  const done = await on.reaches(data.id, (one) => one.status === 'issued');
  const people = many.map((i) => [isOut(guests[i]), isOut(known[i])] as const);
  const held_out = people.filter(([guest, survivor]) => guest || survivor).length;
  expect(done.stats.granted).toBe(24 - held_out);
  const grants = await on.sql<{ player_id: string }[]>`
    select player_id from bonus_grants where campaign_id = ${data.id}`;
  for (const [i, [guest, survivor]] of people.entries())
    expect(grants.filter(({ player_id }) => player_id === known[i])).toHaveLength(guest || survivor ? 0 : 1);
  await consistent(on, data.id);
  // ClickHouse knows the merges a moment later.
  const uplift = await until('each person counts once', async (saw) => {
    const path = `/v1/bonus-campaigns/${data.id}/uplift`;
    const { data: report } = saw(await on.client.api<{ held_out: { players: number } }>('GET', path));
    return report.held_out.players === held_out ? report : undefined;
  });
  expect(uplift).toMatchObject({ in_two_arms: 0, arms: [{ players: 24 - held_out }] });
});
