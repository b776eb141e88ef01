import { randomUUID } from 'node:crypto';
import { DateTime } from 'luxon';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { FanOut } from '../../../src/engage/campaigns/fan-out.ts';
import { isAtPlainTime } from '../../../src/engage/campaigns/send-time.ts';
import { PLAYER_DEPENDENTS } from '../../../src/app/player-dependents.ts';
import { mergePlayer } from '../../../src/players/identity/merge-queries.ts';
import { expectRefusal, openCampaignFixture, type CampaignFixture } from './campaign-fixture.ts';
import { giveHours, HOUR_MS, hourOf, storeModel } from './send-time-world.ts';

// When the messages of a campaign with a send time are due, and who is compared.

let campaigns: CampaignFixture;
beforeAll(async () => {
  campaigns = await openCampaignFixture();
  const { service } = campaigns.fixture.platform.postgres;
  await service`update templates set status = 'active' where tenant_id = ${campaigns.tenant.tenant_id}`;
});
afterAll(() => campaigns?.fixture.close());
beforeEach(async () => {
  await configure({ quiet_hours: undefined });
  await storeModel(campaigns.fixture.platform, campaigns.tenant);
});

async function configure(messaging: Record<string, unknown>): Promise<void> {
  const body = { config: { messaging: { quiet_hours: null, ...messaging } } };
  const { quiet_hours } = messaging;
  if (quiet_hours === undefined) body.config.messaging = {} as never;
  const answer = await campaigns.api('PATCH', '/v1/tenant/config', body);
  expect(answer.status, answer.text).toBe(200);
}

async function newMembers(
  many: number,
  segment_id: string,
  rest: Record<string, unknown> = {},
): Promise<string[]> {
  const { tenant_id, project_id } = campaigns.tenant;
  const { service } = campaigns.fixture.platform.postgres;
  const now = new Date();
  const ids = Array.from({ length: many }, () => randomUUID());
  const players = ids.map((player_id) => ({
    tenant_id,
    project_id,
    player_id,
    email: `${player_id}@example.com`,
    default_currency_code: 'EUR',
    created_at: now,
    updated_at: now,
    ...rest,
  }));
  const members = ids.map((player_id) => ({ tenant_id, project_id, segment_id, player_id, entered_at: now }));
  await service`insert into players ${service(players)}`;
  await service`insert into segment_members ${service(members)}`;
  await service`
    update segments set estimated_size = estimated_size + ${many} where segment_id = ${segment_id}`;
  return ids;
}

interface Row {
  player_id: string;
  status: string;
  error_code: string | null;
  assigned_at: Date | null;
  retry_at: Date | null;
  give_up_at: Date | null;
  is_own_hour: boolean | null;
}
async function rowsOf(campaign_id: string): Promise<Map<string, Row>> {
  const { service } = campaigns.fixture.platform.postgres;
  const rows = await service<Row[]>`
    select player_id, status, error_code, assigned_at, retry_at, give_up_at, is_own_hour from message_sends
    where campaign_id = ${campaign_id} order by player_id`;
  return new Map(rows.map((row) => [row.player_id, row]));
}
async function send(campaign_id: string): Promise<Map<string, Row>> {
  const answer = await campaigns.api('POST', `/v1/campaigns/${campaign_id}/send`);
  expect(answer.status, answer.text).toBe(200);
  return rowsOf(campaign_id);
}
const audience = async (campaign_id: string) => {
  const { body } = await campaigns.api('POST', `/v1/campaigns/${campaign_id}/audience`, {});
  return body.data;
};
/** A campaign to a segment of its own. */
async function newCampaign(rest: Record<string, unknown> = {}) {
  const segment_id = await campaigns.segment();
  const campaign_id = await campaigns.make({ segment_id, send_time: 'player', ...rest });
  return { segment_id, campaign_id };
}
const AT_ONCE = { status: 'queued', error_code: null, retry_at: null, give_up_at: null };

it('is a field of broadcasts', async () => {
  const { campaign_id } = await newCampaign();
  const read = await campaigns.api('GET', `/v1/campaigns/${campaign_id}`);
  expect(read.body.data['send_time']).toBe('player');
  const copy = await campaigns.api('POST', `/v1/campaigns/${campaign_id}/duplicate`);
  expect(copy.body.data['send_time']).toBe('player');
  const triggered = { type: 'triggered', trigger_event: 'deposit_confirmed' };
  const refused = await campaigns.api(
    'POST',
    '/v1/campaigns',
    campaigns.body({ ...triggered, send_time: 'player' }),
  );
  expectRefusal(refused, 422, 'VALIDATION_ERROR', ['send_time']);
  const other = await campaigns.api('POST', '/v1/campaigns', campaigns.body({ send_time: 'soon' }));
  expectRefusal(other, 422, 'VALIDATION_ERROR', ['send_time']);
  // Another type drops it, as it drops the event that fires it.
  const changed = await campaigns.api('PATCH', `/v1/campaigns/${campaign_id}`, triggered);
  expect(changed.body.data['send_time']).toBeNull();
  const plain = await campaigns.make();
  expect((await campaigns.api('GET', `/v1/campaigns/${plain}`)).body.data['send_time']).toBeNull();
  const uplift = await campaigns.api('GET', `/v1/campaigns/${plain}/uplift?compare=send_time`);
  expectRefusal(uplift, 422, 'VALIDATION_ERROR', ['compare']);
});

