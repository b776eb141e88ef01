import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { NotCaughtUp } from '../../../src/analytics/caught-up.ts';
import { cleanUpWagering } from '../../../src/bonuses/wagering/clean-up.ts';
import { CompletionSweep } from '../../../src/bonuses/wagering/completion.ts';
import { betsConsumer } from '../../../src/bonuses/wagering/consume.ts';
import { countBets, recountBets, type BetReport } from '../../../src/bonuses/wagering/count.ts';
import { isolated } from '../../../src/bonuses/wagering/from-log.ts';
import { savePosition } from '../../../src/bonuses/wagering/position-queries.ts';
import { Recounter, type RecountDeps } from '../../../src/bonuses/wagering/recount.ts';
import {
  markCounted,
  selectDue,
  selectToLookUp,
  selectWithoutRate,
} from '../../../src/bonuses/wagering/recount-queries.ts';
import type { EventLog } from '../../../src/platform/event-log/port.ts';
import {
  at,
  betOf,
  insertGrant,
  mergeInto,
  openWagering,
  rate,
  shown,
  type Wagering,
} from './wagering-fixture.ts';

let on: Wagering;
beforeAll(async () => {
  on = await openWagering();
});
afterAll(async () => on?.close());
beforeEach(async () => {
  on.setNow(at(10));
  await on.sql`delete from bonus_contributions`;
  await on.sql`delete from bonus_grants`;
  await rate(on.sql, on.project.tenant_id, '2');
});

const count = (...bets: BetReport[]) =>
  on.sql.begin((tx) => countBets(tx, on.project, bets, new Date(on.platform.clock.now_ms())));
const recounter = (deps: Partial<RecountDeps> = {}) =>
  new Recounter({ ...on.platform, ...deps } as RecountDeps);
const NIL = '00000000-0000-0000-0000-000000000000';

describe('stakes', () => {
  it('of 38 digits neither fail nor count', async () => {
    const { grant_id, player_id } = await insertGrant(on, { currency: 'USD' });
    const huge = { stake: 10n ** 38n - 1n, currency: 'EUR' };
    await count(betOf(player_id, huge), betOf(player_id, huge), betOf(player_id, { currency: 'USD' }));
    expect(await shown(on, grant_id)).toMatchObject({ sum: '10000', breaches: 0 });
    const limited = await insertGrant(on, { currency: 'USD', max_bet: 500 });
    await count(betOf(limited.player_id, huge));
    expect(await shown(on, limited.grant_id)).toMatchObject({ sum: '0', breaches: 1 });
  });

  it('are compared with the limit before they are rounded', async () => {
    await rate(on.sql, on.project.tenant_id, '1.0004');
    const { grant_id, player_id } = await insertGrant(on, { currency: 'USD', max_bet: 500 });
    // 5.00 EUR are 5.002 USD, which is rounded to 5.00.
    const stake = 500n;
    await count(betOf(player_id, { stake }), betOf(player_id, { stake, currency: 'USD' }));
    expect(await shown(on, grant_id)).toMatchObject({ sum: '50000', breaches: 1 });
  });

  it('keep the rate by which they were first converted', async () => {
    const { grant_id, player_id } = await insertGrant(on, { currency: 'USD' });
    const bet = betOf(player_id);
    await count(bet);
    await rate(on.sql, on.project.tenant_id, '3');
    await on.sql.begin((tx) => recountBets(tx, on.project, [bet], at(20)));
    await count({ ...bet, state: 'placed', revision: 2n });
    expect(await shown(on, grant_id)).toMatchObject({ sum: '20000' });
    await count(betOf(player_id));
    expect(await shown(on, grant_id)).toMatchObject({ sum: '50000' });
  });
});

describe('a bet that cannot be counted', () => {
  const project = { tenant_id: randomUUID(), project_id: randomUUID() };
  const bets = Array.from({ length: 9 }, (_, i) => ({ kind: 'casino' as const, bet_id: `b${i}` }));

  it('is found by halves and left out', async () => {
    const done: string[] = [];
    const refused = async () => (await on.metrics.wageringRefused.get()).values[0]?.value ?? 0;
    const before = await refused();
    await isolated(on.platform, project, bets, (part) => {
      if (part.some(({ bet_id }) => bet_id === 'b3' || bet_id === 'b8')) throw new RangeError('wrong');
      done.push(...part.map(({ bet_id }) => bet_id));
      return Promise.resolve();
    });
    expect(done).toEqual(['b0', 'b1', 'b2', 'b4', 'b5', 'b6', 'b7']);
    expect((await refused()) - before).toBe(2);
  });

  it('is tried again when Postgres does not answer', async () => {
    const outage = Object.assign(new Error('gone'), { code: 'CONNECTION_CLOSED' });
    await expect(isolated(on.platform, project, bets, () => Promise.reject(outage))).rejects.toBe(outage);
  });
});

