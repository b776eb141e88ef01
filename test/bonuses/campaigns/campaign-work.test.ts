import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Tx } from '../../../src/platform/postgres/port.ts';
import { call } from '../../engines/http-client.ts';
import { statementWaits } from '../../engines/lock-wait.ts';
import type { TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { until } from '../../engines/until.ts';
import {
  campaignsFixture,
  consistent,
  holdRelease,
  release,
  type CampaignsFixture,
} from './campaigns-fixture.ts';

let service: TestService;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(async () => service?.close());

const fresh = () => campaignsFixture(service);

/** The platform does nothing now: what it is sent stays unsent. */
const BUSY = { status: 429, body: '', headers: { 'retry-after': '3600' } };

/** Takes the project's Postgres back to the moment at which the campaign had its rows, and nothing was decided. */
async function restoredToPending(on: CampaignsFixture, campaign_id: string): Promise<void> {
  const { sql } = on;
  await sql.begin(async (tx) => {
    await tx`delete from bonus_grant_events where grant_id in (
      select grant_id from bonus_grants where campaign_id = ${campaign_id})`;
    await tx`delete from bonus_grants where campaign_id = ${campaign_id}`;
    await tx`update bonus_budgets set used_base = 0 where template_id = (
      select template_id from bonus_campaigns where campaign_id = ${campaign_id})`;
    await tx`update bonus_campaign_budgets set used_base = 0, used_grants = 0 where campaign_id = ${campaign_id}`;
    await tx`update bonus_campaign_rows set status = 'pending', code = null, grant_id = null, terms_id = null,
      cost_base = 0, released_base = 0, is_open = false where campaign_id = ${campaign_id}`;
    await tx`update bonus_campaigns set status = 'issuing', finished_at = null where campaign_id = ${campaign_id}`;
  });
}

const rowsOf = async (on: CampaignsFixture, campaign_id: string, status: string) =>
  (await on.sql`select from bonus_campaign_rows where campaign_id = ${campaign_id} and status = ${status}`)
    .length;

/** A campaign of which every member was released to a platform that does nothing. */
async function heldUp(on: CampaignsFixture, members: number) {
  const adapter = await on.adapter();
  await adapter.fake.control({ answer: BUSY });
  const segment_id = await on.client.segment(await on.client.players(members));
  const { data } = await on.create({ template_id: await on.template(), segment_id });
  await on.issue(data.id);
  await until('every grant was refused for now', async (saw) => {
    const tried = saw(
      await on.sql`
      select from bonus_grants where campaign_id = ${data.id} and outcome = 'unsent' and calls > 0`,
    );
    return tried.length === members;
  });
  return { adapter, id: data.id };
}

describe('a campaign that is issued again', () => {
  it('after a restore of Postgres asks the platform for the same grants', async () => {
    const on = await fresh();
    const adapter = await on.adapter();
    const segment_id = await on.client.segment(await on.client.players(6));
    const { data } = await on.create({ template_id: await on.template(), segment_id });
    await on.issue(data.id);
    await on.reaches(data.id, ({ status }) => status === 'issued');
    await restoredToPending(on, data.id);
    const again = await on.reaches(data.id, ({ status }) => status === 'issued');
    expect(again.stats).toEqual({ pending: 0, granted: 6, skipped: 0, failed: 0 });
    const { bonuses } = await adapter.fake.ledger();
    expect(bonuses.map(({ credits }) => credits)).toEqual([1, 1, 1, 1, 1, 1]);
    await consistent(on, data.id);
    await adapter.close();
  });
});

describe('grants that were released and of which nothing was sent', () => {
  it('end with their cancelled campaign', async () => {
    const on = await fresh();
    const { adapter, id } = await heldUp(on, 5);
    await on.patch(id, { status: 'cancelled' });
    const ended = await on.reaches(id, ({ stats }) => stats.pending === 0);
    expect(ended.skips).toEqual({ CANCELLED: 5 });
    await adapter.fake.control({ answer: null });
    await on.sql`update bonus_grants set next_attempt_at = now() where campaign_id = ${id} and status = 'pending'`;
    expect((await adapter.fake.ledger()).bonuses).toEqual([]);
    await consistent(on, id);
    await adapter.close();
  });

  it('wait with their paused campaign, and go on with it', async () => {
    const on = await fresh();
    const { adapter, id } = await heldUp(on, 5);
    await on.patch(id, { status: 'paused' });
    await until('all are reserved again', async (saw) => saw(await rowsOf(on, id, 'reserved')) === 5);
    expect(await on.sql`select from bonus_grants where campaign_id = ${id}`).toHaveLength(0);
    await consistent(on, id);
    await adapter.fake.control({ answer: null });
    await on.patch(id, { status: 'issuing' });
    const done = await on.reaches(id, ({ status }) => status === 'issued');
    expect(done.stats.granted).toBe(5);
    await consistent(on, id);
    await adapter.close();
  });
});

describe('the grant of a member', () => {
  it('is as one that is granted alone, but for its player and its campaign', async () => {
    const on = await fresh();
    const template_id = await on.template({
      type: 'deposit_match',
      config: { match_percent: 50, cap_amount: 5_000, currency: 'EUR', min_deposit: 100 },
      wagering_requirement_multiplier: 5,
      max_bet_during_wagering: 500,
      max_win_cap: 90_000,
      time_limit_hours: 48,
      exclusion_group: 'welcome "quoted" \\ group',
      game_contribution: { slots: 100, table: 10 },
    });
    const [alone = '', member = ''] = await on.client.players(2);
    expect((await on.grant(template_id, alone, { deposit_amount: 2_500 })).status).toBe(201);
    const segment_id = await on.client.segment([member]);
    const { data } = await on.create({ template_id, segment_id, deposit_amount: 2_500 });
    await on.issue(data.id);
    await on.reaches(data.id, ({ status }) => status === 'issued');
    // Nothing changes them by itself any more.
    await until('the bets of both are looked up', async (saw) => {
      const rows = saw(
        await on.sql`
        select from bonus_grants where player_id in (${alone}, ${member}) and are_bets_recorded
          and activated_at is not distinct from counted_from`,
      );
      return rows.length === 2;
    });
    const shown = async (player_id: string) => {
      const [row] = await on.sql<{ grant: Record<string, unknown>; first: unknown; sent: string }[]>`
        select to_jsonb(g) - array['grant_id', 'player_id', 'player_external_id', 'order_body', 'campaign_id',
            'granted_by_kind', 'granted_by_id', 'granted_by_user', 'facts', 'created_at', 'updated_at', 'activated_at',
            'expires_at', 'first_called_at', 'counted_from', 'counted_until', 'recorded_from',
            'are_bets_recorded'] as grant,
          to_jsonb(e) - array['grant_id', 'occurred_at', 'received_at', 'data'] as first,
          replace(replace(replace((g.order_body::jsonb - 'granted_by' #- '{template,expires_at}')::text,
            g.grant_id::text, 'G'), g.player_id::text, 'P'), g.player_external_id, 'P') as sent
        from bonus_grants g join bonus_grant_events e on e.grant_id = g.grant_id and e.seq = 1
        where g.player_id = ${player_id}`;
      return row;
    };
    const expected = await shown(alone);
    expect(expected?.grant).toMatchObject({ status: 'active', bonus_amount: 1_250, max_bet: 500, slot: 1 });
    expect(await shown(member)).toEqual(expected);
    const [times] = await on.sql<{ hours: number; kind: string }[]>`
      select extract(epoch from (order_body::jsonb #>> '{template,expires_at}')::timestamptz - created_at)::integer / 3600
        as hours, e.data ->> 'granted_by_kind' as kind
      from bonus_grants g join bonus_grant_events e on e.grant_id = g.grant_id and e.seq = 1
      where g.campaign_id = ${data.id}`;
    expect(times).toEqual({ hours: 48, kind: 'campaign' });
  });
});

describe('campaigns beside each other', () => {
  it('twenty that fail when they are due do not hold up a later one', async () => {
    const on = await fresh();
    const template_id = await on.template({
      type: 'deposit_match',
      config: { match_percent: 100, cap_amount: 5_000, currency: 'EUR', min_deposit: 100 },
      wagering_requirement_multiplier: 5,
    });
    const segment_id = await on.client.segment(await on.client.players(1));
    const schedule_at = new Date(Date.now() + 3_600_000).toISOString();
    const body = { template_id, segment_id, deposit_amount: 1_000, schedule_at };
    const ids: string[] = [];
    for (let i = 0; i < 21; i++) ids.push((await on.create(body)).data.id);
    const late = ids.at(-1) ?? '';
    await on.sql`
      update bonus_campaigns set schedule_at = now() - interval '1 minute', deposit_amount = 'NaN'
      where tenant_id = ${on.tenant.tenant_id} and campaign_id <> ${late}`;
    await on.sql`update bonus_campaigns set schedule_at = now() where campaign_id = ${late}`;
    await on.reaches(late, ({ status }) => status === 'issued');
    expect(
      await on.sql`select from bonus_campaigns where status = 'scheduled' and campaign_id in ${on.sql(ids)}`,
    ).toHaveLength(20);
    await on.sql`delete from bonus_campaigns where status = 'scheduled' and campaign_id in ${on.sql(ids)}`;
  });

  it('one that cannot go on does not hold up the release of another', async () => {
    const [slow, quick] = [await fresh(), await fresh()];
    const template_id = await slow.template();
    const blocked = (
      await slow.create({
        template_id,
        segment_id: await slow.client.segment(await slow.client.players(2)),
      })
    ).data.id;
    const free = (
      await quick.create({
        template_id: await quick.template(),
        segment_id: await quick.client.segment(await quick.client.players(4)),
        rate_per_second: 4,
      })
    ).data.id;
    const { tenant_id, project_id } = slow.tenant;
    await slow.sql`insert into bonus_budgets values (${tenant_id}, ${project_id}, ${template_id}, 0)`;
    await slow.sql.begin(async (tx) => {
      const [me] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
      const waiters = (sql: Tx) => sql<{ pid: number; at: string }[]>`
        select distinct l.pid, a.xact_start::text as at from pg_locks l join pg_stat_activity a using (pid)
        where not l.granted and ${me?.pid ?? 0}::integer = any(pg_blocking_pids(l.pid))`;
      await tx`select from bonus_budgets where template_id = ${template_id} for update`;
      await slow.issue(blocked);
      const waiting = await until('its decisions wait for the budget', async (saw) => {
        const [found] = saw(await waiters(slow.sql));
        return found;
      });
      await quick.issue(free);
      await quick.reaches(free, ({ stats }) => stats.granted === 4);
      // In the same transaction as before, so all of the other's grants left meanwhile.
      expect([...(await waiters(slow.sql))]).toContainEqual(waiting);
    });
    await slow.reaches(blocked, ({ status }) => status === 'issued');
  });

  it('what is reserved is released although the template is paused', async () => {
    const on = await fresh();
    const template_id = await on.template();
    const players = await on.client.players(3);
    const { data } = await on.create({ template_id, segment_id: await on.client.segment(players) });
    await on.config({ paused: true });
    await on.issue(data.id);
    await on.sql`update bonus_campaigns set rate_per_second = 1 where campaign_id = ${data.id}`;
    // Nothing is released while the rate is used up.
    await holdRelease(on, data.id);
    await on.config({ paused: false });
    await until('all are reserved', async (saw) => saw(await rowsOf(on, data.id, 'reserved')) === 3);
    // One is not decided yet.
    await on.sql.begin(async (tx) => {
      await tx`update bonus_campaign_rows set status = 'pending', terms_id = null, cost_base = 0, is_open = false
        where campaign_id = ${data.id} and player_id = ${players[0] ?? ''}`;
      await tx`update bonus_campaign_budgets set used_base = 2000, used_grants = 2 where campaign_id = ${data.id}`;
      await tx`update bonus_budgets set used_base = 2000 where template_id = ${template_id}`;
      await tx`update bonus_templates set status = 'paused' where template_id = ${template_id}`;
    });
    await release(on, data.id);
    const stands = await on.reaches(data.id, ({ stats }) => stats.granted === 2);
    expect(stands).toMatchObject({ status: 'issuing', stats: { pending: 1, granted: 2 } });
    const told = await on.reaches(data.id, ({ last_error }) => last_error !== null);
    expect(told.last_error).toContain('is paused');
    await on.client.api('PATCH', `/v1/bonus-templates/${template_id}`, { status: 'active' });
    const done = await on.reaches(data.id, ({ status }) => status === 'issued');
    expect(done).toMatchObject({ stats: { granted: 3 }, last_error: null });
    await consistent(on, data.id);
  });
});

describe('the members of a campaign', () => {
  it('are those of its issue, also when it is paused before it has rows of them', async () => {
    const on = await fresh();
    const [one = '', two = '', later = ''] = await on.client.players(3);
    const segment_id = await on.client.segment([one, two]);
    const { data } = await on.create({ template_id: await on.template(), segment_id });
    await on.config({ paused: true });
    await on.issue(data.id);
    // As a campaign of more members than one step makes rows of.
    await on.sql.begin(async (tx) => {
      await tx`delete from bonus_campaign_rows where campaign_id = ${data.id}`;
      await tx`update bonus_campaigns set status = 'paused', is_filled = false, filled_to = null
        where campaign_id = ${data.id}`;
      await tx`insert into segment_members (tenant_id, project_id, segment_id, player_id, entered_at)
        values (${on.tenant.tenant_id}, ${on.tenant.project_id}, ${segment_id}, ${later}, now())`;
    });
    await until(
      'rows are made while it is paused',
      async (saw) => saw(await rowsOf(on, data.id, 'pending')) === 2,
    );
    await on.config({ paused: false });
    await on.patch(data.id, { status: 'issuing' });
    const done = await on.reaches(data.id, ({ status }) => status === 'issued');
    expect(done.stats).toEqual({ pending: 0, granted: 2, skipped: 0, failed: 0 });
  });
});

describe('a merge of players', () => {
  it('locks their grants before their rows of campaigns, as whoever settles a grant does', async () => {
    const on = await fresh();
    const identify = async (body: object) => {
      const answer = await call<{ player_id: string }>(
        `${service.base_url}/v1/players/identify`,
        on.tenant.api_key,
        { body },
      );
      return answer.data.player_id;
    };
    const guest = await identify({ anonymous_id: 'device' });
    const known = await identify({ external_id: 'ann' });
    const segment_id = await on.client.segment([guest]);
    const { data } = await on.create({ template_id: await on.template(), segment_id });
    await on.issue(data.id);
    await on.reaches(data.id, ({ status }) => status === 'issued');
    let merged: Promise<string> | undefined;
    await on.sql.begin(async (tx) => {
      await tx`select from bonus_grants where campaign_id = ${data.id} for no key update`;
      merged = identify({ anonymous_id: 'device', external_id: 'ann' });
      await statementWaits(on.sql, tx);
      const rows = await tx`
        select from bonus_campaign_rows where campaign_id = ${data.id} for no key update skip locked`;
      expect(rows).toHaveLength(1);
    });
    expect(await merged).toBe(known);
    await consistent(on, data.id);
  });
});
