import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  CUSTOM_PREFIX,
  definitionOf,
  EVENTS,
  isActivity,
  referenceOf,
} from '../../../src/ingest/events/catalogue.ts';
import { dedupeIdOf } from '../../../src/ingest/events/dedupe-id.ts';
import { findEventProblem } from '../../../src/ingest/events/validate.ts';
import { MONEY_EVENTS } from '../../../src/ledger/money/ledger.ts';
import { runs } from '../../engines/effort.ts';
import { CANONICAL, propertiesOf } from '../sound-events.ts';

// What wallets and sportsbooks send (`feeds.md` 1, 2 and 8).

type Properties = Record<string, unknown>;

const context = { now_ms: 0, hasCurrency: (code: string) => code === 'EUR' };
const problemOf = (event: string, more: Properties, of: Properties = propertiesOf(event)) =>
  findEventProblem({ event, anonymous_id: 'a', properties: { ...of, ...more } }, context);
/** The dotted path and the message of what is wrong; undefined: the event is accepted. */
const refusal = (event: string, more: Properties) => {
  const problem = problemOf(event, more);
  if (problem === undefined) return undefined;
  expect(problem.code).toBe('PROPERTIES_INVALID');
  return `${problem.path}: ${problem.message}`;
};

const MAX = 'x'.repeat(256);
/** No text of 1 to 256 characters that can be an id. */
const NO_IDS = [null, 7, true, '', `${MAX}x`, '\u{1f600}'.repeat(129), 'undefined', ['a'], { id: 'a' }];

const MOVEMENTS = ['bet_placed', 'bet_won', 'bet_voided', 'sport_cashout', 'sport_bet_voided'];
const REVERSALS = ['deposit_reversed', 'withdrawal_reversed'];
const BALANCE = ['balance_credited', 'balance_debited'];
const REASONS = ['cashback', 'prize', 'bonus_release', 'goodwill', 'fee', 'tip', 'correction', 'other'];
const PROTECTIVE = new Set(['KYC', 'Responsible gaming']);
const names = Object.keys(EVENTS);

describe('the catalogue', () => {
  it('has six further names, in the groups of today and "Balance"', () => {
    const added = names.filter((name) => !CANONICAL.includes(name));
    expect(added).toEqual([]);
    const group = (name: string) => definitionOf(name)?.group;
    expect(group('bet_voided')).toBe('Casino wagering');
    expect(group('sport_bet_reopened')).toBe('Sportsbook (two-phase)');
    expect(group('deposit_reversed')).toBe('Deposits');
    expect(group('withdrawal_reversed')).toBe('Withdrawals');
    expect(names.filter((name) => group(name) === 'Balance')).toEqual(BALANCE);
  });

  it.each<readonly [string, readonly string[]]>([
    ['bet_voided', ['bet_id']],
    ['sport_bet_reopened', ['bet_id']],
    ...REVERSALS.map((name) => [name, ['amount', 'currency', 'transaction_id', 'reversal_id']] as const),
    ...BALANCE.map((name) => [name, ['amount', 'currency', 'transaction_id', 'reason']] as const),
  ])('%s requires %j', (event, required) => {
    expect([...(definitionOf(event)?.required ?? [])].sort()).toEqual([...required].sort());
    for (const name of required) {
      const { [name]: _left_out, ...rest } = propertiesOf(event);
      expect(problemOf(event, {}, rest)?.path).toBe(`properties.${name}`);
    }
  });

  it.each([
    ['game_category', 'bet_placed', ['bingo', 'poker', 'virtual', 'lottery', 'instant']],
    ['bet_type', 'sport_bet_placed', ['accumulator', 'bet_builder', 'each_way', 'other']],
    ['outcome', 'bet_settled', ['push']],
    ['reason', 'balance_credited', REASONS],
    ['reason', 'balance_debited', REASONS],
  ])('%s of %s may be any of %j', (property, event, values) => {
    for (const value of values) expect(refusal(event, { [property]: value })).toBeUndefined();
    expect(refusal(event, { [property]: 'another' })).toContain(`properties.${property}: `);
  });

  it('says which event a void is', () => {
    expect(refusal('bet_settled', { outcome: 'void' })).toMatch(/^properties\.outcome: .*\bbet_voided\b/);
  });

  it('the reason of a reversal is free text, and is not required', () => {
    for (const event of REVERSALS) expect(refusal(event, { reason: 'fraud' })).toBeUndefined();
  });

  it('only what the player does is activity of the player', () => {
    const none = ['bet_voided', 'sport_bet_voided', 'sport_bet_reopened', ...REVERSALS, ...BALANCE];
    expect(none.filter(isActivity)).toEqual([]);
    const of_money = MONEY_EVENTS.filter((event) => !none.includes(event));
    expect(of_money.filter((event) => !isActivity(event))).toEqual([]);
  });

  it('events with a reference are the events of the ledger', () => {
    const with_reference = names.filter((name) => {
      const { properties } = EVENTS[name as keyof typeof EVENTS];
      return 'transaction_id' in properties || 'bet_id' in properties;
    });
    expect(with_reference.sort()).toEqual([...MONEY_EVENTS].sort());
    expect(referenceOf('bet_won', { bet_id: 'b', transaction_id: 't' })).toBe('b');
    expect(referenceOf('deposit_failed', { bet_id: 'b' })).toBeUndefined();
    expect(referenceOf('custom_bet', { bet_id: 'b' })).toBeUndefined();
  });
});

