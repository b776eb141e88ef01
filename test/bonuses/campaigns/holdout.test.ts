import { afterAll, beforeAll, expect, it } from 'vitest';
import { isHeldOut } from '../../../src/engage/experiments/draw.ts';
import type { TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { campaignsFixture, consistent } from './campaigns-fixture.ts';

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
