import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { messagesOfPlayers } from '../../../src/engage/messaging/player-queries.ts';
import { openCampaignFixture, type CampaignFixture } from './campaign-fixture.ts';

// Who is held out gets a row and no message.

let campaigns: CampaignFixture;
beforeAll(async () => {
  campaigns = await openCampaignFixture();
  const { service } = campaigns.fixture.platform.postgres;
  await service`update templates set status = 'active' where tenant_id = ${campaigns.tenant.tenant_id}`;
});
afterAll(() => campaigns?.fixture.close());

const MASK = 0xffff_ffffn;

/** FNV-1a and MurmurHash3's finaliser again, with whole numbers of any size. */
function hashOf(text: string): bigint {
  let hash = 0x811c_9dc5n;
  for (const byte of Buffer.from(text)) hash = ((hash ^ BigInt(byte)) * 0x0100_0193n) & MASK;
  hash = ((hash ^ (hash >> 16n)) * 0x85eb_ca6bn) & MASK;
  hash = ((hash ^ (hash >> 13n)) * 0xc2b2_ae35n) & MASK;
  return hash ^ (hash >> 16n);
}
const isBelow = (text: string, percent: number) =>
  (hashOf(text) * 10_000n) >> 32n < BigInt(Math.round(percent * 100));

async function newMembers(many: number, { email = true } = {}): Promise<string[]> {
  const { tenant_id, project_id } = campaigns.tenant;
  const { service } = campaigns.fixture.platform.postgres;
  const now = new Date();
  const ids = Array.from({ length: many }, () => randomUUID());
  const players = ids.map((player_id) => ({
    tenant_id,
    project_id,
    player_id,
    email: email ? `${player_id}@example.com` : null,
    default_currency_code: 'EUR',
    created_at: now,
    updated_at: now,
  }));
  const members = ids.map((player_id) => ({
    tenant_id,
    project_id,
    segment_id: campaigns.segment_id,
    player_id,
    entered_at: now,
  }));
  await service`insert into players ${service(players)}`;
  await service`insert into segment_members ${service(members)}`;
  return ids;
}

interface Row {
  player_id: string;
  status: string;
  error_code: string | null;
  assigned_at: Date | null;
  counted_at: Date | null;
}
async function rowsOf(campaign_id: string): Promise<Row[]> {
  const { service } = campaigns.fixture.platform.postgres;
  return service<Row[]>`
    select player_id, status, error_code, assigned_at, counted_at from message_sends
    where campaign_id = ${campaign_id} order by player_id`;
}
async function send(campaign_id: string): Promise<Row[]> {
  const answer = await campaigns.api('POST', `/v1/campaigns/${campaign_id}/send`);
  expect(answer.status, answer.text).toBe(200);
  return rowsOf(campaign_id);
}

it('holds out those whom the hash draws, of those who pass the gate', async () => {
  const players = await newMembers(400);
  const silent = await newMembers(20, { email: false });
  const campaign_id = await campaigns.make({ holdout_percent: 12.5 });
  const rows = await send(campaign_id);
  expect(rows).toHaveLength(420);
  const of = new Map(rows.map((row) => [row.player_id, row]));
  for (const player_id of players) {
    const is_held_out = isBelow(`holdout:${campaign_id}:${player_id}`, 12.5);
    expect(of.get(player_id)).toEqual({
      player_id,
      status: is_held_out ? 'failed' : 'queued',
      error_code: is_held_out ? 'SKIPPED_HOLDOUT' : null,
      assigned_at: expect.any(Date) as Date,
      counted_at: null,
    });
  }
  for (const player_id of silent) {
    const skipped = { status: 'failed', error_code: 'SKIPPED_NO_RECIPIENT', assigned_at: null };
    expect(of.get(player_id)).toMatchObject(skipped);
  }
  const failures = await campaigns.api('GET', `/v1/campaigns/${campaign_id}/failures`);
  const held_out = rows.filter(({ error_code }) => error_code === 'SKIPPED_HOLDOUT').length;
  expect(held_out).toBeGreaterThan(20);
  expect(failures.body.data['by_code']).toEqual({ SKIPPED_HOLDOUT: held_out, SKIPPED_NO_RECIPIENT: 20 });
});