describe('ids of movements and reversals', () => {
  it.each([
    ...MOVEMENTS.map((event) => ['movement_id', event] as const),
    ...REVERSALS.map((event) => ['reversal_id', event] as const),
  ])('%s of %s is a text of 1 to 256 characters', (property, event) => {
    for (const id of ['1', MAX, 'psp:42']) expect(refusal(event, { [property]: id })).toBeUndefined();
    for (const id of NO_IDS) expect(refusal(event, { [property]: id })).toContain(`properties.${property}: `);
  });

  it('a movement_id is free on all other events', () => {
    for (const event of names.filter((name) => !MOVEMENTS.includes(name)))
      expect(refusal(event, { movement_id: 7 })).toBeUndefined();
  });

  it('a reference has at most 256 characters, as the ledger counts them', () => {
    expect(refusal('bet_lost', { bet_id: '\u{1f600}'.repeat(128) })).toBeUndefined();
    expect(refusal('bet_lost', { bet_id: '\u{1f600}'.repeat(129) })).toMatch(/bet_id must be .* 256 char/);
  });
});

/** The bonus parts of each event, with the property that each is a part of. */
const PARTS = [
  ['bet_placed', 'bonus_stake', 'amount'],
  ['bet_settled', 'bonus_stake', 'amount'],
  ['bet_settled', 'bonus_payout', 'payout'],
  ['bet_won', 'bonus_payout', 'payout'],
  ['sport_bet_placed', 'bonus_stake', 'amount'],
  ['sport_bet_settled', 'bonus_stake', 'amount'],
  ['sport_bet_settled', 'bonus_payout', 'payout'],
  ['sport_cashout', 'bonus_payout', 'payout'],
] as const;

describe('bonus money', () => {
  it.each(PARTS)('%s: %s is at most %s', (event, part, whole) => {
    const of = (stake: unknown, bonus: unknown) => refusal(event, { [whole]: stake, [part]: bonus });
    for (const bonus of [0, 999, 1_000, '1000']) expect(of(1_000, bonus)).toBeUndefined();
    expect(of('99999999999999999999', '99999999999999999999')).toBeUndefined();
    for (const [stake, bonus] of [
      [1_000, 1_200],
      [0, 1],
      [9_007_199_254_740_991, '9007199254740992'],
      ['99999999999999999998', '99999999999999999999'],
    ])
      expect(of(stake, bonus)).toMatch(
        new RegExp(`^properties\\.${part}: .*more than properties\\.${whole}`),
      );
    for (const bonus of [-1, 0.5, null, 'x', '01', {}]) expect(of(1_000, bonus)).toContain(part);
  });

  it('needs its whole', () => {
    expect(refusal('sport_bet_settled', { bonus_stake: 0 })).toMatch(
      /^properties\.bonus_stake: .*properties\.amount/,
    );
    // Read on bets alone: the other part would be lost in silence.
    expect(refusal('bet_won', { bonus_stake: 1 })).toMatch(/^properties\.bonus_stake: .*has no amount/);
    expect(refusal('bet_won', { bonus_stake: 1, amount: 1 })).toMatch(/has no amount/);
    expect(refusal('bet_placed', { bonus_payout: 1 })).toMatch(/^properties\.bonus_payout: .*has no payout/);
  });

  it('is free on all events that are no bets with money', () => {
    const bets = new Set<string>(PARTS.map(([event]) => event));
    for (const event of [...names, 'custom_bet'].filter((name) => !bets.has(name)))
      expect(refusal(event, { bonus_stake: 'all', bonus_payout: -1 })).toBeUndefined();
  });
});

