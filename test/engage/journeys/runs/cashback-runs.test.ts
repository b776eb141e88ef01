import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { grantsFixture, type GrantsFixture } from '../../../bonuses/grants/grants-fixture.ts';
import { call } from '../../../engines/http-client.ts';
import { folded, sunk, type TestService } from '../../../engines/service.ts';
import { sharedService } from '../../../engines/shared-service.ts';
import { until } from '../../../engines/until.ts';
import type { Body } from '../../messaging/messaging-client.ts';
import { end, runFixture, type RunFixture } from './run-fixture.ts';

/** More than are asked about one after the other in the 15 s for which a run waits for its answer. */
const PLAYERS = 700;
const LOST = 2_000;

let service: TestService;
let on: RunFixture;
let bonuses: GrantsFixture;
beforeAll(async () => {
  service = await sharedService();
  on = runFixture(service);
  bonuses = grantsFixture(service);
});
afterAll(async () => service?.close());

const cashback = (percent: number) =>
  bonuses.template({
    type: 'cashback',
    config: { percent, window_days: 7, min_loss: 100, currency: 'EUR', cap_amount: 5_000 },
  });
const grant = (id: string, template_id: string, next: string) => ({
  id,
  type: 'grant_bonus',
  template_id,
  next,
});

/** A journey that grants cashbacks of a tenth, and its bonus template. */
async function cashbacks(): Promise<{ template_id: string; journey_id: string }> {
  const template_id = await cashback(10);
  return { template_id, journey_id: await on.journey([grant('g', template_id, 'end'), end()]) };
}

async function post(events: readonly Body[]): Promise<void> {
  const response = await call(`${service.ingest_url}/v1/events/batch`, service.api_key, { body: { events } });
  expect(response.status, response.text).toBeLessThan(300);
}

/** Each player loses one bet. */
async function lose(player_ids: readonly string[]): Promise<void> {
  const bet = { currency: 'EUR', game_id: 'book', game_category: 'slots', payout: 0, outcome: 'lost' };
  for (let i = 0; i < player_ids.length; i += 100) {
    await post(
      player_ids.slice(i, i + 100).map((player_id) => ({
        event: 'bet_settled',
        player_id,
        properties: { ...bet, bet_id: randomUUID(), amount: LOST },
      })),
    );
  }
}

/** Somebody browses until the end of `work`, so that there is always something that ClickHouse does not have yet. */
async function besideTraffic(work: () => Promise<void>): Promise<void> {
  const over = new AbortController();
  const browsing = (async () => {
    const event = { event: 'page_view', anonymous_id: 'somebody', properties: {} };
    while (!over.signal.aborted) await post([event]);
  })();
  try {
    await work();
  } finally {
    over.abort();
    await browsing;
  }
}

/** Every run of the journey has ended. */
const ended = (journey_id: string) =>
  until(
    'every run has ended',
    async (saw) => {
      const [row] = saw(
        await on.sql<{ open: number }[]>`
        select count(*)::integer as open from journey_runs
        where journey_id = ${journey_id} and status = 'running'`,
      );
      return row?.open === 0;
    },
    30_000,
  );

/** Ends the waits of all runs; their former timers fall away when they are claimed. */
const dueNow = (journey_id: string) => on.sql`
  with due as (
    update journey_runs set due_at = date_trunc('milliseconds', now())
    where journey_id = ${journey_id} and status = 'running' returning *)
  insert into journey_timers (tenant_id, project_id, due_at, run_id, seq)
  select tenant_id, project_id, due_at, run_id, seq from due`;

const grantsOf = (template_id: string) => on.sql<{ player_id: string; amount: string }[]>`
  select player_id, bonus_amount::text as amount from bonus_grants where template_id = ${template_id}`;

async function metric(name: string): Promise<number> {
  const { values } = (await service.platform.metrics.registry.getSingleMetric(name)?.get()) ?? { values: [] };
  return values.reduce((sum, { value }) => sum + value, 0);
}

it('many players who come to a cashback at once all get theirs, while others go on', async () => {
  const { template_id, journey_id } = await cashbacks();
  const players = await on.client.players(PLAYERS);
  await lose(players);
  await sunk(service.platform);
  await besideTraffic(async () => {
    await on.begin(journey_id, players, 'g');
    await ended(journey_id);
  });
  const granted = await grantsOf(template_id);
  expect(granted.map(({ player_id }) => player_id).sort()).toEqual([...players].sort());
  expect(new Set(granted.map(({ amount }) => amount))).toEqual(new Set([String(LOST / 10)]));
});

it('a run waits while ClickHouse does not have the bets of its player, and is counted', async () => {
  const { template_id, journey_id } = await cashbacks();
  const players = await on.client.players(100);
  const before = await metric('journey_questions_behind_total');
  await on.sql.begin(async (tx) => {
    await tx`lock table sink_positions in share row exclusive mode`;
    await lose(players);
    await folded(service.platform);
    await on.begin(journey_id, players, 'g');
    // All of them after one wait, before the timer of any is due again.
    await until(
      async (saw) => saw(await metric('journey_questions_behind_total')) - before >= players.length,
    );
    expect((await metric('journey_questions_behind_total')) - before).toBe(players.length);
  });
  expect(await grantsOf(template_id)).toEqual([]);
  await sunk(service.platform);
  await dueNow(journey_id);
  await ended(journey_id);
  expect(new Set((await grantsOf(template_id)).map(({ player_id }) => player_id))).toEqual(new Set(players));
});

it('a run gets one cashback after the other, and players who share a look-up get each their own', async () => {
  const [first, second] = [await cashback(10), await cashback(50)];
  const journey_id = await on.journey([grant('g', first, 'h'), grant('h', second, 'end'), end()]);
  const [many = '', few = '', none = ''] = await on.client.players(3);
  await lose([many, few, many, many]);
  await sunk(service.platform);
  await on.begin(journey_id, [many, few, none], 'g');
  await ended(journey_id);
  const amounts = async (template_id: string) =>
    Object.fromEntries(
      (await grantsOf(template_id)).map(({ player_id, amount }) => [player_id, Number(amount)]),
    );
  expect(await amounts(first)).toEqual({ [many]: 600, [few]: 200 });
  expect(await amounts(second)).toEqual({ [many]: 3_000, [few]: 1_000 });
});
