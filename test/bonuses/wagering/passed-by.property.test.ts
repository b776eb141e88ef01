import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { betsConsumer } from '../../../src/bonuses/wagering/consume.ts';
import { Recounter } from '../../../src/bonuses/wagering/recount.ts';
import { selectDue, selectToLookUp } from '../../../src/bonuses/wagering/recount-queries.ts';
import { MAX_AHEAD_MS } from '../../../src/platform/timestamp.ts';
import type { LogBatch } from '../../../src/platform/event-log/port.ts';
import { GROUPS, TOPICS } from '../../../src/platform/event-log/topics.ts';
import { NIL_ID } from '../../../src/platform/ids.ts';
import { retryConflicts } from '../../../src/platform/postgres/retry.ts';
import { messagingClient } from '../../engage/messaging/messaging-client.ts';
import { call } from '../../engines/http-client.ts';
import { startTestService, sunk, type TestService } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { runs } from '../../engines/effort.ts';
import { insertGrant, mergeInto, type Wagering } from './wagering-fixture.ts';
import { owed, type ToldBet } from './wagering-oracle.ts';

/** So many events of players without a bonus come with each request, so that the batch is larger than the set of players. */
const OTHERS = 20;
const MINUTE_MS = 60_000;
const RUNS = runs(20, { nightly: 200, nightly_on_servers: 40 });

let service: TestService;
let on: Wagering;
beforeAll(async () => {
  service = await startTestService({ roles: new Set(['api', 'intake', 'player-fold', 'analytics-sink']) });
  const { tenant_id, project_id, platform } = service;
  on = { sql: platform.postgres.service, project: { tenant_id, project_id } } as Wagering;
});
afterAll(async () => service?.close());

const who = fc.constantFrom(0 as const, 1 as const);
/** Minutes from the begin of the story: clocks differ, and platforms credit with other times. */
const minute = fc.integer({ min: -20, max: 20 });
/** When something happens while the consumer handles a batch: before or after it asks which players count, or beside it. */
const when = fc.constantFrom('now' as const, 'before' as const, 'beside' as const, 'after' as const);
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('bet' as const), who, minute }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('void' as const), nth: fc.nat(20) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('grant' as const),
      who,
      from: minute,
      is_pending: fc.boolean(),
      when,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('merge' as const), when }) },
  // Bets that come after a look-up are found by no other.
  { weight: 4, arbitrary: fc.record({ do: fc.constant('settle' as const) }) },
);
const story = fc.array(step, { minLength: 4, maxLength: 14 });
type Story = typeof story extends fc.Arbitrary<infer S> ? S : never;

/** What stories that are drawn rarely have: a bet right after the look-up of a grant or of a merge. */
const made = { do: 'grant', who: 0, from: -20, is_pending: false } as const;
const bet = { do: 'bet', who: 0, minute: 1 } as const;
const settle = { do: 'settle' } as const;
const EXAMPLES: Story[] = [
  [bet, settle, { ...made, when: 'now' }, settle, bet],
  [{ ...made, when: 'after' }, bet, settle, bet],
  [
    { ...made, when: 'now' },
    { ...bet, who: 1 },
    settle,
    { do: 'merge', when: 'now' },
    settle,
    { ...bet, who: 1 },
  ],
  [{ ...made, when: 'now' }, { do: 'merge', when: 'after' }, { ...bet, who: 1 }, settle, bet],
];

/** What is to happen while the consumer asks for its keys. */
class Race {
  #waiting: { when: 'before' | 'beside' | 'after'; act: () => Promise<void> }[] = [];
  #running = new Set<Promise<unknown>>();