describe('dedupe_id', () => {
  const readers = names.filter(
    (name) =>
      !PROTECTIVE.has(definitionOf(name)?.group ?? '') && referenceOf(name, propertiesOf(name)) === undefined,
  );

  it('is read on the canonical events without a claim, and must be a text of 1 to 256 characters there', () => {
    expect(readers).toContain('session_start');
    expect(readers).toContain('bonus_claimed');
    expect(readers).toContain('deposit_failed');
    for (const event of readers) {
      for (const id of ['e', MAX]) {
        expect(refusal(event, { dedupe_id: id })).toBeUndefined();
        expect(dedupeIdOf(event, { dedupe_id: id })).toBe(id);
      }
      for (const id of NO_IDS) {
        expect(refusal(event, { dedupe_id: id })).toContain('properties.dedupe_id: ');
        expect(dedupeIdOf(event, { dedupe_id: id })).toBeUndefined();
      }
      expect(dedupeIdOf(event, {})).toBeUndefined();
    }
  });

  it('is free where the event has a claim, and where a constant id could hide an exclusion', () => {
    for (const event of names.filter((name) => !readers.includes(name))) {
      for (const id of [...NO_IDS, 'e']) {
        expect(refusal(event, { dedupe_id: id })).toBeUndefined();
        expect(dedupeIdOf(event, { ...propertiesOf(event), dedupe_id: id })).toBeUndefined();
      }
    }
    const failed = { transaction_id: 't', dedupe_id: 7 };
    expect(refusal('deposit_failed', failed)).toBeUndefined();
    expect(dedupeIdOf('deposit_failed', { ...failed, dedupe_id: 'e' })).toBeUndefined();
  });

  it('of a custom event is read when it is valid, and ignored otherwise', () => {
    expect(dedupeIdOf('custom_spin', { dedupe_id: 'e', bet_id: 'b', transaction_id: 't' })).toBe('e');
    for (const id of NO_IDS) {
      expect(refusal('custom_spin', { dedupe_id: id })).toBeUndefined();
      expect(dedupeIdOf('custom_spin', { dedupe_id: id })).toBeUndefined();
    }
  });

  it('is never read of a name that is no event', () => {
    for (const name of ['', 'toString', '__proto__', CUSTOM_PREFIX, 'self_exclusion_SET'])
      expect(dedupeIdOf(name, { dedupe_id: 'e' })).toBeUndefined();
  });
});

const READ = ['amount', 'payout', 'bonus_stake', 'bonus_payout', 'movement_id', 'reversal_id', 'dedupe_id'];
const values = fc.oneof(
  fc.jsonValue(),
  fc.nat(),
  fc.constantFrom('EUR', 'push', 'void', 'cashback', '00', '1'.repeat(38), '9'.repeat(39), -1, 1e300, MAX),
);

it('whatever is sent, the check answers, and what it accepts has parts that fit', () => {
  const sent = fc.dictionary(fc.oneof(fc.constantFrom(...READ, 'reason', 'outcome'), fc.string()), values);
  fc.assert(
    fc.property(fc.constantFrom(...names, 'custom_x'), fc.boolean(), sent, (event, is_sound, given) => {
      const properties = { ...(is_sound ? propertiesOf(event) : {}), ...given };
      const problem = findEventProblem({ event, anonymous_id: 'a', properties }, context);
      const id = dedupeIdOf(event, properties);
      expect(id === undefined || id === properties['dedupe_id']).toBe(true);
      if (problem !== undefined) {
        expect(problem.code).toBe('PROPERTIES_INVALID');
        expect(problem.message.length).toBeLessThan(600);
        return;
      }
      const { properties: known = {} } = definitionOf(event) ?? {};
      for (const [part, whole] of [
        ['bonus_stake', 'amount'],
        ['bonus_payout', 'payout'],
      ] as const) {
        if (part in known && part in properties)
          expect(BigInt(properties[part] as string) <= BigInt(properties[whole] as string)).toBe(true);
      }
    }),
    { numRuns: runs(2_000) },
  );
});
