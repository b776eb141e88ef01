import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { PLAYER_DEPENDENTS } from '../../../src/app/player-dependents.ts';
import { noteWait } from '../../../src/bonuses/campaigns/daily-budget.ts';
import { insertBonusCampaign } from '../../../src/bonuses/campaigns/queries.ts';
import { releaseMembers } from '../../../src/bonuses/campaigns/release-members.ts';
import { selectPending } from '../../../src/bonuses/campaigns/reserve-queries.ts';
import { reserveMembers } from '../../../src/bonuses/campaigns/reserve.ts';
import { loadIssueTerms } from '../../../src/bonuses/campaigns/terms-of-issue.ts';
import { lockPart } from '../../../src/bonuses/campaigns/work-queries.ts';
import { settleInCampaigns } from '../../../src/bonuses/grants/campaign-settlement.ts';
import type { GrantRow } from '../../../src/bonuses/grants/grant-row.ts';
import { grantColumns } from '../../../src/bonuses/grants/queries.ts';
import { mergePlayer } from '../../../src/players/identity/merge-queries.ts';
import { NIL_ID } from '../../../src/platform/ids.ts';
import type { Tx } from '../../../src/platform/postgres/port.ts';
import { retryConflicts } from '../../../src/platform/postgres/retry.ts';
import type { Fixture, Tenant } from '../../http/api-fixture.ts';
import { sharedFixture } from '../../http/shared-fixture.ts';
import { GIFT } from '../grants/grants-fixture.ts';

/** What each of the gifts costs. */
const COST = 1_000n;
const MINUTE_MS = 60_000;
const DAY_MS = 1_440 * MINUTE_MS;

/** What several processes do to a campaign, in any order; `is_killed`: its process ends before the commit, and another does it again. */
export type Operation = { is_killed: boolean } & (
  | { kind: 'decide' | 'release' }
  | { kind: 'fail' | 'credit'; members: number }
  | { kind: 'merge'; from: number; into: number }
  | { kind: 'exclude'; member: number }
);

/** Operations that run at the same time, after some minutes. */
export interface Moment {
  minutes: number;
  operations: readonly Operation[];
}

/** A campaign of a random life. */
export interface Paced {
  members: number;
  /** How many grants a day's budget pays. */
  grants_of_day: number;
  pace: 'even' | 'asap';
  /** Weights of the hours, in UTC. */
  hours: readonly number[];
  begin_minute: number;
  holdout_percent: number;
}

class Killed extends Error {}

/** One project, in which each life has a campaign and players of its own. */
export class PacedWorld {
  readonly #fixture: Fixture;
  readonly #tenant: Tenant;
  readonly #template_id: string;

  private constructor(fixture: Fixture, tenant: Tenant, template_id: string) {
    this.#fixture = fixture;
    this.#tenant = tenant;
    this.#template_id = template_id;
  }

  static async open(): Promise<PacedWorld> {
    const fixture = await sharedFixture();
    const tenant = await fixture.makeTenant();
    const answer = await fixture.as(tenant.session, '/v1/bonus-templates', {
      method: 'POST',
      body: { name: 'gift', ...GIFT },
    });
    expect(answer.status, answer.text).toBe(201);
    return new PacedWorld(fixture, tenant, String(answer.body.data['id']));
  }

  async close(): Promise<void> {
    // No processor of another file finds the campaigns.
    await this.#sql`
      update bonus_campaigns set status = 'cancelled', finished_at = now() where tenant_id = ${this.#tenant.tenant_id}`;
    await this.#fixture.close();
  }

  get #sql() {
    return this.#fixture.platform.postgres.service;
  }

