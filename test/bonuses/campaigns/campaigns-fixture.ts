import { expect } from 'vitest';
import { noteReleased } from '../../../src/bonuses/campaigns/release-queries.ts';
import { countRows } from '../../../src/bonuses/campaigns/stats-queries.ts';
import type { Body } from '../../engage/messaging/messaging-client.ts';
import { type TestService } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { grantsFixture } from '../grants/grants-fixture.ts';

/** A campaign as the API shows it. */
export interface ShownCampaign extends Record<string, unknown> {
  id: string;
  status: string;
  stats: { pending: number; granted: number; skipped: number; failed: number };
  skips: Record<string, number>;
  cost: Record<string, number>;
  last_error: string | null;
}

/** Campaigns of a new tenant. */
export async function campaignsFixture(service: TestService, base_currency?: string) {
  const on = grantsFixture(service, await service.newTenant(base_currency));
  const path = '/v1/bonus-campaigns';
  return {
    ...on,
    create: (body: Body) => on.client.api<ShownCampaign>('POST', path, { name: 'campaign', ...body }),
    patch: (id: string, body: Body) => on.client.api<ShownCampaign>('PATCH', `${path}/${id}`, body),
    issue: (id: string, headers: Record<string, string> = {}, query = '') =>
      on.client.api<ShownCampaign>('POST', `${path}/${id}/issue${query}`, undefined, headers),
    show: async (id: string) => (await on.client.api<ShownCampaign>('GET', `${path}/${id}`)).data,
    reaches: (id: string, is: (campaign: ShownCampaign) => boolean) =>
      until(
        'the campaign is as asked',
        async (saw) => {
          const { data } = saw(await on.client.api<ShownCampaign>('GET', `${path}/${id}`));
          return is(data) ? data : undefined;
        },
        40_000,
      ),
  };
}
export type CampaignsFixture = Awaited<ReturnType<typeof campaignsFixture>>;

/** Nothing of the campaign is released for an hour, as if its rate were used up so far. */
export const holdRelease = (on: CampaignsFixture, campaign_id: string) =>
  usedTo(on, campaign_id, new Date(Date.now() + 3_600_000));

/** Nothing of the campaign's rate is used ahead, or of the last milliseconds: so much may be released at once. */
export const release = (on: CampaignsFixture, campaign_id: string, unused_ms = 0) =>
  usedTo(on, campaign_id, new Date(Date.now() - unused_ms));

const usedTo = ({ sql, tenant }: CampaignsFixture, campaign_id: string, released_to: Date) =>
  noteReleased(sql, { ...tenant, campaign_id }, released_to);

/** How many rows of the campaign have the status. */
export async function countOf(on: CampaignsFixture, campaign_id: string, status: string): Promise<number> {
  const rows = await on.sql`
    select from bonus_campaign_rows where campaign_id = ${campaign_id} and status = ${status}`;
  return rows.length;
}

/** A campaign of which all of these players are reserved, and none released: its tenant has paused its bonuses. */
export async function reserved(on: CampaignsFixture, players: readonly string[], rest: Body) {
  const segment_id = await on.client.segment([...players]);
  const { data } = await on.create({ segment_id, ...rest });
  await on.config({ paused: true });
  await on.issue(data.id);
  await holdRelease(on, data.id);
  await on.config({ paused: false });
  await until(
    'all are reserved',
    async (saw) => saw(await countOf(on, data.id, 'reserved')) === players.length,
  );
  return data.id;
}

export const sumOf = ({ stats }: ShownCampaign) =>
  stats.pending + stats.granted + stats.skipped + stats.failed;

/** The limits and the counts hold what the grants cost and what reserved members are promised; each member has at most one grant, and its row says what became of it. */
export async function consistent(on: CampaignsFixture, campaign_id: string): Promise<void> {
  await on.budgets();
  const [row] = await on.sql<
    { used: string; cost: string; grants: number; counted: number; doubles: number }[]
  >`
    select b.used_base::text as used, b.used_grants as grants,
      (coalesce((select sum(g.bonus_amount_base) from bonus_grants g where g.campaign_id = b.campaign_id
          and g.status not in ('cancelled', 'failed')), 0)
        + coalesce((select sum(r.cost_base) from bonus_campaign_rows r where r.campaign_id = b.campaign_id
          and r.status = 'reserved'), 0))::text as cost,
      (select count(*)::integer from bonus_grants g where g.campaign_id = b.campaign_id
          and g.status not in ('cancelled', 'failed'))
        + (select count(*)::integer from bonus_campaign_rows r where r.campaign_id = b.campaign_id
          and r.status = 'reserved') as counted,
      (select count(*)::integer - count(distinct g.player_id)::integer from bonus_grants g
        where g.campaign_id = b.campaign_id) as doubles
    from bonus_campaign_budgets b where b.campaign_id = ${campaign_id}`;
  expect(row?.used).toBe(row?.cost);
  expect(row?.grants).toBe(row?.counted);
  expect(row?.doubles).toBe(0);
  const counted = await countRows(on.sql, on.tenant, [campaign_id]);
  const rows = await on.sql`
    select r.campaign_id, r.status, case when r.status = 'skipped' then r.code end as code, count(*)::integer as rows,
      sum(r.cost_base)::text as cost, sum(r.released_base)::text as released,
      coalesce(sum(greatest(r.cost_base - r.released_base, 0)) filter (where not r.is_open), 0)::text as ended_unreleased,
      coalesce(sum(r.cost_base) filter (where r.is_open), 0)::text as open
    from bonus_campaign_rows r where r.campaign_id = ${campaign_id} group by 1, 2, 3`;
  const inOrder = (all: readonly object[]) => all.map((one) => JSON.stringify(one)).sort();
  expect(inOrder(counted)).toEqual(inOrder(rows));
}
