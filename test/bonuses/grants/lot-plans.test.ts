import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startExplainedService, type ExplainedService } from '../../platform/postgres/statement-plans.ts';
import { growTo } from '../../platform/postgres/growth-queries.ts';
import { grantsFixture, type GrantsFixture } from './grants-fixture.ts';

// Transactions that requests share keep the plans of their statements. These were made while the tables were empty.

const AT_ONCE = 12;
const LARGE = 20_000;
/** What a lot of 12 reads and writes; a look-up that reads a whole table for each of them reads hundreds of thousands. */
const MOST_BLOCKS = 2_000;

let explained: ExplainedService;
let on: GrantsFixture;
let casino: { slug: string; secret: string };
beforeAll(async () => {
  explained = await startExplainedService({ roles: new Set(['api', 'intake']) });
  on = grantsFixture(explained.service);
  const slug = `lots-${randomUUID().slice(0, 8)}`;
  const made = await on.client.api('POST', '/v1/adapters', { slug, kind: 'sandbox' });
  casino = { slug, secret: String(made.data['secret']) };
});
afterAll(async () => explained?.service.close());

/** Grants that are asked for together, each under a key, and what their platform reports of all of them together. */
async function grantTogether(template_id: string): Promise<string[]> {
  const players = await on.client.players(AT_ONCE);
  const answers = await Promise.all(
    players.map((player_id) => on.grant(template_id, player_id, {}, { 'idempotency-key': randomUUID() })),
  );
  expect(answers.map(({ status }) => status)).toEqual(players.map(() => 201));
  const reported = await Promise.all(
    answers.map(({ data: { id, platform_bonus_id } }) =>
      on.event(casino, 'bonus.completed', id, { platform_bonus_id }),
    ),
  );
  expect(reported.map(({ status }) => status)).toEqual(players.map(() => 200));
  return answers.map(({ data }) => data.id);
}

it('statements whose plans are kept read few rows when the tables have grown', async () => {
  const template_id = await on.template({ max_grants_per_player: 3, budget_base: 100_000_000 });
  let grant_id = '';
  for (let round = 0; round < 8; round++) [grant_id = ''] = await grantTogether(template_id);
  await growTo(explained.service, LARGE, []);
  await on.sql`
    insert into bonus_grants (tenant_id, project_id, grant_id, template_id, template_version, player_id, granted_by_kind,
      terms, slot, status, outcome, adapter_slug, player_external_id, order_body, currency, bonus_amount,
      bonus_amount_base, wagering_required, activated_at, created_at, updated_at)
    select tenant_id, project_id, md5('g' || i)::uuid, template_id, 1, md5(i::text)::uuid, 'manual', terms, 1, 'active',
      'confirmed', adapter_slug, player_external_id, order_body, currency, bonus_amount, bonus_amount_base,
      wagering_required, now(), now() - i * interval '1 second', now()
    from bonus_grants, generate_series(1, ${LARGE}::integer) i where grant_id = ${grant_id}`;
  await on.sql`
    insert into bonus_grant_events (tenant_id, project_id, grant_id, seq, event, source, to_status, occurred_at,
      received_at, data)
    select tenant_id, project_id, grant_id, 1, 'bonus.requested', 'api', 'active', now(), now(), '{}'
    from bonus_grants where grant_id <> ${grant_id} and activated_at is not null and seq = 0`;
  await explained.executions();
  await grantTogether(template_id);
  const executions = await explained.executions();
  // How many statements there are depends on how many lots the grants come in.
  for (const table of ['bonus_grants', 'players']) {
    const grown = new RegExp(`^(?:Seq Scan|Index Scan|Bitmap Heap Scan) ${table}\\b`);
    expect(
      executions.filter(({ scans }) => scans.some((scan) => grown.test(scan))).length,
      table,
    ).toBeGreaterThan(0);
  }
  const heavy = executions.filter(
    ({ blocks, scans }) =>
      blocks > MOST_BLOCKS || scans.some((scan) => /^Seq Scan (?:bonus_grant|player)/.test(scan)),
  );
  expect(heavy).toEqual([]);
});
