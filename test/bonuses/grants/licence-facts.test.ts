import { afterAll, beforeAll, expect, it } from 'vitest';
import { runLicenceHistoryJob } from '../../../src/ledger/licence-history/job.ts';
import { folded, type TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { until } from '../../engines/until.ts';
import { campaignsFixture } from '../campaigns/campaigns-fixture.ts';

// What a licence asks of a player's withdrawals and limits, of single grants and of members of campaigns.

const RULE = 'spain_no_bonus_when';
const MONEY = { transaction_id: 'w-1', amount: 5_000, currency: 'EUR' };

let service: TestService;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(async () => service?.close());

/** A Spanish operator with a player without either, one who waits for money and one who raised a limit. */
async function spanish(severity: 'enforce' | 'warn') {
  const on = await campaignsFixture(service);
  const body = { license_jurisdiction: 'dgoj', config: { license_rules: { [RULE]: { severity } } } };
  expect((await on.client.api('PATCH', '/v1/tenant/config', body)).status).toBe(200);
  const players = await on.client.players(4);
  const [, waiting = '', raised = '', lowered = ''] = players;
  for (const player_id of players)
    await on.sql`update players set custom_attributes = '{"rg_risk": "none"}' where player_id = ${player_id}`;
  await on.client.event(waiting, 'withdrawal_requested', MONEY);
  const limit = (player_id: string, amount: number, period = 'daily') =>
    on.client.event(player_id, 'deposit_limit_set', { amount, period, currency: 'EUR' });
  await limit(raised, 10_000);
  await limit(raised, 20_000);
  // Another limit is no raise of this one.
  await limit(lowered, 10_000);
  await limit(lowered, 50_000, 'monthly');
  await limit(lowered, 5_000);
  await folded(service.platform);
  return { ...on, players };
}

const answerOf = ({ status, error }: { status: number; error: unknown }) => {
  const { details = {}, message = '' } = (error ?? {}) as {
    details?: Record<string, unknown>;
    message?: string;
  };
  return [status, details['rule_id'], details['missing_trait'], message.split(': ').at(-1)];
};

it('an enforced rule refuses who waits for a withdrawal or raised a limit, and nobody else', async () => {
  const on = await spanish('enforce');
  const template_id = await on.template();
  const { data } = await on.create({ template_id, segment_id: await on.client.segment(on.players) });
  expect((await on.issue(data.id, {}, '?dry_run=true')).data).toMatchObject({
    would_grant: 2,
    skips: { LICENCE_RULE: 2 },
  });
  const [free = '', waiting = '', raised = '', lowered = ''] = on.players;
  expect((await on.grant(template_id, free)).status).toBe(201);
  expect((await on.grant(template_id, lowered)).status).toBe(201);
  expect(answerOf(await on.grant(template_id, waiting))).toEqual([
    422,
    RULE,
    undefined,
    'a withdrawal is pending',
  ]);
  expect(answerOf(await on.grant(template_id, raised))).toEqual([
    422,
    RULE,
    undefined,
    'a deposit limit was raised 0 days ago',
  ]);
  await on.client.event(waiting, 'withdrawal_failed', MONEY);
  await on.sql`update deposit_limits set occurred_at = occurred_at - interval '30 days' where player_id = ${raised}`;
  await folded(service.platform);
  const rest = await on.create({ template_id, segment_id: await on.client.segment([waiting, raised]) });
  await on.issue(rest.data.id);
  const { stats } = await on.reaches(rest.data.id, ({ status }) => status === 'issued');
  expect(stats).toMatchObject({ granted: 2, skipped: 0 });
});

it('a rule that warns is shown, of grants and of members', async () => {
  const on = await spanish('warn');
  const template_id = await on.template();
  const warned = async (id: string) => {
    const { history } = await on.get(id);
    const { data } = history[0] as unknown as { data: { licence_warnings?: { rule_id: string }[] } };
    return data.licence_warnings?.some(({ rule_id }) => rule_id === RULE) ?? false;
  };
  const grants = await Promise.all(on.players.map((player_id) => on.grant(template_id, player_id)));
  expect(await Promise.all(grants.map(({ data }) => warned(data.id)))).toEqual([false, true, true, false]);
  const { data } = await on.create({
    template_id: await on.template(),
    segment_id: await on.client.segment(on.players),
  });
  await on.issue(data.id);
  await on.reaches(data.id, ({ status }) => status === 'issued');
  const rows = await on.sql<{ grant_id: string; player_id: string }[]>`
    select grant_id, player_id from bonus_grants where campaign_id = ${data.id}`;
  const of_players = new Map(
    await Promise.all(
      rows.map(async ({ grant_id, player_id }) => [player_id, await warned(grant_id)] as const),
    ),
  );
  expect(on.players.map((player_id) => of_players.get(player_id))).toEqual([false, true, true, false]);
});

it('what was there before it was kept is read from the ledger and the events', async () => {
  const on = await spanish('enforce');
  const { tenant_id, project_id } = on.tenant;
  const facts = () => on.sql`
    select (select array_agg(reference) from open_withdrawals where tenant_id = ${tenant_id}) as withdrawals,
      (select array_agg(l::text order by l.player_id, l.occurred_at, l.amount) from deposit_limits l
        where tenant_id = ${tenant_id}) as limits`;
  const before = await facts();
  expect(before).toMatchObject([{ withdrawals: ['w-1'], limits: { length: 5 } }]);
  await on.sql`delete from open_withdrawals where tenant_id = ${tenant_id}`;
  await on.sql`delete from deposit_limits where tenant_id = ${tenant_id}`;
  await on.sql`insert into licence_history (tenant_id, project_id) values (${tenant_id}, ${project_id})`;
  // The scheduler may do it at the same time.
  await until('the history is read', async (saw) => {
    await runLicenceHistoryJob(service.platform, new AbortController().signal, 2);
    return saw(await on.sql`select from licence_history where tenant_id = ${tenant_id}`).length === 0;
  });
  expect(await facts()).toEqual(before);
});