  #project() {
    const { tenant_id, project_id } = this.#tenant;
    return { tenant_id, project_id };
  }

  /** Plays a life; returns what is wrong. */
  async play(paced: Paced, moments: readonly Moment[]): Promise<string[]> {
    const campaign = await this.#make(paced);
    const complaints: string[] = [];
    let now_ms = Date.UTC(2026, 2, 2) + paced.begin_minute * MINUTE_MS;
    for (const { minutes, operations } of moments) {
      now_ms += minutes * MINUTE_MS;
      const now = new Date(now_ms);
      await Promise.all(operations.map((one) => this.#do(campaign, now, one)));
      complaints.push(...(await this.#check(paced, campaign, now_ms)));
    }
    // As days pass, everybody has a turn, and each day that ends is used as far as somebody waits.
    for (let day = Math.floor(now_ms / DAY_MS) + 1; ; day++) {
      await this.#commit(false, (tx) => this.#decide(tx, campaign, new Date((day + 1) * DAY_MS - MINUTE_MS)));
      complaints.push(...(await this.#check(paced, campaign, (day + 1) * DAY_MS - MINUTE_MS)));
      const [row] = await this.#sql<{ pending: number; used: string }[]>`
        select (select count(*)::integer from bonus_campaign_rows r
            where r.campaign_id = ${campaign.campaign_id} and r.status = 'pending') as pending,
          (select day_used_base::text from bonus_campaign_budgets b where b.campaign_id = ${campaign.campaign_id}) as used`;
      if (row?.pending === 0) return complaints;
      const least = allowed(paced, (day + 1) * DAY_MS - MINUTE_MS) - COST;
      if (BigInt(row?.used ?? 0) <= least)
        complaints.push(`only ${row?.used} used while ${row?.pending} wait`);
      if (complaints.length > 0) return complaints;
    }
  }

  async #make({ members, grants_of_day, pace, hours, holdout_percent }: Paced) {
    const campaign_id = randomUUID();
    const ref = { ...this.#project(), campaign_id };
    const now = new Date('2026-03-01T00:00:00Z');
    const plan = {
      name: 'paced',
      template_id: this.#template_id,
      segment_id: randomUUID(),
      deposit_amount: null,
      deposit_from: null,
      currency_override: null,
      schedule_at: null,
      max_liability: null,
      max_grants: null,
      rate_per_second: null,
      daily_budget_base: COST * BigInt(grants_of_day),
      pace,
      qualifying_product: null,
      holdout_percent,
      advertising: 'direct',
      status: 'issuing',
    } as const;
    const sql = this.#sql;
    await insertBonusCampaign(sql, ref, plan, now);
    await sql`update bonus_campaigns set is_filled = true, issued_at = ${now} where campaign_id = ${campaign_id}`;
    await sql`
      insert into bonus_campaign_budgets (tenant_id, project_id, campaign_id, released_to)
      values (${ref.tenant_id}, ${ref.project_id}, ${campaign_id}, now())`;
    await sql`
      insert into activity_profiles (tenant_id, project_id, timezone, hours, counted_at)
      values (${ref.tenant_id}, ${ref.project_id}, 'UTC', ${`{${hours.join(',')}}`}::text::bigint[], ${now})
      on conflict (tenant_id, project_id) do update set hours = excluded.hours`;
    const ids = Array.from({ length: members }, () => randomUUID()).sort();
    const rows = ids.map((player_id) => ({
      ...this.#project(),
      player_id,
      default_currency_code: 'EUR',
      created_at: now,
      updated_at: now,
    }));
    const at = { first_seen_at: now, listed_at: now, updated_at: now };
    await sql`insert into players ${sql(rows)}`;
    await sql`insert into player_totals ${sql(ids.map((player_id) => ({ ...this.#project(), player_id, ...at })))}
      on conflict do nothing`;
    await sql`
      insert into bonus_campaign_rows ${sql(ids.map((player_id) => ({ ...ref, player_id })))}`;
    return { ...ref, ids, survivors: new Map<string, string>() };
  }

  /** A killed process leaves nothing of its transaction; another one does it again. */
  async #commit(is_killed: boolean, work: (tx: Tx) => Promise<unknown>): Promise<void> {
    if (is_killed) {
      const killed = retryConflicts(() =>
        this.#sql.begin(async (tx) => {
          await work(tx);
          throw new Killed();
        }),
      );
      await killed.catch((error: unknown) => {
        if (!(error instanceof Killed)) throw error;
      });
    }
    await retryConflicts(() => this.#sql.begin(work));
  }

  async #do(campaign: Made, now: Date, operation: Operation): Promise<void> {
    const { is_killed } = operation;
    switch (operation.kind) {
      case 'decide': {
        let cost: bigint | undefined;
        await this.#commit(is_killed, async (tx) => {
          cost = (await this.#decide(tx, campaign, now))?.cost_base;
        });
        const { postgres } = this.#fixture.platform;
        if (cost !== undefined)
          await noteWait({ postgres, clock: { now_ms: () => now.getTime() } }, campaign, cost);
        return;
      }
      case 'release':
        return this.#commit(is_killed, async (tx) => {
          const locked = await lockPart(tx, campaign, 'release', true);
          if (locked !== undefined) await releaseMembers(tx, locked, { limit: 5, now, due_at: now });
        });
      case 'fail':
      case 'credit': {
        const { kind, members } = operation;
        return this.#commit(is_killed, (tx) => settle(tx, campaign, kind, members));
      }
      case 'merge': {
        const [from, into] = [operation.from, operation.into].map((at) =>
          survivorOf(campaign, campaign.ids[at % campaign.ids.length] ?? ''),
        );
        if (from === undefined || into === undefined || from === into) return;
        const pair = { ...this.#project(), player_id: from, into_player_id: into };
        campaign.survivors.set(from, into);
        return this.#commit(is_killed, (tx) => mergePlayer(tx, pair, now, PLAYER_DEPENDENTS));
      }
      case 'exclude': {
        const player_id = survivorOf(campaign, campaign.ids[operation.member % campaign.ids.length] ?? '');
        await this.#sql`
          update players set self_excluded = true, status = 'self_excluded' where player_id = ${player_id}`;
      }
    }
  }

  /** Decides about all who are pending; returns what those wait for who find no room. */
  async #decide(tx: Tx, campaign: Made, now: Date) {
    const locked = await lockPart(tx, campaign, 'decisions', true);
    if (locked === undefined) throw new Error('the campaign is not being issued');
    const pending = await selectPending(tx, campaign, { limit: 1_000, after: NIL_ID });
    if (pending.length === 0) return null;
    const terms = await loadIssueTerms(tx, locked, now);
    const { waiting } = await reserveMembers(tx, terms, pending, {
      facts: new Map(),
      platform: { slug: 'sandbox' },
    });
    return waiting;
  }

  /** What is wrong now: of each day no more is held than was allowed, and the counter is the sum over the members. */
  async #check(paced: Paced, { campaign_id }: Made, now_ms: number): Promise<string[]> {
    const rows = await this.#sql<{ day: Date; held: string; is_counted: boolean; used: string }[]>`
      select date_trunc('day', r.assigned_at, 'UTC') as day, b.day_used_base::text as used,
        date_trunc('day', r.assigned_at, 'UTC') >= b.day_from as is_counted,
        sum(case when r.status = 'sent' then (select g.bonus_amount_base from bonus_grants g where g.grant_id = r.grant_id)
          else r.cost_base end)::text as held
      from bonus_campaign_rows r join bonus_campaign_budgets b using (campaign_id)
      where r.campaign_id = ${campaign_id} and r.status in ('reserved', 'sent', 'granted')
      group by 1, 2, 3`;
    const complaints: string[] = [];
    for (const { day, held } of rows) {
      const most = allowed(paced, Math.min(now_ms, day.getTime() + DAY_MS - MINUTE_MS));
      if (BigInt(held) > most) complaints.push(`${held} held on ${day.toISOString()}, allowed ${most}`);
    }
    const counted = rows.filter(({ is_counted }) => is_counted);
    const sum = counted.reduce((all, { held }) => all + BigInt(held), 0n);
    const [budget] = await this.#sql<{ used: string; total: string }[]>`
      select b.day_used_base::text as used, b.used_base::text as total from bonus_campaign_budgets b
      where b.campaign_id = ${campaign_id}`;
    if (BigInt(budget?.used ?? 0) !== sum)
      complaints.push(`the day holds ${budget?.used}, its members ${sum}`);
    const total = rows.reduce((all, { held }) => all + BigInt(held), 0n);
    if (BigInt(budget?.total ?? 0) !== total) complaints.push(`${budget?.total} used, its members ${total}`);
    return complaints;
  }
}

interface Made {
  tenant_id: string;
  project_id: string;
  campaign_id: string;
  ids: readonly string[];
  survivors: Map<string, string>;
}

function survivorOf(campaign: Pick<Made, 'survivors'>, id: string): string {
  const next = campaign.survivors.get(id);
  return next === undefined ? id : survivorOf(campaign, next);
}

/** What may be used at a time of a day in UTC: minute by minute, with the five minutes that have begun. */
function allowed({ grants_of_day, pace, hours }: Paced, at_ms: number): bigint {
  const budget = COST * BigInt(grants_of_day);
  if (pace === 'asap') return budget;
  const over = (Math.floor((at_ms % DAY_MS) / MINUTE_MS / 5) + 1) * 5;
  const flat = hours.every((weight) => weight === 0);
  const sum = (minutes: number) =>
    Array.from({ length: minutes }, (_, minute) => (flat ? 1 : (hours[Math.floor(minute / 60)] ?? 0))).reduce(
      (all, weight) => all + weight,
      0,
    );
  return (budget * BigInt(sum(over))) / BigInt(sum(1_440));
}

/** Platforms report what became of some grants that were sent. */
async function settle(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: Made,
  kind: 'fail' | 'credit',
  limit: number,
): Promise<void> {
  const grants = await tx<GrantRow[]>`
    select ${grantColumns(tx)} from bonus_grants g
    where g.campaign_id = ${campaign_id} and g.tenant_id = ${tenant_id} and g.project_id = ${project_id}
      and g.status = ${kind === 'fail' ? tx`any('{pending,active}')` : 'pending'}
    order by g.grant_id limit ${limit} for no key update`;
  const status = kind === 'fail' ? 'failed' : 'active';
  for (const before of grants) {
    const grant: GrantRow = { ...before, status, status_reason: kind === 'fail' ? 'NO' : null };
    await tx`update bonus_grants set status = ${status}, next_attempt_at = null where grant_id = ${before.grant_id}`;
    await Promise.all(settleInCampaigns(tx, [{ before, grant }]));
  }
}
