import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { selectOpenCampaigns } from '../../../src/bonuses/campaigns/work-queries.ts';
import type { Body } from '../../engage/messaging/messaging-client.ts';
import { internally } from '../../engines/http-client.ts';
import type { TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import {
  campaignsFixture,
  consistent,
  countOf,
  type CampaignsFixture,
  type ShownCampaign,
} from './campaigns-fixture.ts';

let service: TestService;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(async () => service?.close());

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const COST = 1_000;

interface Paced extends ShownCampaign {
  daily_budget: {
    day_from: string;
    day_to: string;
    used_base: number;
    waiting: number;
    waits_until: string | null;
  } | null;
}

/** Campaigns of a tenant by whose clocks it is between 12 and 13 o'clock: no day ends during a test. */
async function atNoon(): Promise<CampaignsFixture> {
  const on = await campaignsFixture(service);
  const ahead = 12 - new Date().getUTCHours();
  // The sign of these names is the other way round.
  const timezone = ahead === 0 ? 'UTC' : `Etc/GMT${ahead > 0 ? '-' : '+'}${Math.abs(ahead)}`;
  const config = { reporting: { timezone } };
  const { status, error } = await on.client.api('PATCH', '/v1/tenant/config', { config });
  expect(status, JSON.stringify(error)).toBe(200);
  return on;
}

/** A campaign of gifts for so many new players, issued. */
async function issued(on: CampaignsFixture, members: number, rest: Body) {
  const players = await on.client.players(members);
  const segment_id = await on.client.segment(players);
  const { data, status, error } = await on.create({ template_id: await on.template(), segment_id, ...rest });
  expect(status, JSON.stringify(error)).toBe(201);
  await on.issue(data.id);
  return { id: data.id, players };
}

const waits = (on: CampaignsFixture, id: string, granted: number, waiting: number) =>
  on.reaches(
    id,
    (one) => one.stats.granted === granted && (one as Paced).daily_budget?.waiting === waiting,
  ) as Promise<Paced>;

/** All that has happened was a day earlier. */
async function aDayLater(on: CampaignsFixture, id: string): Promise<void> {
  await on.sql.begin(async (tx) => {
    await tx`
      update bonus_campaign_rows set assigned_at = assigned_at - interval '24 hours' where campaign_id = ${id}`;
    await tx`
      update bonus_campaign_budgets set day_from = day_from - interval '24 hours', day_to = day_to - interval '24 hours',
        waits_until = waits_until - interval '24 hours' where campaign_id = ${id}`;
  });
}

/** What the day's budget holds, and what the members hold who were reserved in the day. */
async function exact(on: CampaignsFixture, id: string): Promise<void> {
  await consistent(on, id);
  const [row] = await on.sql<{ used: string; held: string }[]>`
    select b.day_used_base::text as used, (
      select coalesce(sum(case when r.status = 'sent' then ${COST} else r.cost_base end), 0)::text
      from bonus_campaign_rows r where r.campaign_id = b.campaign_id and r.assigned_at >= b.day_from
        and r.status in ('reserved', 'sent', 'granted')) as held
    from bonus_campaign_budgets b where b.campaign_id = ${id}`;
  expect(row?.used).toBe(row?.held);
}

describe('a daily budget', () => {
  it('lets members wait for the next day, and holds up no other campaign', async () => {
    const on = await atNoon();
    const { id } = await issued(on, 8, { daily_budget_base: 3 * COST, pace: 'asap' });
    const first = await waits(on, id, 3, 5);
    expect(first).toMatchObject({
      status: 'issuing',
      stats: { pending: 5, granted: 3, skipped: 0, failed: 0 },
      daily_budget_base: 3 * COST,
      pace: 'asap',
      daily_budget: { used_base: 3 * COST, waits_until: first.daily_budget?.day_to },
      last_error: null,
    });
    const { day_from, day_to } = first.daily_budget ?? { day_from: '', day_to: '' };
    expect(Date.parse(day_to) - Date.parse(day_from)).toBe(DAY_MS);
    // Nobody looks at it until then.
    const open = async (now: Date) =>
      (
        await selectOpenCampaigns(on.sql, {
          after: '00000000-0000-0000-0000-000000000000',
          limit: 1_000,
          now,
        })
      )
        .filter((one) => one.campaign_id === id)
        .map(({ has_work }) => has_work);
    expect(await open(new Date())).toEqual([false]);
    expect(await open(new Date(Date.parse(day_to) - 1))).toEqual([false]);
    expect(await open(new Date(day_to))).toEqual([true]);
    const other = await issued(on, 4, {});
    await on.reaches(other.id, ({ status }) => status === 'issued');
    await exact(on, id);
    await aDayLater(on, id);
    await waits(on, id, 6, 2);
    await exact(on, id);
    await aDayLater(on, id);
    const done = (await on.reaches(id, ({ status }) => status === 'issued')) as Paced;
    expect(done).toMatchObject({
      stats: { pending: 0, granted: 8 },
      daily_budget: { used_base: 2 * COST, waiting: 0 },
    });
    await exact(on, id);
  });

  it('is used as the day passes when it is even', async () => {
    const on = await atNoon();
    const { id } = await issued(on, 10, { daily_budget_base: 10 * COST });
    const shown = await waits(on, id, 5, 5);
    expect(shown.pace).toBe('even');
    const { day_from, waits_until, used_base } = shown.daily_budget ?? { day_from: '', used_base: 0 };
    expect(used_base).toBe(5 * COST);
    // Six of ten are allowed in the five minutes in which six tenths of the day are over.
    expect(Date.parse(waits_until ?? '')).toBe(Date.parse(day_from) + 0.6 * DAY_MS - 240_000);
    await exact(on, id);
    const ended = await on.patch(id, { status: 'cancelled' });
    expect(ended.status).toBe(200);
    const done = await on.reaches(id, ({ stats }) => stats.pending === 0);
    expect(done.skips).toEqual({ CANCELLED: 5 });
    await exact(on, id);
  });

  it('is used as the profile of the project says', async () => {
    const on = await atNoon();
    const { tenant_id, project_id } = on.tenant;
    const { data } = await on.client.api<{ config: { reporting: { timezone: string } } }>(
      'GET',
      '/v1/tenant/config',
    );
    // Four fifths of what happens is over at noon.
    const hours = Array.from({ length: 24 }, (_, hour) => (hour === 8 ? 80 : hour === 20 ? 20 : 0));
    await on.sql`
      insert into activity_profiles (tenant_id, project_id, timezone, hours, counted_at)
      values (${tenant_id}, ${project_id}, ${data.config.reporting.timezone}, ${`{${hours.join(',')}}`}::text::bigint[],
        now())`;
    const { id } = await issued(on, 10, { daily_budget_base: 10 * COST });
    const shown = await waits(on, id, 8, 2);
    const { day_from, waits_until } = shown.daily_budget ?? { day_from: '' };
    expect(Date.parse(waits_until ?? '')).toBe(Date.parse(day_from) + 20.5 * HOUR_MS - 300_000);
    await exact(on, id);
    await on.patch(id, { status: 'cancelled' });
    await on.reaches(id, ({ stats }) => stats.pending === 0);
  });

  it('gets back what grants hold that fail on the same day', async () => {
    const on = await atNoon();
    const adapter = await on.adapter();
    await adapter.fake.control({ answer: { status: 422, body: '{"error":{"code":"NO"}}' } });
    const { id } = await issued(on, 5, { daily_budget_base: 2 * COST, pace: 'asap' });
    const done = (await on.reaches(id, ({ status }) => status === 'issued')) as Paced;
    expect(done.stats).toEqual({ pending: 0, granted: 0, skipped: 0, failed: 5 });
    expect(done.daily_budget).toMatchObject({ used_base: 0, waiting: 0 });
    await exact(on, id);
    await adapter.close();
  });

  it('skips members who cost more than a day, and a dry run says so', async () => {
    const on = await atNoon();
    const players = await on.client.players(3);
    const segment_id = await on.client.segment(players);
    const template_id = await on.template();
    const { data } = await on.create({ template_id, segment_id, daily_budget_base: COST - 1 });
    const dry = await on.issue(data.id, {}, '?dry_run=true');
    expect(dry.data).toMatchObject({ members: 3, would_grant: 0, skips: { BUDGET: 3 } });
    await on.issue(data.id);
    const done = await on.reaches(data.id, ({ status }) => status === 'issued');
    expect(done).toMatchObject({ stats: { granted: 0, skipped: 3 }, skips: { BUDGET: 3 } });
    await exact(on, data.id);
  });

  it('leaves a member who is asked for out of turn pending when the day has no room', async () => {
    const on = await atNoon();
    const { id, players } = await issued(on, 4, { daily_budget_base: 2 * COST, pace: 'asap' });
    await waits(on, id, 2, 2);
    const rows = await on.sql<{ player_id: string }[]>`
      select player_id from bonus_campaign_rows where campaign_id = ${id} and status = 'pending'`;
    expect(players).toContain(rows[0]?.player_id);
    const { body } = await internally(service, 'bonus-grant', {
      tenant_id: on.tenant.tenant_id,
      campaign_id: id,
      player_id: rows[0]?.player_id,
    });
    expect(body['data']).toEqual({ grant_id: null, outcome: 'pending' });
    expect(await countOf(on, id, 'pending')).toBe(2);
    await exact(on, id);
    await on.patch(id, { status: 'cancelled' });
    await on.reaches(id, ({ stats }) => stats.pending === 0);
  });

  it('is checked when it is written, and may change until the issue', async () => {
    const on = await atNoon();
    const segment_id = await on.client.segment(await on.client.players(1));
    const template_id = await on.template();
    const create = (rest: Body) => on.create({ template_id, segment_id, ...rest });
    for (const rest of [{ daily_budget_base: 0 }, { daily_budget_base: 1.5 }, { pace: 'slow' }])
      expect((await create(rest)).status).toBe(422);
    const { data } = await create({});
    expect(data).toMatchObject({ daily_budget_base: null, pace: 'even', daily_budget: null });
    const large = '9007199254740993';
    const changed = await on.patch(data.id, { daily_budget_base: large, pace: 'asap' });
    expect(changed.data).toMatchObject({ daily_budget_base: large, pace: 'asap' });
    await on.issue(data.id);
    await on.reaches(data.id, ({ status }) => status === 'issued');
    expect((await on.patch(data.id, { daily_budget_base: 5 })).error?.code).toBe(
      'BONUS_CAMPAIGN_INVALID_STATUS',
    );
  });
});