describe('reports', () => {
  it('of the ledger are above those of the API, whatever their revisions', async () => {
    const { grant_id, player_id } = await insertGrant(on);
    const bet = betOf(player_id);
    const told = { ...bet, is_of_ledger: false, revision: 1_800_000_000_000n };
    await count(told);
    expect(await count({ ...bet, state: 'voided', revision: 2n })).toMatchObject({ applied: 1 });
    expect(await count({ ...told, revision: 1_900_000_000_000n })).toMatchObject({ duplicates: 1 });
    expect(await shown(on, grant_id)).toMatchObject({ sum: '0' });
  });
});

describe('a bet that is recorded while its grant is being stored', () => {
  it('goes to that grant when it is looked up, though nothing about it is new', async () => {
    const { player_id } = await insertGrant(on, { activated_at: null });
    const bet = betOf(player_id);
    const grant_id = await on.sql.begin(async (tx) => {
      await countBets(tx, on.project, [bet], at(10));
      // The bet is not committed, and the transaction does not know of this grant.
      const second = await insertGrant(on, { player_id, slot: 2 });
      await recounter().turn();
      return second.grant_id;
    });
    expect(await shown(on, grant_id)).toMatchObject({ sum: '0' });
    expect(await selectDue(on.sql, NIL, 10)).toEqual([]);
    const nothing_new = { applied: 0, duplicates: 1, ignored: 0 };
    expect(await count(bet)).toMatchObject(nothing_new);
    expect(await shown(on, grant_id)).toMatchObject({ sum: '10000' });
    expect(await count(bet)).toMatchObject(nothing_new);
    expect(await shown(on, grant_id)).toMatchObject({ sum: '10000' });
  });
});

describe('completion by the service', () => {
  it('needs no new bet once the requirement is known; a platform completes its own', async () => {
    const terms = { wagering: { multiplier_hundredths: 1_000, basis: 'winnings' } };
    const free = { terms, wagering_required: 0, adapter_slug: 'sandbox', player_id: randomUUID() };
    const own = await insertGrant(on, free);
    const other = await insertGrant(on, { terms, wagering_required: 0 });
    await count(betOf(own.player_id), betOf(other.player_id));
    await on.sql`update bonus_grants set wagering_required = 101`;
    await new CompletionSweep(on.platform).turn();
    expect(await shown(on, own.grant_id)).toMatchObject({ status: 'active' });
    await on.sql`update bonus_grants set wagering_required = 100`;
    await new CompletionSweep(on.platform).turn();
    expect(await shown(on, own.grant_id)).toMatchObject({ status: 'completed', sum: '10000' });
    expect(await shown(on, other.grant_id)).toMatchObject({ status: 'active' });
  });

  const wagering = (basis: string, multiplier_hundredths = 1_000) => ({
    terms: { wagering: { basis, multiplier_hundredths } },
  });

  const PENDING = { status: 'pending', outcome: 'unknown', activated_at: null, next_attempt_at: at(20) };

  it.each([
    ['a multiplier of 0', wagering('bonus', 0), 'completed'],
    ['a multiplier of 0, of winnings that are not known', wagering('winnings', 0), 'completed'],
    ['a sum that is rounded down', wagering('bonus', 1), 'completed'],
    ['winnings of 0', { ...wagering('winnings'), facts: { winnings: '0' } }, 'completed'],
    [
      'a platform that asks for nothing',
      { ...wagering('winnings'), facts: { wagering_required: '0' } },
      'completed',
    ],
    ['winnings that are not known', wagering('winnings'), 'active'],
    ['a bonus that is not active yet', { ...wagering('bonus', 0), ...PENDING }, 'pending'],
    ['a platform that completes it', { ...wagering('bonus', 0), adapter_slug: 'casino' }, 'active'],
  ])('of nothing to wager: %s', async (_why, columns, status) => {
    const nothing = { wagering_required: 0, adapter_slug: 'sandbox' };
    const swept = await insertGrant(on, { ...nothing, ...columns });
    await new CompletionSweep(on.platform).turn();
    expect(await shown(on, swept.grant_id)).toMatchObject({ status });
    const played = await insertGrant(on, { ...nothing, ...columns });
    await count(betOf(played.player_id));
    expect(await shown(on, played.grant_id)).toMatchObject({ status });
  });

  it('asks once which adapters leave it to the service', async () => {
    const grants = await Promise.all(
      [1, 2, 3].map(() => insertGrant(on, { wagering_required: 100, adapter_slug: 'sandbox' })),
    );
    const result = await count(...grants.map(({ player_id }) => betOf(player_id)));
    expect(result.met.sort()).toEqual(grants.map(({ grant_id }) => grant_id).sort());
    for (const { grant_id } of grants)
      expect(await shown(on, grant_id)).toMatchObject({ status: 'completed' });
  });
});

