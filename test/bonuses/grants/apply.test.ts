import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { applyEvent, applyEvents, type Reported } from '../../../src/bonuses/grants/apply.ts';
import type { GrantRow } from '../../../src/bonuses/grants/grant-row.ts';
import { lockGrant } from '../../../src/bonuses/grants/queries.ts';
import { EVENT_NAMES, isLive, type GrantEvent } from '../../../src/bonuses/grants/transition.ts';
import type { Tx } from '../../../src/platform/postgres/port.ts';
import { startTestService, type TestService } from '../../engines/service.ts';
import { runs } from '../../engines/effort.ts';
import { grantsFixture, type GrantsFixture } from './grants-fixture.ts';

let service: TestService;
let on: GrantsFixture;
/** A grant of the service, of which others are copies. */
let model_id: string;
let players: string[];
beforeAll(async () => {
  service = await startTestService({ roles: new Set(['api', 'intake']) });
  on = grantsFixture(service);
  players = await on.client.players(3);
  model_id = (await on.grant(await on.template(), players[0] ?? '')).data.id;
  // The code of members whose grants end by protection is looked up with the player.
  await on.sql`update players set status = 'banned' where player_id = ${players[1] ?? ''}`;
});
afterAll(async () => service?.close());

/** The grants of each world by player, template and campaign: the first two have places of one player and template. */
const GRANTS = [
  { player: 0, template: 0, campaign: 0, is_member: true },
  { player: 0, template: 0, campaign: null, is_member: false },
  { player: 1, template: 0, campaign: 0, is_member: true },
  { player: 1, template: 1, campaign: 1, is_member: true },
  // It only names the campaign.
  { player: 2, template: 1, campaign: 1, is_member: false },
] as const;

interface World {
  templates: string[];
  campaigns: string[];
  grant_ids: string[];
}

/** Pending grants of two templates and two campaigns, with their budgets. */
async function makeWorld(): Promise<World> {
  const { sql } = on;
  const { tenant_id, project_id } = on.tenant;
  const [templates, campaigns] = [0, 1].map(() => [randomUUID(), randomUUID()]) as [string[], string[]];
  const grant_ids: string[] = [];
  for (const [i, { player, template, campaign, is_member }] of GRANTS.entries()) {
    const grant_id = randomUUID();
    grant_ids.push(grant_id);
    const campaign_id = campaign === null ? null : (campaigns[campaign] ?? '');
    const [template_id, player_id] = [templates[template] ?? '', players[player] ?? ''];
    await sql`
      insert into bonus_grants (tenant_id, project_id, grant_id, template_id, template_version, player_id, campaign_id,
        granted_by_kind, terms, slot, status, outcome, adapter_slug, player_external_id, order_body, currency,
        bonus_amount, bonus_amount_base, wagering_required, next_attempt_at, created_at, updated_at, exclusion_group)
      select tenant_id, project_id, ${grant_id}, ${template_id}, 1, ${player_id}, ${campaign_id}::text::uuid, 'api', terms,
        ${i < 2 ? i + 1 : 1}, 'pending', 'sent', 'casino', 'x', '{}', 'EUR', ${100 * (i + 1)}, ${100 * (i + 1)}, 0,
        '2026-01-02T00:00:00Z', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', ${`group ${grant_id}`}
      from bonus_grants where grant_id = ${model_id}`;
    if (is_member)
      await sql`
        insert into bonus_campaign_rows (tenant_id, project_id, campaign_id, player_id, status, grant_id)
        values (${tenant_id}, ${project_id}, ${campaign_id ?? ''}, ${player_id}, 'sent', ${grant_id})`;
  }
  await sql`
    insert into bonus_budgets (tenant_id, project_id, template_id, used_base)
    select tenant_id, project_id, template_id, sum(bonus_amount_base) from bonus_grants
    where template_id in ${sql(templates)} group by 1, 2, 3`;
  await sql`
    insert into bonus_campaign_budgets (tenant_id, project_id, campaign_id, used_base, used_grants, released_to)
    select g.tenant_id, g.project_id, g.campaign_id, sum(bonus_amount_base), count(*), now() from bonus_grants g
    join bonus_campaign_rows r on r.grant_id = g.grant_id where g.campaign_id in ${sql(campaigns)} group by 1, 2, 3`;
  return { templates, campaigns, grant_ids };
}

interface Step {
  grant: number;
  event: GrantEvent;
  event_id: string;
  is_finished: boolean;
}

function reportedOf({ event, event_id, is_finished }: Step, nr: number, before: GrantRow): Reported {
  const received_at = new Date(Date.UTC(2026, 1, 1) + nr * 1_000);
  const report = { event, source: 'webhook' as const, event_id, received_at, data: { nr } };
  const finish = (grant: GrantRow) => ({
    ...grant,
    attempts: grant.attempts + 1,
    last_error: { code: 'X', message: 'a "message"', at: received_at.toISOString() },
    next_attempt_at: isLive(grant.status) ? received_at : null,
  });
  return { before, report, finish: is_finished ? finish : undefined };
}

async function lock(tx: Tx, grant_id: string): Promise<GrantRow> {
  const row = await lockGrant(tx, { ...on.tenant, grant_id });
  if (row === undefined) throw new Error('no such grant');
  return row;
}