it('sends nothing to a player who is merged with one who is held out', async () => {
  await newMembers(40);
  const campaign_id = await campaigns.make({ holdout_percent: 50 });
  const rows = await send(campaign_id);
  const [held_out, other] = rows.filter(({ error_code }) => error_code === 'SKIPPED_HOLDOUT');
  const [queued, second] = rows.filter(({ status }) => status === 'queued');
  const { postgres } = campaigns.fixture.platform;
  const { tenant_id, project_id } = campaigns.tenant;
  const merge = async (player_id = '', into_player_id = '') => {
    const pair = { tenant_id, project_id, player_id, into_player_id };
    await postgres.service.begin((tx) => messagesOfPlayers.onMerge?.(tx, pair, new Date()));
  };
  await merge(queued?.player_id, held_out?.player_id);
  await merge(other?.player_id, second?.player_id);
  const merged = (await rowsOf(campaign_id)).filter(({ player_id }) =>
    [held_out?.player_id, second?.player_id].includes(player_id),
  );
  expect(merged.map(({ error_code }) => String(error_code)).toSorted()).toEqual([
    'SKIPPED_CANCELLED',
    'SKIPPED_CANCELLED',
    'SKIPPED_HOLDOUT',
    'SKIPPED_HOLDOUT',
  ]);
});

it("holds out a project's share from all campaigns, but not from service messages", async () => {
  await newMembers(300);
  const put = (holdout_percent: number) =>
    campaigns.api('PUT', '/v1/experiments/global', { holdout_percent });
  expect((await put(11)).status).toBe(422);
  const answer = await put(10);
  expect(answer.status, answer.text).toBe(200);
  const { name } = answer.body.data['round'] as { name: string };
  expect(name).toMatch(/^\d{4}-Q[1-4]\.1$/);
  const { project_id, tenant_id } = campaigns.tenant;
  const drawn = (player_id: string) =>
    isBelow(`holdout:${project_id}:${name}:${player_id}`.toLowerCase(), 10);
  const campaign_id = await campaigns.make({ holdout_percent: 20 });
  const rows = await send(campaign_id);
  const reachable = rows.filter(({ error_code }) => error_code !== 'SKIPPED_NO_RECIPIENT');
  for (const { player_id, error_code } of reachable) {
    const own = isBelow(`holdout:${campaign_id}:${player_id}`, 20) ? 'SKIPPED_HOLDOUT' : null;
    expect(error_code).toBe(drawn(player_id) ? 'SKIPPED_GLOBAL_HOLDOUT' : own);
  }
  const { service } = campaigns.fixture.platform.postgres;
  await service`update templates set purpose = 'service' where tenant_id = ${tenant_id}`;
  const of_service = await send(await campaigns.make({ holdout_percent: 20 }));
  expect(of_service.filter(({ error_code }) => error_code?.includes('HOLDOUT'))).toEqual([]);
  expect(of_service.filter(({ assigned_at }) => assigned_at !== null)).toEqual([]);
  await service`update templates set purpose = 'marketing' where tenant_id = ${tenant_id}`;
  // Another share is another round; the same one is not.
  expect((await put(5)).body.data['round']).toMatchObject({ name: name.replace('.1', '.2') });
  expect((await put(5)).body.data['round']).toMatchObject({ name: name.replace('.1', '.2') });
  const shown = await campaigns.api('GET', '/v1/experiments/global');
  expect(shown.body.data).toMatchObject({ holdout_percent: 5, uplift: { kind: 'global', arms: [{}] } });
  expect((await put(0)).body.data).toEqual({ holdout_percent: 0, round: null });
});

it('says before the send what can be seen', async () => {
  const campaign_id = await campaigns.make({ holdout_percent: 10, goal_event: 'deposit_confirmed' });
  const answer = await campaigns.api('POST', `/v1/campaigns/${campaign_id}/audience`);
  expect(answer.status, answer.text).toBe(200);
  const { sendable, effect } = answer.body.data as { sendable: number; effect: Record<string, unknown> };
  expect(effect).toEqual({
    held_out: Math.round(sendable / 10),
    base_rate: 0,
    smallest_effect: null,
    power: null,
  });
});