const merge = (player_id: string, into: string) => mergeInto(on, player_id, into);

describe('merges', () => {
  it('leave the bets where they are, and both players have them', async () => {
    const first = await insertGrant(on, { activated_at: at(2) });
    const second = await insertGrant(on, { activated_at: at(0) });
    const bets = [betOf(first.player_id, { occurred_at_ms: at(3).getTime() }), betOf(second.player_id)];
    await count(...bets);
    await merge(first.player_id, second.player_id);
    await recounter().turn();
    expect(await shown(on, second.grant_id)).toMatchObject({ sum: '20000' });
    expect(await shown(on, first.grant_id)).toMatchObject({ sum: '0' });
    await count(...bets.map((bet) => ({ ...bet, state: 'voided' as const, revision: 2n })));
    expect(await shown(on, second.grant_id)).toMatchObject({ sum: '0' });
  });

  it('during a recount make the grants due again', async () => {
    const { grant_id, player_id } = await insertGrant(on);
    await merge(randomUUID(), player_id);
    const due = await selectDue(on.sql, NIL, 10);
    await merge(randomUUID(), player_id);
    await markCounted(on.sql, due);
    expect((await selectDue(on.sql, NIL, 10)).map((grant) => grant.grant_id)).toEqual([grant_id]);
    await recounter().turn();
    expect(await selectDue(on.sql, NIL, 10)).toEqual([]);
  });
});

describe('bets that came before their grant', () => {
  const seen = (player_id: string, last_seen_at: Date) => {
    const { tenant_id, project_id } = on.project;
    return on.sql`
      insert into player_totals (tenant_id, project_id, player_id, first_seen_at, listed_at, updated_at)
      values (${tenant_id}, ${project_id}, ${player_id}, ${at(0)}, ${last_seen_at}, now())`;
  };

  it('are looked up only for players who were seen since a day before the activation', async () => {
    const idle = await insertGrant(on, { activated_at: at(0) });
    const busy = await insertGrant(on, { activated_at: at(1) });
    await seen(idle.player_id, at(-1_441));
    await seen(busy.player_id, at(-1_439));
    const found = await selectToLookUp(on.sql, NIL, 10, 86_400_000);
    expect(found.filter(({ has_events }) => has_events).map(({ grant_id }) => grant_id)).toEqual([
      busy.grant_id,
    ]);
  });

  it('are waited for once a turn, and hold no other grant up', async () => {
    for (const _ of [1, 2, 3]) {
      const { player_id } = await insertGrant(on, { activated_at: at(1) });
      await seen(player_id, at(2));
    }
    let asked = 0;
    const eventLog = {
      endOffsets: () => {
        asked++;
        return Promise.reject(new NotCaughtUp('the sink is behind'));
      },
    };
    const slow = recounter({ eventLog: eventLog as unknown as EventLog });
    const idle = await insertGrant(on);
    expect(await slow.lookUp()).toBe(false);
    expect(asked).toBe(1);
    const { grant_id, player_id } = await insertGrant(on, { activated_at: at(2) });
    await count(betOf(player_id, { occurred_at_ms: at(3).getTime() }));
    await on.sql`update bonus_grants set expires_at = ${at(2)} where grant_id = ${grant_id}`;
    await slow.turn();
    expect(await shown(on, grant_id)).toMatchObject({ sum: '0' });
    const left = await selectToLookUp(on.sql, NIL, 10, 0);
    expect(left).toHaveLength(4);
    expect(left.map((grant) => grant.grant_id)).not.toContain(idle.grant_id);
  });
});