/** All that a world has, with indexes for ids. */
async function dump({ templates, campaigns, grant_ids }: World): Promise<unknown> {
  const { sql } = on;
  const grants = await sql`select * from bonus_grants where grant_id in ${sql(grant_ids)}`;
  const history = await sql`
    select * from bonus_grant_events where grant_id in ${sql(grant_ids)} order by seq`;
  const budgets = await sql`select * from bonus_budgets where template_id in ${sql(templates)}`;
  const rows = await sql`select * from bonus_campaign_rows where campaign_id in ${sql(campaigns)}`;
  const held = await sql`
    select campaign_id, used_base, used_grants from bonus_campaign_budgets where campaign_id in ${sql(campaigns)}`;
  const ids = [...grant_ids, ...templates, ...campaigns];
  const text = (value: unknown) =>
    ids.reduce(
      (json, id, i) => json.replaceAll(id, `id ${i}`),
      JSON.stringify(value, (_key, one: unknown) => (typeof one === 'bigint' ? String(one) : one)),
    );
  return [grants, history, budgets, rows, held].map((table) => table.map(text).sort());
}

/** Budgets are what the grants cost, and what campaigns hold is what their members' grants cost. */
async function checkBudgets({ templates, campaigns }: World): Promise<void> {
  const { sql } = on;
  const wrong = await sql`
    select b.template_id::text from bonus_budgets b where template_id in ${sql(templates)} and used_base <> (
      select coalesce(sum(g.bonus_amount_base), 0) from bonus_grants g
      where g.template_id = b.template_id and g.status not in ('cancelled', 'failed'))
    union all
    select b.campaign_id::text from bonus_campaign_budgets b where campaign_id in ${sql(campaigns)}
      and (used_base, used_grants) <> (
        select coalesce(sum(g.bonus_amount_base), 0), count(*)::integer from bonus_grants g
        join bonus_campaign_rows r on r.grant_id = g.grant_id
        where g.campaign_id = b.campaign_id and g.status not in ('cancelled', 'failed'))`;
  expect(wrong).toEqual([]);
}

const anyStep: fc.Arbitrary<Step> = fc.record({
  grant: fc.nat({ max: GRANTS.length - 1 }),
  event: fc.record(
    {
      name: fc.constantFrom(...EVENT_NAMES),
      at_ms: fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2026, 0, 9) }),
      platform_bonus_id: fc.constantFrom('pb', 'other'),
      amount: fc.bigInt({ min: 0n, max: 10n ** 6n }),
      total_wagered: fc.bigInt({ min: 0n, max: 10n ** 20n }),
      released_amount: fc.bigInt({ min: 0n, max: 10n ** 5n }),
      reason: fc.constantFrom('PLAYER_EXCLUDED', 'KYC_LEVEL', "it's \\ over"),
    },
    { requiredKeys: ['name', 'at_ms'] },
  ),
  event_id: fc.uuid(),
  is_finished: fc.boolean(),
});

it('reports applied together end as one after the other, and budgets are the sums of their grants', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyStep, { minLength: 1, maxLength: 24 }),
      fc.integer({ min: 1, max: 24 }),
      async (steps, of_a_set) => {
        const [together, alone] = [await makeWorld(), await makeWorld()];
        const answers: unknown[][] = [[], []];
        for (let from = 0; from < steps.length; from += of_a_set) {
          const set = steps.slice(from, from + of_a_set);
          const applied = await on.sql.begin(async (tx) => {
            const reports: Reported[] = [];
            const ids = [...new Set(set.map(({ grant }) => together.grant_ids[grant] ?? ''))].sort();
            const rows = new Map<string, GrantRow>();
            for (const id of ids) rows.set(id, await lock(tx, id));
            for (const [i, step] of set.entries())
              reports.push(
                reportedOf(step, from + i, rows.get(together.grant_ids[step.grant] ?? '') as GrantRow),
              );
            return applyEvents(tx, reports);
          });
          for (const { applied: moved, changed, new_status } of applied)
            answers[0]?.push({ moved, changed, new_status });
          // What it resolves with is what the rows are.
          for (const { grant } of applied)
            expect(grant).toEqual(await on.sql.begin((tx) => lock(tx, grant.grant_id)));
          await checkBudgets(together);
        }
        for (const [nr, step] of steps.entries()) {
          const { applied, changed, new_status } = await on.sql.begin(async (tx) => {
            const { before, report, finish } = reportedOf(
              step,
              nr,
              await lock(tx, alone.grant_ids[step.grant] ?? ''),
            );
            return applyEvent(tx, before, report, finish);
          });
          answers[1]?.push({ moved: applied, changed, new_status });
        }
        expect(answers[0]).toEqual(answers[1]);
        expect(await dump(together)).toEqual(await dump(alone));
      },
    ),
    { numRuns: runs(60) },
  );
});

it('grants of one player and template that turn out to exist together take places of their own', async () => {
  const world = await makeWorld();
  const [one = '', two = ''] = world.grant_ids;
  const at_ms = Date.UTC(2026, 0, 2);
  const steps = (['bonus.rejected', 'bonus.credited'] as const).flatMap((name) =>
    [0, 1].map((grant) => ({ grant, event: { name, at_ms }, event_id: randomUUID(), is_finished: false })),
  );
  const applied = await on.sql.begin(async (tx) => {
    const rows = [await lock(tx, one), await lock(tx, two)];
    return applyEvents(
      tx,
      steps.map((step, nr) => reportedOf(step, nr, rows[step.grant] as GrantRow)),
    );
  });
  expect(applied.map(({ grant: { slot } }) => slot)).toEqual([3, 4, 3, 4]);
  await checkBudgets(world);
  expect(
    await on.sql`
    select slot, status, exclusion_group, needs_review from bonus_grants
    where grant_id in ${on.sql([one, two])} and tenant_id = ${on.tenant.tenant_id} order by slot`,
  ).toEqual([
    { slot: 3, status: 'active', exclusion_group: null, needs_review: true },
    { slot: 4, status: 'active', exclusion_group: null, needs_review: true },
  ]);
});
