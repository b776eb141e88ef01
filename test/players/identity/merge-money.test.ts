import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { until } from '../../engines/until.ts';
import {
  ann,
  cashedOut,
  deposit,
  laptop,
  Operator,
  phone,
  placed,
  session,
  settled,
  sportPlaced,
  sportSettled,
  voided,
} from './operator.ts';

let service: TestService;
let operator: Operator;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(() => service.close());
beforeEach(async () => {
  operator = await Operator.open(service);
});

describe('bets', () => {
  // Phone and laptop are two players when the bets begin and one when they end.
  const none = [0, 0, 0, 0, 0, 0, 0, 0];

  it.each([
    [
      'a casino bet settled',
      [placed(phone, 'b', 300)],
      [settled(laptop, 'b', 300, 500)],
      [0, 0, 300, 500, -200, 1, 0, 0],
    ],
    [
      'a casino bet placed late',
      [settled(laptop, 'b', 300, 500)],
      [placed(phone, 'b', 200)],
      [0, 0, 200, 500, -300, 1, 0, 0],
    ],
    [
      'a sport bet settled',
      [sportPlaced(phone, 'b', 300)],
      [sportSettled(laptop, 'b', 500)],
      [0, 0, 300, 500, -200, 1, 0, 0],
    ],
    [
      'a sport bet cashed out',
      [sportPlaced(phone, 'b', 300)],
      [cashedOut(laptop, 'b', 90)],
      [0, 0, 300, 90, 210, 1, 0, 0],
    ],
    ['a sport bet voided', [sportPlaced(phone, 'b', 300)], [voided(laptop, 'b')], none],
    [
      'a sport bet voided after it was settled',
      [sportPlaced(phone, 'b', 300), sportSettled(laptop, 'b', 500)],
      [voided(laptop, 'b')],
      none,
    ],
    [
      'a sport bet settled after it was cashed out',
      [sportPlaced(phone, 'b', 300), cashedOut(laptop, 'b', 90)],
      [sportSettled(phone, 'b', 700)],
      [0, 0, 300, 700, -400, 1, 0, 0],
    ],
    [
      'bets of both kinds with one id',
      [placed(phone, 'b', 1), sportPlaced(laptop, 'b', 20)],
      [settled(laptop, 'b', 1, 300), sportSettled(phone, 'b', 4_000)],
      [0, 0, 21, 4_300, -4_279, 2, 0, 0],
    ],
  ])('%s by the other player count once, before and after the merge', async (_what, begin, end, expected) => {
    // Every event has its own time, so the latest outcome is the one that is sent last.
    const start_ms = Date.now() - 60_000;
    const events = [...begin, ...end].map((event, i) => ({
      ...event,
      timestamp: new Date(start_ms + i * 1_000).toISOString(),
    }));
    const rest = [...expected];
    rest[6] = 2;
    for (const merge_after of [events.length, begin.length, 0]) {
      operator = await Operator.open(service);
      await operator.fold(session(phone), session(laptop), ...events.slice(0, merge_after));
      const before = await operator.sums();
      const player_id = await operator.signUp();
      expect(await operator.sums()).toEqual(before);
      if (merge_after < events.length) await operator.fold(...events.slice(merge_after));
      expect(await operator.totals(player_id), `merged after ${merge_after} events`).toEqual(rest);
      expect(await operator.deadLetters()).toEqual([]);
    }
  });
});

describe('transactions of a merged player', () => {
  it('stay claimed: the same content is a duplicate, other content a conflict, and so is the claim of another player', async () => {
    await operator.fold(
      deposit(phone, 't-1', 1),
      deposit(laptop, 't-2', 20),
      session({ anonymous_id: 'other' }),
    );
    const laptop_id = (await operator.identify(laptop)).player_id;
    const player_id = await operator.signUp();
    await operator.fold(
      deposit(laptop, 't-2', 20),
      deposit(phone, 't-2', 20),
      deposit({ player_id }, 't-2', 20),
      deposit({ player_id: laptop_id }, 't-2', 20),
      deposit({ player_id: laptop_id }, 't-1', 1),
    );
    expect(await operator.deadLetters()).toEqual([]);
    await operator.fold(deposit(laptop, 't-2', 21), deposit({ anonymous_id: 'other' }, 't-2', 20));
    const conflict = 'CONFLICTING_DUPLICATE deposit_confirmed';
    expect(await operator.deadLetters()).toEqual([conflict, conflict]);
    expect(await operator.totals(player_id)).toEqual([21, 0, 0, 0, 0, 0, 0, 0]);
    expect(await operator.sums()).toEqual([21, 0, 0, 0, 0, 0, 1, 0]);
  });

  it('that wait for a rate are converted for the survivor', async () => {
    const yesterday = new Date(Date.now() - 86_400_000);
    await operator.fold(deposit(phone, 't-1', 1_000, 'USD'), deposit(laptop, 't-2', 2_000, 'USD'));
    const player_id = await operator.signUp();
    expect(await operator.totals(player_id)).toEqual([0, 0, 0, 0, 0, 0, 0, 2]);
    const sql = service.platform.postgres.service;
    await sql`
      insert into fx_rates (tenant_id, base, quote, ts, rate)
      values (${operator.tenant.tenant_id}, 'USD', 'EUR', ${yesterday}, 0.5)`;
    await until(
      'both are converted',
      async (saw) => saw((await operator.player(player_id))['pending_conversions']) === 0,
    );
    expect(await operator.totals(player_id)).toEqual([1_500, 0, 0, 0, 0, 0, 0, 0]);
    // A deposit that is converted before the merge is restated after it in the same way.
    await operator.fold(deposit({ anonymous_id: 'tablet' }, 't-3', 10, 'USD'));
    await operator.identify({ anonymous_id: 'tablet', ...ann });
    await sql`
      update fx_rates set rate = 2 where tenant_id = ${operator.tenant.tenant_id}`;
    await until(
      'all are restated',
      async (saw) => saw((await operator.player(player_id))['total_deposited']) === 6_020,
    );
  });
});