  async at<T>(ask: () => Promise<T>): Promise<T> {
    const acts = this.#waiting.splice(0);
    const run = (of: string) => Promise.all(acts.filter((one) => one.when === of).map(({ act }) => act()));
    const race = (async () => {
      await run('before');
      const [found] = await Promise.all([ask(), run('beside')]);
      await run('after');
      return found;
    })();
    this.#running.add(race);
    return race.finally(() => this.#running.delete(race));
  }

  async add(of: 'now' | 'before' | 'beside' | 'after', act: () => Promise<void>): Promise<void> {
    if (of === 'now') await act();
    else this.#waiting.push({ when: of, act });
  }

  /** Ends what runs, and does what no batch came for. */
  async rest(): Promise<void> {
    await Promise.all([...this.#running, ...this.#waiting.splice(0).map(({ act }) => act())]);
  }
}

async function send(events: object[]): Promise<void> {
  const response = await call(`${service.ingest_url}/v1/events/batch`, service.api_key, { body: { events } });
  expect(response.status, response.text).toBe(202);
}

const lagOf = async () => {
  const lag = await service.platform.eventLog.lag(TOPICS.playerEvents, GROUPS.wagering);
  return lag.reduce((sum, { next_offset, end_offset }) => sum + Number(end_offset - next_offset), 0);
};

/** Resolves when all events are counted, and all bets of grants are looked up and counted again. */
async function settled(): Promise<void> {
  await sunk(service.platform);
  await until(async (saw) => saw(await lagOf()) === 0);
  await until(async (saw) => {
    const due = saw(await selectDue(on.sql, NIL_ID, 1));
    return due.length === 0 && saw((await selectToLookUp(on.sql, NIL_ID, 1, MAX_AHEAD_MS)).length) === 0;
  });
}

/** The consumer with the race in it, and the loops of the Recounter beside it. */
async function startCounting(race: Race) {
  const { platform } = service;
  const own = betsConsumer(platform);
  const passed = { by: 0 };
  const consumer = await platform.eventLog.consume({
    ...own,
    keys: (waiting) => race.at(async () => own.keys?.(waiting)),
    async handle(batch: LogBatch) {
      if (batch.keys !== undefined) passed.by++;
      await own.handle(batch);
    },
  });
  const over = new AbortController();
  const recounter = new Recounter(platform);
  const loops = [() => recounter.turn(), () => recounter.lookUp()].map(async (turn) => {
    while (!over.signal.aborted) {
      await turn();
      await sleep(5);
    }
  });
  return {
    passed,
    async close() {
      await consumer.close();
      over.abort();
      await Promise.all(loops);
    },
  };
}

/** Lets the story happen to two new players; returns what the grants show and what they owe. */
async function live(steps: Story) {
  const { sql } = on;
  const others = await messagingClient(service).players(1);
  const players = await messagingClient(service).players(2);
  const start_ms = Date.now();
  const race = new Race();
  const counting = await startCounting(race);
  const told: ToldBet[] = [];
  const grants: { grant_id: string; from: number; activate: () => Promise<void> }[] = [];
  let is_merged = false;
  const merge = async () => {
    if (is_merged) return;
    is_merged = true;
    await retryConflicts(() => mergeInto(on, players[1] ?? '', players[0] ?? ''));
  };
  const grant = async (of: 0 | 1, from: number, is_pending: boolean) => {
    const activated_at = new Date(start_ms + from * MINUTE_MS);
    const grant_id = randomUUID();
    const activate = async () =>
      void (await sql`
      update bonus_grants set status = 'active', activated_at = ${activated_at} where grant_id = ${grant_id}`);
    grants.push({ grant_id, from, activate });
    await insertGrant(on, {
      grant_id,
      player_id: players[is_merged ? 0 : of],
      created_at: new Date(),
      slot: grants.length,
      ...(is_pending ? { status: 'pending', activated_at: null, needs_review: true } : { activated_at }),
    });
  };
  const event = (name: string, player_id: string, properties: object, at_ms: number) => ({
    event: name,
    player_id,
    properties,
    timestamp: new Date(at_ms).toISOString(),
  });
  for (const one of steps) {
    const events: object[] = Array.from({ length: OTHERS }, () =>
      event('page_view', others[0] ?? '', { url: 'https://example.com' }, start_ms),
    );
    if (one.do === 'grant') await race.add(one.when, () => grant(one.who, one.from, one.is_pending));
    if (one.do === 'merge') await race.add(one.when, merge);
    if (one.do === 'bet') {
      // Its time is no bound of a grant's window, so that no rounding decides.
      const at_ms = start_ms + one.minute * MINUTE_MS + 1_000;
      const bet: ToldBet = {
        bet_id: `${start_ms} ${told.length}`,
        kind: 'sport',
        state: 'settled',
        stake: BigInt(100 + told.length),
        currency: 'EUR',
        category: null,
        minute: one.minute + 0.5,
        revision: 1,
      };
      told.push(bet);
      const player_id = players[is_merged ? 0 : one.who] ?? '';
      const { bet_id } = bet;
      const [sport, odds] = ['tennis', '2.0'];
      const placed = { bet_id, amount: Number(bet.stake), currency: 'EUR', sport, bet_type: 'single', odds };
      events.push(event('sport_bet_placed', player_id, { ...placed, event_ref: 'e' }, at_ms - 1_000));
      events.push(event('sport_bet_settled', player_id, { bet_id, payout: 0, currency: 'EUR' }, at_ms));
    }
    const voided = one.do === 'void' ? told[one.nth] : undefined;
    if (voided !== undefined && voided.revision === 1) {
      told.push({ ...voided, state: 'voided', revision: 2 });
      voided.revision = 0;
      const { bet_id } = voided;
      events.push(event('sport_bet_voided', players[0] ?? '', { bet_id }, start_ms + 30 * MINUTE_MS));
    }
    // What happens now is followed by no event, which would show the consumer what has changed.
    const is_silent = one.do === 'settle' || ('when' in one && one.when === 'now');
    if (!is_silent) await send(events);
    if (one.do === 'settle') await settled();
  }
  await race.rest();
  await Promise.all(grants.map(({ activate }) => activate()));
  await settled();
  await counting.close();
  const shown = await sql<{ grant_id: string; sum: string }[]>`
    select grant_id, wagering_sum::text as sum from bonus_grants order by grant_id`;
  const terms = { product: 'any', table: null, max_bet: null, currency: 'EUR' as const, until: null };
  return {
    shown,
    owes: owed(
      told,
      grants.map((one) => ({ ...one, ...terms })),
    ),
    passed: counting.passed.by,
  };
}

it(
  'loses no bet of a grant that is made, credited or merged while records are passed by',
  async () => {
    const { sql } = on;
    let passed = 0;
    await fc.assert(
      fc.asyncProperty(story, async (steps) => {
        await sql`delete from bonus_contributions`;
        await sql`delete from bonus_grants`;
        // The oracle knows one player: those who are not merged in the end are one from the begin.
        const all = steps.some((one) => one.do === 'merge')
          ? steps
          : steps.map((one) => ('who' in one ? { ...one, who: 0 as const } : one));
        const { shown, owes, passed: by } = await live(all);
        passed += by;
        expect(new Map(shown.map(({ grant_id, sum }) => [grant_id, sum]))).toEqual(
          new Map([...owes].map(([grant_id, { sum }]) => [grant_id, String(sum)])),
        );
      }),
      { numRuns: RUNS, examples: EXAMPLES.map((one) => [one]) },
    );
    expect(passed).toBeGreaterThan(RUNS);
  },
  120_000 + RUNS * 3_000,
);
