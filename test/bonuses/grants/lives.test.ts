import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Random } from '../../crash/random.ts';
import { startTestService, type TestService } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { runs, SEED } from '../../engines/effort.ts';
import { NO_FAULTS, type FakeBonus } from '../fake-platform.ts';
import { grantsFixture, type GrantsFixture } from './grants-fixture.ts';

/** Grants that live through a platform with faults. */
const LIVES = runs(400, { nightly: 10_000, nightly_on_servers: 2_000 });
/** Lives of one tenant: the bonuses that stay active are asked about until all of its lives are over. */
const LIVES_TOGETHER = 2_000;
const AT_ONCE = 16;

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(async () => service?.close());

it(
  'whatever the platform does, it credits each grant at most once, and both ledgers end equal',
  async () => {
    for (let lived = 0; lived < LIVES; lived += LIVES_TOGETHER) {
      const on = grantsFixture(service, await service.newTenant());
      const casino = await on.adapter({ timeout_ms: 500, max_in_flight: 64 }, 'own process');
      try {
        await live(on, casino, Math.min(LIVES_TOGETHER, LIVES - lived), SEED + lived);
      } finally {
        await casino.close();
      }
    }
  },
  60_000 + LIVES * 200,
);

type Casino = Awaited<ReturnType<GrantsFixture['adapter']>>;

async function live(on: GrantsFixture, casino: Casino, lives: number, seed: number): Promise<void> {
  const { fake } = casino;
  const template_id = await on.template({ budget_base: lives * 1_000 });
  const players = await on.client.players(lives);
  const faults = { drop: 0.06, error_before: 0.05, error_after: 0.07, lost: 0.05, rate_limit: 0.04 };
  const order = { accept: 0.2, early: 0.2, duplicate: 0.2, reorder: 0.2, lie: 0.1, delay_ms: 20 };
  await fake.control({ faults: { ...NO_FAULTS, ...faults, ...order, seed } });
  await beside(
    (over) => hurry(on, casino, over),
    async (over) => {
      await liveAll(on, casino, template_id, players, new Random(seed), over);
      await fake.control({ faults: NO_FAULTS });
      await fake.settle();
      const noneIsDue = (status: 'live' | 'cancelled') =>
        until(async (saw) => {
          over.throwIfAborted();
          const due = saw(
            await on.sql`
            select from bonus_grants where tenant_id = ${on.tenant.tenant_id}
              and status in ${on.sql(status === 'live' ? ['pending', 'active'] : ['cancelled'])}
              and (next_attempt_at is not null and (outcome <> 'confirmed' or cancel_requested_at is not null)) limit 1`,
          );
          return due.length === 0;
        });
      await noneIsDue('live');
      // The platform has all calls by now: the minute is over in which they could be late.
      await on.sql`
        update bonus_grants set next_attempt_at = now()
        where tenant_id = ${on.tenant.tenant_id} and status = 'cancelled' and next_attempt_at > now()`;
      await noneIsDue('cancelled');
    },
  );
  await compare(on, (await fake.ledger()).bonuses, lives);
  await on.budgets();
}

/** Does the work with the helper beside it; when one of them ends, the other is to end. An error of either rejects. */
async function beside(
  helper: (over: AbortSignal) => Promise<void>,
  work: (over: AbortSignal) => Promise<void>,
): Promise<void> {
  const over = new AbortController();
  const both = [helper, work].map((run) => run(over.signal).finally(() => over.abort()));
  for (const result of await Promise.allSettled(both)) if (result.status === 'rejected') throw result.reason;
}

/** Makes calls due before their time, also those that are being made: as if their process had died. */
async function hurry(on: GrantsFixture, { slug }: Casino, over: AbortSignal): Promise<void> {
  const { tenant_id, project_id } = on.tenant;
  while (!over.aborted) {
    // What somebody else has locked has its turn later: to wait for it with others locked could be a deadlock.
    await on.sql`
      with picked as materialized (
        select g.grant_id from bonus_grants g
        where g.adapter_slug = ${slug} and g.tenant_id = ${tenant_id} and g.project_id = ${project_id}
          and g.next_attempt_at > now() and g.status <> 'cancelled' and random() < 0.3
        order by g.grant_id
        for no key update skip locked)
      update bonus_grants g set next_attempt_at = now() from picked
      where g.grant_id = picked.grant_id and g.tenant_id = ${tenant_id} and g.project_id = ${project_id}`;
    await sleep(100);
  }
}

/** Lets all grants be made, and some of them be moved and cancelled, so many at once. */
async function liveAll(
  on: GrantsFixture,
  { fake }: Casino,
  template_id: string,
  players: string[],
  random: Random,
  over: AbortSignal,
): Promise<void> {
  const one = async (player_id: string) => {
    await on.grant(template_id, player_id);
    const [row] = await on.sql<{ grant_id: string }[]>`
      select grant_id from bonus_grants where player_id = ${player_id} and tenant_id = ${on.tenant.tenant_id}`;
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
  };
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let next = players.pop(); next !== undefined; next = players.pop()) {
        over.throwIfAborted();
        await one(next);
      }
    }),
  );
}

async function compare(on: GrantsFixture, bonuses: readonly FakeBonus[], lives: number): Promise<void> {
  const at_platform = new Map(bonuses.map((bonus) => [bonus.grant_id, bonus]));
  const rows = await on.sql<
    { grant_id: string; status: string; needs_review: boolean; next_attempt_at: Date | null }[]
  >`
    select grant_id, status, needs_review, next_attempt_at from bonus_grants where tenant_id = ${on.tenant.tenant_id}`;
  expect(rows).toHaveLength(lives);
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
  expect(counts['active'] ?? 0, JSON.stringify(counts)).toBeGreaterThan(lives / 20);
  expect(counts['completed'] ?? 0, JSON.stringify(counts)).toBeGreaterThan(lives / 50);
  expect(counts['cancelled'] ?? 0, JSON.stringify(counts)).toBeGreaterThan(lives / 50);
}
