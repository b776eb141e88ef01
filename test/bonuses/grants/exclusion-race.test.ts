import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { reserveGrants } from '../../../src/bonuses/grants/reserve.ts';
import { newId } from '../../../src/platform/ids.ts';
import { Random } from '../../crash/random.ts';
import { runs, SEED } from '../../engines/effort.ts';
import type { TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { until } from '../../engines/until.ts';
import { NO_FAULTS } from '../fake-platform.ts';
import { grantsFixture, type GrantsFixture } from './grants-fixture.ts';

/** Players; each is one interleaving of an exclusion with a grant. */
const INTERLEAVINGS = runs(100, { nightly: 2_000, nightly_on_servers: 200 });
const PLAYERS = 50;
/** The ways on which a grant comes to the platform. */
const WAYS = ['post', 'campaign', 'journey'] as const;

let service: TestService;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(async () => service?.close());

it(
  'no grant begins to leave after the 202 of the player’s exclusion',
  async () => {
    const random = new Random(SEED);
    const outcomes = { sent: 0, barred: 0 };
    for (let done = 0; done < INTERLEAVINGS; done += PLAYERS) await race(random, outcomes);
    // Both occurred often enough to count as a race.
    expect(outcomes.sent).toBeGreaterThan(INTERLEAVINGS / 20);
    expect(outcomes.barred).toBeGreaterThan(INTERLEAVINGS / 20);
  },
  60_000 + INTERLEAVINGS * 200,
);

/** One project, whose platform takes so few calls that most of them wait for a place, or for their turn. */
async function race(random: Random, outcomes: { sent: number; barred: number }): Promise<void> {
  const on = grantsFixture(service, await service.newTenant());
  const max_rps = random.integer(15, 60);
  const casino = await on.adapter({ max_rps, max_in_flight: random.integer(1, 16) }, 'own process');
  try {
    const seed = random.integer(1, 1_000_000);
    await casino.fake.control({ faults: { ...NO_FAULTS, seed, delay_ms: 30, rate_limit: 0.05, drop: 0.05 } });
    // The platform does not know the new secret yet: each call is signed twice.
    if (random.chance(0.3)) await on.client.api('POST', `/v1/adapters/${casino.adapter_id}/rotate-secret`);
    const template_id = await on.template();
    const players = await on.client.players(PLAYERS);
    const spread_ms = (PLAYERS / max_rps) * 1_500;
    const accepted_ms = new Map<string, number>();
    // On a slow machine all exclusions could come before the first grant: half of them wait for that.
    const first = credited(on);
    const exclusions = players.map(async (player_id, i) => {
      if (i % 2 === 0) await first;
      await sleep(random.integer(0, spread_ms));
      await on.client.event(player_id, 'self_exclusion_set');
      accepted_ms.set(player_id, Date.now());
    });
    await Promise.all([...exclusions, begin(on, template_id, players)]);
    await drained(on);
    const { calls, bonuses } = await casino.fake.ledger();
    const grants = calls.filter(({ path }) => path === '/v1/bonuses/grant');
    const late = grants.flatMap(({ body, at_ms, status }) => {
      const { player_id, granted_by } = JSON.parse(body) as {
        player_id: string;
        granted_by: { kind: string };
      };
      const over_ms = at_ms - (accepted_ms.get(player_id) ?? 0);
      return over_ms > 0 ? [{ player_id, over_ms, status, kind: granted_by.kind }] : [];
    });
    expect(late).toEqual([]);
    const sent = new Set(bonuses.map(({ player_external_id }) => player_external_id));
    outcomes.sent += sent.size;
    outcomes.barred += players.filter((player_id) => !sent.has(player_id)).length;
    await on.budgets();
  } finally {
    await casino.close();
  }
}

/** Grants to all of them, each on one of the ways. */
async function begin(on: GrantsFixture, template_id: string, players: readonly string[]): Promise<void> {
  const of = (way: (typeof WAYS)[number]) => players.filter((_, i) => WAYS[i % WAYS.length] === way);
  const segment_id = await on.client.segment(of('campaign'));
  const { data } = await on.client.api('POST', '/v1/bonus-campaigns', {
    name: 'race',
    template_id,
    segment_id,
  });
  const { clock, postgres } = service.platform;
  await Promise.all([
    on.client.api('POST', `/v1/bonus-campaigns/${String(data['id'])}/issue`),
    postgres.service.begin((tx) =>
      reserveGrants(
        tx,
        clock,
        of('journey').map((player_id) => ({
          ...on.tenant,
          player_id,
          template_id,
          grant_id: newId(),
          granted_by_kind: 'journey' as const,
          granted_by_id: newId(),
          deposit_amount: null,
          qualifying_product: null,
        })),
      ),
    ),
    ...of('post').map((player_id) => on.grant(template_id, player_id)),
  ]);
}

/** Waits until the platform has credited a bonus. */
async function credited({ sql, tenant: { tenant_id } }: GrantsFixture): Promise<void> {
  await until('a bonus is credited', async (saw) => {
    const rows = saw(
      await sql`select from bonus_grants where tenant_id = ${tenant_id} and status = 'active' limit 1`,
    );
    return rows.length > 0;
  });
}

/** Waits until nothing is left to be sent or issued; pauses between attempts are cut short. */
async function drained({ sql, tenant: { tenant_id } }: GrantsFixture): Promise<void> {
  await until('everything is sent or ended', async (saw) => {
    await sql`
      update bonus_grants set next_attempt_at = now()
      where tenant_id = ${tenant_id} and outcome <> 'sent' and next_attempt_at > now()`;
    const [row] = saw(
      await sql<{ open: number }[]>`
      select (select count(*) from bonus_grants where tenant_id = ${tenant_id} and status = 'pending')::integer
        + (select count(*) from bonus_campaigns where tenant_id = ${tenant_id} and finished_at is null
          and status = 'issuing')::integer as open`,
    );
    return row?.open === 0;
  });
}