it('makes each message due at the own hour of the member, and a tenth at once', async () => {
  const { campaign_id, segment_id } = await newCampaign();
  const { platform } = campaigns.fixture;
  const soon_ms = hourOf(Date.now()) + 5 * HOUR_MS;
  const timed = await newMembers(300, segment_id);
  await giveHours(platform, timed, soon_ms);
  const few = await newMembers(20, segment_id);
  const silent = await newMembers(10, segment_id, { email: null });
  await giveHours(platform, silent, soon_ms);
  const before = await audience(campaign_id);
  expect(before).toMatchObject({ members: 330, sendable: 320, send_time: { own_hour: 270, plain: 50 } });

  const rows = await send(campaign_id);
  expect(rows.size).toBe(330);
  const due_at = new Date(soon_ms);
  const give_up_at = new Date(soon_ms + 24 * HOUR_MS);
  const plain = timed.filter((player_id) => isAtPlainTime(campaign_id, player_id));
  expect(plain.length).toBeGreaterThan(5);
  for (const player_id of timed) {
    const is_plain = isAtPlainTime(campaign_id, player_id);
    expect(rows.get(player_id)).toEqual({
      player_id,
      ...AT_ONCE,
      assigned_at: expect.any(Date) as Date,
      ...(is_plain ? {} : { retry_at: due_at, give_up_at }),
      is_own_hour: !is_plain,
    });
  }
  for (const player_id of few) expect(rows.get(player_id)).toMatchObject({ ...AT_ONCE, is_own_hour: null });
  const nothing = { error_code: 'SKIPPED_NO_RECIPIENT', retry_at: null, give_up_at: null, is_own_hour: null };
  for (const player_id of silent) expect(rows.get(player_id)).toMatchObject(nothing);

  // The rows of a range are lost with their transaction: made again three hours later they are the same.
  const { service } = platform.postgres;
  const { tenant_id, project_id } = campaigns.tenant;
  await service`delete from message_sends where campaign_id = ${campaign_id} and player_id > ${timed[0] ?? ''}`;
  await service`
    insert into member_ranges (work, tenant_id, project_id, owner_id, occasion, from_player_id)
    values ('campaign', ${tenant_id}, ${project_id}, ${campaign_id}, '', '00000000-0000-0000-0000-000000000000')`;
  const late_ms = Date.now() + 3 * HOUR_MS;
  const fanOut = new FanOut({ ...platform, clock: { now_ms: () => late_ms } });
  while (await fanOut.turn());
  const again = await rowsOf(campaign_id);
  const drawn = (found: Map<string, Row>) =>
    [...found.values()].map((row) => ({ ...row, assigned_at: null }));
  expect(drawn(again)).toEqual(drawn(rows));
});

it.each(['off', 'waiting'] as const)('sends at once while the model is %s', async (status) => {
  const { campaign_id, segment_id } = await newCampaign();
  const { platform } = campaigns.fixture;
  const timed = await newMembers(30, segment_id);
  await giveHours(platform, timed, Date.now() + 5 * HOUR_MS);
  await storeModel(platform, campaigns.tenant, status);
  expect(await audience(campaign_id)).toMatchObject({ sendable: 30, send_time: null });
  const rows = await send(campaign_id);
  for (const row of rows.values()) expect(row).toMatchObject({ ...AT_ONCE, is_own_hour: null });
});

it('holds out as many as without it, and compares none of them', async () => {
  const { campaign_id, segment_id } = await newCampaign({ holdout_percent: 40 });
  const timed = await newMembers(200, segment_id);
  await giveHours(campaigns.fixture.platform, timed, Date.now() + 5 * HOUR_MS);
  const rows = [...(await send(campaign_id)).values()];
  const held_out = rows.filter(({ error_code }) => error_code === 'SKIPPED_HOLDOUT');
  expect(held_out.length).toBeGreaterThan(40);
  for (const row of held_out)
    expect(row).toMatchObject({ status: 'failed', retry_at: null, give_up_at: null, is_own_hour: null });
  for (const row of rows.filter((one) => !held_out.includes(one))) {
    expect(row.assigned_at).not.toBeNull();
    expect(row.is_own_hour).toBe(!isAtPlainTime(campaign_id, row.player_id));
  }
});

