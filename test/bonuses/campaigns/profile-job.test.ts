import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { selectProfile } from '../../../src/bonuses/campaigns/daily-budget-queries.ts';
import { runProfilesJob } from '../../../src/bonuses/campaigns/profile-job.ts';
import type { TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { campaignsFixture } from './campaigns-fixture.ts';

let service: TestService;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(async () => service?.close());

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

it('counts the profiles of projects that need one, by the clocks of their tenants, once a day', async () => {
  const on = await campaignsFixture(service);
  const idle = await campaignsFixture(service);
  const config = { reporting: { timezone: 'Asia/Kolkata' } };
  await on.client.api('PATCH', '/v1/tenant/config', { config });
  const { tenant_id, project_id } = on.tenant;
  // Of each of the last nine days: 200 players at 20:10 and 100 at 21:10 in Kolkata, each with two events, and mail that is opened.
  const today_ms = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const players = Array.from({ length: 200 }, () => randomUUID());
  const lines = [2, 3, 4, 5, 6, 7, 8, 9].flatMap((day) =>
    players.flatMap((player_id, n) =>
      [
        { minutes: 14 * 60 + 40, event: 'login' },
        { minutes: 14 * 60 + 41, event: 'bet_placed' },
        ...(n < 100 ? [{ minutes: 15 * 60 + 40, event: 'page_view' }] : []),
        { minutes: 300, event: 'email_opened' },
      ].map(({ minutes, event }) => {
        const at = new Date(today_ms - day * DAY_MS + minutes * 60_000).toISOString();
        const occurred_at = at.replace('T', ' ').replace('Z', '');
        const ids = { tenant_id, project_id, player_id, ingestion_id: randomUUID() };
        return JSON.stringify({ ...ids, event, occurred_at, received_at: occurred_at, properties: '{}' });
      }),
    ),
  );
  const { platform } = service;
  await platform.clickhouse.insertLines('events', lines, randomUUID());
  const segment_id = await on.client.segment(await on.client.players(1));
  const template_id = await on.template();
  const made = await on.create({ template_id, segment_id, daily_budget_base: 5_000 });
  expect(made.status).toBe(201);
  const now = { ms: Date.now() };
  const deps = { ...platform, clock: { now_ms: () => now.ms } };
  const run = () => runProfilesJob(deps, new AbortController().signal);
  const stored = () => selectProfile(on.sql, on.tenant);
  await run();
  const expected = Array.from({ length: 24 }, (_, hour) => (hour === 20 ? 1_600 : hour === 21 ? 800 : 0));
  expect(await stored()).toEqual({ timezone: 'Asia/Kolkata', hours: expected });
  expect(await selectProfile(idle.sql, idle.tenant)).toBeUndefined();
  // It is fresh for a day, and counted again at once by other clocks.
  await on.sql`update activity_profiles set hours = null where project_id = ${project_id}`;
  await run();
  expect((await stored())?.hours).toBeNull();
  await on.client.api('PATCH', '/v1/tenant/config', { config: { reporting: { timezone: 'UTC' } } });
  await run();
  const shifted = Array.from({ length: 24 }, (_, hour) => (hour === 14 ? 1_600 : hour === 15 ? 800 : 0));
  expect(await stored()).toEqual({ timezone: 'UTC', hours: shifted });
  await on.sql`update activity_profiles set hours = null where project_id = ${project_id}`;
  now.ms += DAY_MS;
  await run();
  expect((await stored())?.hours).toEqual(shifted);
  // Of a project with too little activity all hours are equal, and that is stored, too.
  const other = await idle.create({
    template_id: await idle.template(),
    segment_id: await idle.client.segment(await idle.client.players(1)),
    daily_budget_base: 5_000,
  });
  expect(other.status).toBe(201);
  await run();
  expect(await selectProfile(idle.sql, idle.tenant)).toEqual({ timezone: 'UTC', hours: null });
});
