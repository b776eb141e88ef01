import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { reserveGrants } from '../../src/bonuses/grants/reserve.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { NO_FAULTS } from '../bonuses/fake-platform.ts';
import { runs, SEED } from '../engines/effort.ts';
import { until } from '../engines/until.ts';
import { BonusHarness } from './bonus-harness.ts';
import { Random } from './random.ts';

const KILLS = runs(4, { nightly: 40, nightly_on_servers: 8 });
const PER_KILL = 60;

let harness: BonusHarness;
beforeAll(async () => {
  harness = await BonusHarness.open();
});
afterAll(async () => harness?.close());

it(
  'credits every grant once, and knows it, whenever the sender is killed',
  async () => {
    const { project, template_id } = await harness.newProject();
    const { tenant_id, project_id } = project;
    const { sql, fake } = harness;
    await fake.control({
      faults: { ...NO_FAULTS, seed: SEED, delay_ms: 30, error_after: 0.1, lost: 0.1, drop: 0.1 },
    });
    const random = new Random(SEED);
    for (let kill = 0; kill < KILLS; kill++) {
      for (let n = 0; n < PER_KILL; n++) {
        const player_id = randomUUID();
        await sql.begin(async (tx) => {
          await tx`insert into players (tenant_id, project_id, player_id, default_currency_code, created_at, updated_at)
            values (${tenant_id}, ${project_id}, ${player_id}, 'EUR', now(), now())`;
          const by = {
            granted_by_kind: 'journey',
            granted_by_id: randomUUID(),
            deposit_amount: null,
            qualifying_product: null,
          } as const;
          const grant = { ...project, player_id, template_id, grant_id: randomUUID(), ...by };
          expect(await reserveGrants(tx, systemClock, [grant])).toEqual(new Map());
        });
      }
      const before = (await fake.ledger()).calls.length;
      const stop = await harness.startSender();
      const more = random.integer(0, PER_KILL);
      await until(async (saw) => saw((await fake.ledger()).calls.length) >= before + more);
      await stop();
      await harness.endClaims();
    }
    await fake.control({ faults: NO_FAULTS });
    const stop = await harness.startSender();
    try {
      await harness.drained();
    } finally {
      await stop();
    }
    const all = KILLS * PER_KILL;
    const { bonuses } = await fake.ledger();
    expect(bonuses).toHaveLength(all);
    expect(bonuses.filter(({ credits }) => credits !== 1)).toEqual([]);
    const rows = await sql<{ status: string; outcome: string; grants: number; base: string }[]>`
      select status, outcome, count(*)::integer as grants, sum(bonus_amount_base)::text as base from bonus_grants
      group by 1, 2`;
    expect([...rows]).toEqual([
      { status: 'active', outcome: 'confirmed', grants: all, base: String(all * 1_000) },
    ]);
    const [budget] = await sql<{ used_base: string }[]>`select used_base::text from bonus_budgets`;
    expect(budget?.used_base).toBe(String(all * 1_000));
    // Some calls were lost, and asked about.
    const [lost] = await sql<{ grants: number }[]>`
      select count(*)::integer as grants from bonus_grants where calls > 1`;
    expect(lost?.grants).toBeGreaterThan(0);
  },
  120_000 + KILLS * 10_000,
);