it('lets members wait for the end of quiet hours who have an own hour, and compares none of them', async () => {
  const { campaign_id, segment_id } = await newCampaign();
  const { platform } = campaigns.fixture;
  const now_ms = Date.now();
  // It is quiet now, for two hours or more.
  const clock = (at_ms: number) => new Date(at_ms).toISOString().slice(11, 16);
  const [start, end] = [clock(now_ms - HOUR_MS), clock(hourOf(now_ms) + 3 * HOUR_MS)];
  await configure({ quiet_hours: { start, end, default_timezone: 'UTC' } });
  const [early, late, few] = [
    await newMembers(40, segment_id),
    await newMembers(40, segment_id),
    await newMembers(5, segment_id),
  ];
  await giveHours(platform, early, now_ms + HOUR_MS);
  await giveHours(platform, late, now_ms + 8 * HOUR_MS);
  expect(await audience(campaign_id)).toMatchObject({
    sendable: 80,
    by_code: { SKIPPED_QUIET_HOURS: 5 },
    send_time: { own_hour: 80, plain: 0 },
  });
  const rows = await send(campaign_id);
  const quiet_until_ms = hourOf(now_ms) + 3 * HOUR_MS;
  for (const player_id of late)
    expect(rows.get(player_id)).toMatchObject({
      status: 'queued',
      retry_at: new Date(hourOf(now_ms) + 8 * HOUR_MS),
      is_own_hour: null,
    });
  // Their own hour is quiet: another one, after the quiet hours.
  for (const player_id of early) {
    expect(rows.get(player_id)).toMatchObject({ status: 'queued', is_own_hour: null });
    expect(rows.get(player_id)?.retry_at?.getTime()).toBeGreaterThanOrEqual(quiet_until_ms);
  }
  for (const player_id of few)
    expect(rows.get(player_id)).toMatchObject({
      status: 'failed',
      error_code: 'SKIPPED_QUIET_HOURS',
      retry_at: null,
    });
});

it('is that of the clock of each player', async () => {
  const { campaign_id, segment_id } = await newCampaign();
  const at_ms = Date.now() + 9 * HOUR_MS;
  const due = new Map<string, string>();
  for (const timezone of ['Asia/Kolkata', 'America/New_York', 'Pacific/Auckland', 'Asia/Kathmandu']) {
    const members = await newMembers(20, segment_id, { timezone });
    const clock = DateTime.fromMillis(at_ms, { zone: timezone });
    // What the clock shows, as if it were UTC.
    await giveHours(campaigns.fixture.platform, members, at_ms + clock.offset * 60_000);
    for (const player_id of members) due.set(player_id, clock.startOf('hour').toUTC().toISO() ?? '');
  }
  const rows = await send(campaign_id);
  for (const [player_id, at] of due) {
    const expected = isAtPlainTime(campaign_id, player_id) ? undefined : at;
    expect(rows.get(player_id)?.retry_at?.toISOString()).toBe(expected);
  }
});

it('stays with the message of a player who is merged, and the survivor gets the hours', async () => {
  const { campaign_id, segment_id } = await newCampaign();
  const { platform } = campaigns.fixture;
  const { service } = platform.postgres;
  const { tenant_id, project_id } = campaigns.tenant;
  const gone = await newMembers(20, segment_id);
  const into = await newMembers(20, await campaigns.segment());
  await giveHours(platform, gone, Date.now() + 5 * HOUR_MS);
  const now = new Date();
  const totals = [...gone, ...into].map((player_id) => {
    return { tenant_id, project_id, player_id, first_seen_at: now, listed_at: now, updated_at: now };
  });
  await service`insert into player_totals ${service(totals)}`;
  const rows = await send(campaign_id);
  for (const [i, player_id] of gone.entries()) {
    const pair = { tenant_id, project_id, player_id, into_player_id: into[i] ?? '' };
    await service.begin((tx) => mergePlayer(tx, pair, now, PLAYER_DEPENDENTS));
  }
  const merged = await rowsOf(campaign_id);
  for (const [i, player_id] of gone.entries()) {
    const survivor = into[i] ?? '';
    expect(merged.get(survivor)).toEqual({ ...rows.get(player_id), player_id: survivor });
  }
  const hours = await service<{ session_hours: Buffer | null }[]>`
    select session_hours from players where project_id = ${project_id} and player_id in ${service(into)}`;
  expect(hours.filter(({ session_hours }) => session_hours === null)).toEqual([]);
});