describe('bets without a rate', () => {
  it('of the same id in two projects are on two pages', async () => {
    const { player_id } = await insertGrant(on);
    const twins = (['casino', 'sport'] as const).map((kind) =>
      betOf(player_id, { kind, bet_id: '1', currency: 'SEK' }),
    );
    await count(...twins);
    const [first] = await selectWithoutRate(on.sql, undefined, 1);
    const second = await selectWithoutRate(on.sql, first, 1);
    expect([first, ...second].map((bet) => bet?.kind)).toEqual(['casino', 'sport']);
    expect(await selectWithoutRate(on.sql, second[0], 1)).toEqual([]);
  });

  it('of a project that fails hold no other up', async () => {
    const { grant_id, player_id } = await insertGrant(on);
    const broken = await insertGrant(on);
    await count(betOf(player_id, { currency: 'SEK' }), betOf(broken.player_id, { currency: 'SEK' }));
    const { tenant_id } = on.project;
    await on.sql`
      update bonus_grants set terms = terms || '{"game_contribution": {"slots": 0.5}}' where grant_id = ${broken.grant_id}`;
    await on.sql`
      insert into fx_rates (tenant_id, base, quote, ts, rate) values (${tenant_id}, 'EUR', 'SEK', '2000-01-01', 10)`;
    try {
      await recounter().turn();
    } finally {
      await on.sql`delete from fx_rates where quote = 'SEK'`;
    }
    expect(await shown(on, grant_id)).toMatchObject({ sum: '1000' });
    expect(await shown(on, broken.grant_id)).toMatchObject({ sum: '0' });
  });
});

describe('the bets of a grant that ended long ago', () => {
  it('are removed, and its sum stays whatever comes', async () => {
    const player_id = randomUUID();
    const end = { status: 'completed', ended_at: at(5) };
    const old = await insertGrant(on, { player_id, ...end });
    const bet = betOf(player_id);
    const untaken = betOf(player_id, { occurred_at_ms: at(-5).getTime() });
    await count(bet, untaken);
    const days = (n: number) => at(5 + n * 24 * 60);
    const kept = async () => (await on.sql`select from bonus_contributions`).length;
    on.setNow(days(96));
    await cleanUpWagering(on.platform);
    expect(await kept()).toBe(2);
    on.setNow(days(98));
    await cleanUpWagering(on.platform);
    expect(await kept()).toBe(0);
    expect(await shown(on, old.grant_id)).toMatchObject({ sum: '10000' });

    const young = await insertGrant(on, { player_id, slot: 2, activated_at: at(1), created_at: at(1) });
    expect(await count({ ...bet, revision: 2n })).toMatchObject({ ignored: 1, applied: 0 });
    await merge(randomUUID(), player_id);
    await recounter().turn();
    expect(await shown(on, old.grant_id)).toMatchObject({ sum: '10000' });
    expect(await shown(on, young.grant_id)).toMatchObject({ sum: '0' });
    await cleanUpWagering(on.platform);
  });
});

describe('the position of the consumer', () => {
  const log = { id: 'log-1', partitions: new Map([0, 1, 2].map((n) => [n, { first: 5n, end: 100n }])) };
  const deps = (id = log.id) =>
    ({
      ...on.platform,
      eventLog: { describe: () => Promise.resolve({ ...log, id }), idOf: () => Promise.resolve(id) },
    }) as unknown as Parameters<typeof betsConsumer>[0];
  const committed = new Map([
    [0, 50n],
    [1, 50n],
  ]);

  it('is the one that Postgres has when the log knows a later one', async () => {
    const own = betsConsumer(deps());
    const { topic } = own;
    await savePosition(on.sql, { topic, partition: 0, log_id: log.id, next_offset: 20n });
    await savePosition(on.sql, { topic, partition: 1, log_id: log.id, next_offset: 60n });
    expect(await own.startsAt?.(committed)).toEqual(
      new Map([
        [0, 20n],
        [1, 50n],
        [2, 5n],
      ]),
    );
    expect(await betsConsumer(deps('log-2')).startsAt?.(committed)).toEqual(
      new Map([
        [0, 50n],
        [1, 50n],
        [2, 5n],
      ]),
    );
  });

  it('is stored after its records were counted', async () => {
    const own = betsConsumer(deps());
    const records = [{ offset: 30n, key: 'k', value: '{}' }];
    await own.handle({ topic: own.topic, partition: 0, from: 30n, records });
    expect((await own.startsAt?.(new Map([[0, 90n]])))?.get(0)).toBe(31n);
  });
});
