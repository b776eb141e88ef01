import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Random } from '../../crash/random.ts';
import { startTestService, type TestService } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { runsFromEnvironment } from '../../oracle/settings.ts';
import { NO_FAULTS, type FakeBonus } from '../fake-platform.ts';
import { grantsFixture, type GrantsFixture } from './grants-fixture.ts';

/** Grants that live through a platform with faults; `npm run search-bonus-lives` runs more. */
const LIVES = runsFromEnvironment('BONUS_LIVES', 2_000);
const SEED = runsFromEnvironment('PROPERTY_SEED', Date.now() % 1_000_000);
const AT_ONCE = 16;

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(async () => service?.close());

it(
  `whatever the platform does, it credits each grant at most once, and both ledgers end equal (seed ${SEED})`,
  async () => {
    const on = grantsFixture(service, await service.newTenant());
    const casino = await on.adapter({ timeout_ms: 500, max_in_flight: 64 });
    try {
      await live(on, casino);
    } finally {
      await casino.close();
    }
  },
  60_000 + LIVES * 200,
);

async function live(on: GrantsFixture, casino: Awaited<ReturnType<GrantsFixture['adapter']>>): Promise<void> {
  const random = new Random(SEED);
  const { fake } = casino;
  const { tenant_id } = on.tenant;
  const template_id = await on.template({ budget_base: LIVES * 1_000 });
  const players = await on.client.players(LIVES);
  const faults = { drop: 0.06, error_before: 0.05, error_after: 0.07, lost: 0.05, rate_limit: 0.04 };
  const order = { accept: 0.2, early: 0.2, duplicate: 0.2, reorder: 0.2, lie: 0.1, delay_ms: 20 };
  await fake.control({ faults: { ...NO_FAULTS, ...faults, ...order, seed: SEED } });
  const over = new AbortController();
  // Makes calls due before their time, also those that are being made: as if their process had died.
  const hurrying = (async () => {
    while (!over.signal.aborted) {
      await on.sql`
        update bonus_grants set next_attempt_at = now()
        where tenant_id = ${tenant_id} and next_attempt_at > now() and random() < 0.3`;
      await sleep(100);
    }
  })();
  const queue = players.map((player_id) => async () => {
    await on.grant(template_id, player_id);
    const [row] = await on.sql<{ grant_id: string }[]>`
      select grant_id from bonus_grants where player_id = ${player_id} and tenant_id = ${tenant_id}`;
    const grant_id = row?.grant_id ?? '';
    const move = (event: string, data = {}) => fake.move({ grant_id, event, data }).catch(() => 0);
    for (let step = random.integer(0, 3); step > 0; step--) {
      const doing = random.integer(0, 5);
      if (doing === 0) await on.cancel(grant_id);
      else if (doing === 1) await move('bonus.completed', { released_amount: 5 });
      else if (doing === 2) await move(random.pick(['bonus.expired', 'bonus.forfeited', 'bonus.lost']));
      else if (doing === 3) await move('bonus.credited');
      else await move('bonus.wagered', { total_wagered: random.integer(1, 100) });
    }
  });
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let one = queue.pop(); one !== undefined; one = queue.pop()) await one();
    }),
  );
  await fake.control({ faults: NO_FAULTS });
  await fake.settle();
  await until(async () => {
    const due = await on.sql`
      select from bonus_grants where tenant_id = ${tenant_id} and status in ('pending', 'active')
        and (next_attempt_at is not null and (outcome <> 'confirmed' or cancel_requested_at is not null)) limit 1`;
    return due.length === 0;
  });
  over.abort();
  await hurrying;
  await compare(on, (await fake.ledger()).bonuses);
  await on.budgets();
}

async function compare(on: GrantsFixture, bonuses: readonly FakeBonus[]): Promise<void> {
  const at_platform = new Map(bonuses.map((bonus) => [bonus.grant_id, bonus]));
  const rows = await on.sql<
    { grant_id: string; status: string; needs_review: boolean; next_attempt_at: Date | null }[]
  >`
    select grant_id, status, needs_review, next_attempt_at from bonus_grants where tenant_id = ${on.tenant.tenant_id}`;
  expect(rows).toHaveLength(LIVES);
  expect(bonuses.filter(({ credits }) => credits > 1)).toEqual([]);
  const counts: Record<string, number> = {};
  for (const { grant_id, status, needs_review, next_attempt_at } of rows) {
    counts[status] = (counts[status] ?? 0) + 1;
    const bonus = at_platform.get(grant_id);
    const what = `${grant_id}: ${status}, at the platform ${bonus?.status ?? 'nothing'}`;
    if (status === 'pending') expect(next_attempt_at ?? needs_review, what).not.toBe(null);
    // A pending bonus of the platform may have been reported by an event that says more.
    else if (bonus !== undefined && !needs_review)
      expect(bonus.status === 'pending' ? 'active' : bonus.status, what).toBe(status);
    else if (bonus === undefined) expect(['cancelled', 'failed'], what).toContain(status);
  }
  const broken = await on.sql`
    select e.grant_id from bonus_grant_events e
    left join bonus_grant_events before on before.grant_id = e.grant_id and before.seq = e.seq - 1
    where e.tenant_id = ${on.tenant.tenant_id}
      and (e.from_status is distinct from before.to_status or (e.seq > 1) <> (before.seq is not null))`;
  expect(broken).toEqual([]);
  // Enough of each for the comparison to mean something.
  expect(counts['active'] ?? 0, JSON.stringify(counts)).toBeGreaterThan(LIVES / 20);
  expect(counts['completed'] ?? 0, JSON.stringify(counts)).toBeGreaterThan(LIVES / 50);
  expect(counts['cancelled'] ?? 0, JSON.stringify(counts)).toBeGreaterThan(LIVES / 50);
}
