import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { nextShare, releasable } from '../../../src/bonuses/campaigns/release-rate.ts';
import { Room } from '../../../src/bonuses/campaigns/room.ts';

const amount = fc.bigInt(1n, 1_000n);
const limit = fc.option(fc.bigInt(0n, 20_000n));

it('limits are never passed, and less than one grant is left when more is asked for', () => {
  fc.assert(
    fc.property(
      fc.array(amount, { maxLength: 60 }),
      fc.record({ budget_base: limit, max_liability: limit, max_grants: fc.option(fc.nat(50)) }),
      fc.record({ template_base: fc.bigInt(0n, 5_000n), own_base: fc.bigInt(0n, 5_000n), grants: fc.nat(5) }),
      (costs, { budget_base, max_liability, max_grants }, { template_base, own_base, grants }) => {
        const used = { template_base, campaign_base: own_base, campaign_grants: grants };
        const room = new Room({ budget_base }, { max_liability, max_grants, daily_budget_base: null }, used);
        const left = (cap: bigint | null, before: bigint, sum: bigint) =>
          cap === null ? null : cap - before - sum;
        let sum = 0n;
        let count = 0;
        for (const cost of costs) {
          const [of_budget, of_liability] = [
            left(budget_base, template_base, sum),
            left(max_liability, own_base, sum),
          ];
          const fits =
            (of_budget === null || cost <= of_budget) &&
            (of_liability === null || cost <= of_liability) &&
            (max_grants === null || grants + count < max_grants);
          // Refused only when it does not fit: so less than that grant is left.
          expect(room.take(cost, 1)).toBe(fits ? 1 : 0);
          if (!fits) continue;
          sum += cost;
          count += 1;
        }
      },
    ),
  );
});

it('members of one cost are as many as one after the other', () => {
  fc.assert(
    fc.property(
      amount,
      fc.nat(60),
      fc.record({ budget_base: limit, max_liability: limit, max_grants: fc.option(fc.nat(50)) }),
      fc.record({ template_base: fc.bigInt(0n, 30_000n), campaign_base: fc.bigInt(0n, 30_000n) }),
      (cost, members, { budget_base, max_liability, max_grants }, held) => {
        const rooms = [1, 2].map(
          () =>
            new Room(
              { budget_base },
              { max_liability, max_grants, daily_budget_base: null },
              { ...held, campaign_grants: 3 },
            ),
        );
        const [together, apart] = rooms;
        let sum = 0;
        for (let i = 0; i < members; i++) sum += apart?.take(cost, 1) ?? 0;
        expect(together?.take(cost, members)).toBe(sum);
        expect(together?.take(cost, 1)).toBe(apart?.take(cost, 1));
      },
    ),
  );
});

it('a rate gives at most a burst more than its share, however often it is asked', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 500 }),
      fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 80 }),
      (rate, pauses) => {
        let [now_ms, released_to_ms, total] = [0, 0, 0];
        for (const pause_ms of pauses) {
          now_ms += pause_ms;
          const { count, start_ms, each_ms } = releasable(rate, {
            now_ms,
            released_to_ms,
            room: 512,
            waiting: 0,
          });
          expect(count).toBeLessThanOrEqual(Math.max(1, Math.floor(rate / 4)));
          if (count > 0) released_to_ms = Math.ceil(start_ms + count * each_ms);
          total += count;
        }
        expect(total).toBeLessThanOrEqual((rate * now_ms) / 1_000);
      },
    ),
  );
});

it('members who are asked for out of turn are sent at the rate, too', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 500 }),
      fc.array(fc.integer({ min: 0, max: 700 }), { minLength: 1, maxLength: 80 }),
      (rate, pauses) => {
        let [now_ms, released_to_ms] = [0, 0];
        const due: number[] = [];
        for (const pause_ms of pauses) {
          now_ms += pause_ms;
          const { due_ms, used_to_ms } = nextShare(rate, { now_ms, released_to_ms });
          due.push(due_ms);
          released_to_ms = Math.ceil(used_to_ms);
          // Until the last of them is due, the release has nothing to give.
          if (used_to_ms < now_ms) continue;
          expect(releasable(rate, { now_ms, released_to_ms, room: 512, waiting: 0 }).count).toBe(0);
        }
        for (const [i, at_ms] of due.entries())
          expect(i + 1).toBeLessThanOrEqual((rate * at_ms) / 1_000 + 1e-6);
      },
    ),
  );
});
