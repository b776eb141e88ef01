import { afterAll, beforeAll, expect, it } from 'vitest';
import { newId } from '../../src/platform/ids.ts';
import type { Db } from '../../src/platform/postgres/port.ts';
import { openEarlierSchema, type EarlierSchema } from './earlier-schema.ts';

/** The first migration after the schema that is filled here. */
const ONE_LEDGER = 54;

let earlier: EarlierSchema;
let sql: Db;
beforeAll(async () => {
  earlier = await openEarlierSchema(ONE_LEDGER);
  sql = earlier.sql;
});
afterAll(() => earlier?.close());

const [TENANT, OTHER_TENANT, PROJECT, OTHER_PROJECT] = [newId(), newId(), newId(), newId()];
const [ANNA, BEN] = [newId(), newId()];
const AT = Date.UTC(2026, 2, 1);

it('the ledger of the version before keeps every row, restatement and pending correction', async () => {
  await fill();
  const [sums] = await sql`select count(*)::int as rows, sum(base_amount)::text as amounts from ledger`;
  await earlier.upgrade();

  expect(await sql`select count(*)::int as rows, sum(base_amount)::text as amounts from ledger`).toEqual([sums]);
  const rows = await sql`
    select p.project_id, l.reference, l.ordinal, l.event, l.player_id, l.base_amount, l.log_offset
    from ledger l join projects p using (project_no) order by l.log_offset`;
  expect(rows.map((row) => ({ ...row }))).toEqual([
    row(PROJECT, 'b', 0, 'sport_bet_placed', ANNA, 100n, 1n),
    row(PROJECT, 'b', 1, 'sport_bet_settled', ANNA, 100n, 2n),
    row(PROJECT, 'b', 2, 'sport_bet_settled', ANNA, 100n, 3n),
    row(PROJECT, 'b', 3, 'deposit_confirmed', BEN, 40n, 4n),
    row(OTHER_PROJECT, 'b', 0, 'deposit_confirmed', BEN, 7n, 5n),
    row(PROJECT, 'sek', 0, 'deposit_confirmed', BEN, null, 6n),
  ]);
  // The correction and the adjustment are of the second settlement.
  expect(await sql`select reference, ordinal from event_corrections`).toEqual([{ reference: 'b', ordinal: 2 }]);
  expect(await sql`select reference, ordinal, base_amount from ledger_adjustments`).toEqual([
    { reference: 'b', ordinal: 2, base_amount: 99n },
  ]);
  // Every state of a bet that is read from now on is at least as new as the one that was counted.
  expect(await sql`select bet_id, revision from bonus_contributions order by bet_id`).toEqual([
    { bet_id: 'b', revision: 0n },
    { bet_id: 'reported', revision: 5n },
  ]);
  const numbers = await sql<{ n: number }[]>`select project_no as n from projects`;
  expect(new Set(numbers.map(({ n }) => n)).size).toBe(2);
});

function row(
  project_id: string,
  reference: string,
  ordinal: number,
  event: string,
  player_id: string,
  base_amount: bigint | null,
  log_offset: bigint,
) {
  return { project_id, reference, ordinal, event, player_id, base_amount, log_offset };
}

/** Two projects with the same bet_id, a corrected bet, a deposit of the same reference, and one without a rate. */
async function fill(): Promise<void> {
  for (const [tenant_id, project_id] of [
    [TENANT, PROJECT],
    [OTHER_TENANT, OTHER_PROJECT],
  ] as const) {
    await sql`insert into tenants (tenant_id, name, base_currency) values (${tenant_id}, 'T', 'EUR')`;
    await sql`insert into projects (tenant_id, project_id, name) values (${tenant_id}, ${project_id}, 'P')`;
  }
  const claims = [
    [TENANT, PROJECT, 'b', 'sport_bet_placed', 0, ANNA, AT, 'EUR', 100, 100],
    [TENANT, PROJECT, 'b', 'sport_bet_settled', AT + 1, ANNA, AT + 1, 'EUR', 100, 100],
    [TENANT, PROJECT, 'b', 'sport_bet_settled', AT + 2, ANNA, AT + 2, 'EUR', 100, 100],
    [TENANT, PROJECT, 'b', 'deposit_confirmed', 0, BEN, AT, 'EUR', 40, 40],
    [OTHER_TENANT, OTHER_PROJECT, 'b', 'deposit_confirmed', 0, BEN, AT, 'EUR', 7, 7],
    [TENANT, PROJECT, 'sek', 'deposit_confirmed', 0, BEN, AT, 'SEK', 500, null],
  ] as const;
  let log_offset = 0;
  for (const [tenant_id, project_id, reference, event, occurrence, player, at, currency, amount, base] of claims) {
    log_offset++;
    await sql`
      insert into ledger (tenant_id, project_id, reference, event, occurrence, player_id, occurred_at, currency, amount,
        base_amount, ingestion_id, event_index, log_partition, log_offset)
      values (${tenant_id}, ${project_id}, ${reference}, ${event}::money_event, ${occurrence}, ${player},
        ${new Date(at)}, ${currency}, ${amount}, ${base}, ${newId()}, 0, 0, ${log_offset})`;
  }
  const corrected = [TENANT, PROJECT, 'b', 'sport_bet_settled', AT + 2] as const;
  await sql`insert into event_corrections (tenant_id, project_id, reference, event, occurrence)
    values (${corrected[0]}, ${corrected[1]}, ${corrected[2]}, ${corrected[3]}::money_event, ${corrected[4]})`;
  await sql`insert into ledger_adjustments (tenant_id, project_id, reference, event, occurrence, base_amount, adjusted_at)
    values (${corrected[0]}, ${corrected[1]}, ${corrected[2]}, ${corrected[3]}::money_event, ${corrected[4]}, 99, now())`;
  await sql`insert into bets (tenant_id, project_id, kind, bet_id, status, revision)
    values (${TENANT}, ${PROJECT}, 'sport', 'b', 'settled', 9)`;
  for (const [bet_id, revision, is_of_ledger] of [
    ['b', 9, true],
    ['reported', 5, false],
  ] as const) {
    await sql`
      insert into bonus_contributions (tenant_id, project_id, kind, bet_id, player_id, state, stake, currency,
        occurred_at, revision, is_of_ledger)
      values (${TENANT}, ${PROJECT}, 'sport', ${bet_id}, ${ANNA}, 'settled', 100, 'EUR', now(), ${revision},
        ${is_of_ledger})`;
  }
}
