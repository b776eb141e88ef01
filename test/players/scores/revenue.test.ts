import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readRevenue } from '../../../src/players/scores/nightly/deposit-queries.ts';
import { reportingSettingsOf, type Deduction } from '../../../src/tenants/config/read.ts';
import type { Fixture, Tenant } from '../../http/api-fixture.ts';
import { sharedFixture } from '../../http/shared-fixture.ts';

// What a deposited unit brings is the NGR that the project defines.

let fixture: Fixture;
let tenant: Tenant;
beforeAll(async () => {
  fixture = await sharedFixture();
  tenant = await fixture.makeTenant();
  const { tenant_id, project_id } = tenant;
  const { clickhouse } = fixture.platform;
  const line = (row: object) => JSON.stringify({ tenant_id, project_id, revision: 1, ...row });
  const [ann, ben, gone] = [randomUUID(), randomUUID(), randomUUID()];
  const players = [
    { player_id: ann, total_deposited: 3_000, ngr: '470' },
    { player_id: ben, total_deposited: 1_000, ngr: '-300' },
    { player_id: gone, total_deposited: 9_000, ngr: '9000', deleted_at: Date.now() },
  ];
  const bet = { stake_counted: 1_005, payout_counted: 500, bonus_stake_counted: 40, bonus_payout_counted: 5 };
  const events = [
    { player_id: ann, event: 'deposit_confirmed', base_amount: 3_050 },
    { player_id: ann, event: 'bet_settled', ...bet },
    { player_id: ann, event: 'bonus_completed', base_payout: 25 },
    { player_id: ben, event: 'deposit_confirmed', base_amount: 1_000 },
    { player_id: ben, event: 'sport_bet_settled', stake_counted: 200, payout_counted: 300 },
    { player_id: ben, event: 'balance_credited', stake_counted: 200 },
    { player_id: gone, event: 'bet_settled', ...bet },
  ];
  await clickhouse.insertLines('players', players.map(line), randomUUID());
  await clickhouse.insertLines(
    'events',
    events.map((row) =>
      line({
        occurred_at: Date.now(),
        received_at: Date.now(),
        ingestion_id: randomUUID(),
        event_index: 0,
        properties: {},
        ...row,
      }),
    ),
    randomUUID(),
  );
});
afterAll(() => fixture.close());

const deductions: Deduction[] = [
  { name: 'duty', product: 'casino', basis: 'ggr', bp: 1_000 },
  { name: 'levy', basis: 'stakes', bp: 100 },
  { name: 'payments', basis: 'deposits', bp: 200 },
];

it.each([
  ['the totals of the players', {}, 470 - 300],
  // Casino 505, sport -100; 25 released.
  ['grants', { bonus_cost: 'grants' as const }, 505 - 100 - 25],
  // 10 % of 505 are 50.5, to even 50; 1 % of 1,205 are 12.05; 2 % of 4,050 are 81.
  ['deductions', { deductions }, 505 - 35 - 100 - 200 - 50 - 12 - 81],
  ['grants, less deductions', { bonus_cost: 'grants' as const, deductions }, 505 - 100 - 25 - 50 - 12 - 81],
])('NGR by %s', async (_name, reporting, ngr) => {
  const { clickhouse } = fixture.platform;
  expect(await readRevenue(clickhouse, tenant, reportingSettingsOf({ config: { reporting } }))).toEqual({
    ngr: String(ngr),
    total_deposited: '4000',
  });
});
