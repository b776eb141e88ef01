import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decide,
  KYC_KINDS,
  MAX_RELEVANT,
  relevantOf,
  stateOf,
  type KycDecision,
  type KycKind,
  mayOperatorDecide,
  mayPlatformDecide,
} from '../../../src/protection/kyc/decide.ts';
import type { KycModel } from '../../../src/tenants/config/catalogue.ts';
import { runs } from '../../engines/effort.ts';
import { expectedOf } from './kyc-oracle.ts';

const decisionOf = (
  kind: KycKind,
  at_ms: number,
  level: number | null = null,
  expires_at_ms: number | null = null,
) => ({
  kind,
  at_ms,
  level,
  expires_at_ms,
});

const anyDecision: fc.Arbitrary<KycDecision> = fc.record({
  kind: fc.constantFrom(...KYC_KINDS),
  at_ms: fc.integer({ min: 1, max: 6 }),
  level: fc.option(fc.integer({ min: 0, max: 3 })),
  expires_at_ms: fc.option(fc.integer({ min: 1, max: 8 })),
});

/** Who may decide, as the table of the decisions has it: platform, operator. */
const MODELS: Record<KycModel, readonly [boolean, boolean]> = {
  platform_owns: [true, false],
  crm_owns: [false, true],
  dual: [true, true],
  none: [false, false],
};

/** Takes them as they arrive, each beside what is still looked at. */
function arrive(decisions: readonly KycDecision[]) {
  let known: KycDecision[] = [];
  for (const one of decisions) {
    const { state } = decide(known, one);
    known = relevantOf([...known, one]);
    expect(stateOf(known)).toEqual(state);
  }
  const { status, level, requested_level, expires_at_ms } = stateOf(known);
  return { status, level, requested_level, expires_at_ms };
}

describe('decisions about KYC', () => {
  it('of both sources, in any order and with repeats, come to one state under each model', () => {
    const stream = fc.array(fc.record({ decision: anyDecision, is_operator: fc.boolean() }), {
      maxLength: 12,
    });
    fc.assert(
      fc.property(
        stream.chain((said) =>
          fc.record({
            said: fc.constant(said),
            arrived: fc
              .shuffledSubarray(said, { minLength: said.length })
              .chain((shuffled) =>
                fc
                  .array(fc.nat(Math.max(said.length - 1, 0)), { maxLength: said.length === 0 ? 0 : 5 })
                  .map((again) => [...shuffled, ...again.flatMap((i) => said[i] ?? [])]),
              ),
          }),
        ),
        ({ said, arrived }) => {
          for (const [model, [platform, operator]] of Object.entries(MODELS)) {
            const counts = ({ is_operator }: { is_operator: boolean }) =>
              is_operator ? mayOperatorDecide(model as KycModel) : mayPlatformDecide(model as KycModel);
            const expected = expectedOf(
              said
                .filter(({ is_operator }) => (is_operator ? operator : platform))
                .map(({ decision }) => decision),
            );
            expect(arrive(arrived.filter(counts).map(({ decision }) => decision))).toEqual(expected);
          }
        },
      ),
      { numRuns: runs(2_000) },
    );
  });

  it.each<[string, ReturnType<typeof decisionOf>[], object]>([
    [
      'of one time: the negative one holds',
      [decisionOf('rejected', 5), decisionOf('approved', 5, 2)],
      { status: 'rejected', applied: false },
    ],
    [
      'that are older change nothing',
      [decisionOf('rejected', 5), decisionOf('approved', 4, 2)],
      { status: 'rejected', applied: false },
    ],
    [
      'are not compared with a submission',
      [decisionOf('submitted', 9, 1), decisionOf('approved', 5, 1)],
      { status: 'approved', applied: true, requested_level: null },
    ],
    [
      'of an approved player: a submission keeps the approval',
      [decisionOf('approved', 1, 1), decisionOf('submitted', 2, 2)],
      { status: 'approved', level: 1, requested_level: 2 },
    ],
    [
      'a failed upgrade keeps the approval',
      [decisionOf('approved', 1, 1), decisionOf('submitted', 2, 2), decisionOf('rejected', 3, 2)],
      { status: 'approved', level: 1, requested_level: null },
    ],
    [
      'a later refusal of the level takes it',
      [decisionOf('approved', 1, 1), decisionOf('rejected', 3, 1)],
      { status: 'rejected', level: 1 },
    ],
    [
      'an upgrade raises the level and keeps the status',
      [decisionOf('expired', 1), decisionOf('level_upgraded', 2, 3)],
      { status: 'expired', level: 3 },
    ],
    [
      'the clock ends an approval',
      [decisionOf('approved', 1, 1, 5), decisionOf('lapsed', 5)],
      { status: 'expired', level: 1 },
    ],
    [
      'the clock does not end a renewed one',
      [decisionOf('approved', 1, 1, 5), decisionOf('lapsed', 5), decisionOf('approved', 3, 1, 9)],
      { status: 'approved', applied: true },
    ],
    [
      'a submission after a revocation opens a case',
      [decisionOf('revoked', 1), decisionOf('submitted', 2)],
      { status: 'pending', requested_level: 1 },
    ],
  ])('%s', (_what, said, expected) => {
    const next = said.at(-1) ?? decisionOf('submitted', 0);
    const { applied, state } = decide(said.slice(0, -1), next);
    expect({ applied, ...state }).toMatchObject(expected);
  });

  describe('of a flood', () => {
    /** More of one kind, at random times, than is looked at. */
    const flood = fc
      .record({
        kind: fc.constantFrom(...KYC_KINDS),
        size: fc.constantFrom(0, 1, MAX_RELEVANT - 1, MAX_RELEVANT + 1, 2 * MAX_RELEVANT),
        first_ms: fc.integer({ min: 1, max: 6 }),
        step_ms: fc.constantFrom(0, 0.01),
        level: fc.option(fc.integer({ min: 0, max: 3 })),
        expires_at_ms: fc.option(fc.integer({ min: 1, max: 8 })),
      })
      .map(({ size, first_ms, step_ms, ...said }) =>
        Array.from({ length: size }, (_, i): KycDecision => ({ ...said, at_ms: first_ms + i * step_ms })),
      );
    const flooded = fc
      .tuple(fc.array(anyDecision, { maxLength: 8 }), flood, flood)
      .map((parts) => parts.flat());
    const rightsOf = ({ status, level }: { status: string; level: number }) =>
      status === 'approved' ? level : -1;

    it('what is looked at is bounded, and comes to what all of them come to', () => {
      fc.assert(
        fc.property(flooded, (said) => {
          const relevant = relevantOf(said);
          expect(relevant.length).toBeLessThanOrEqual(MAX_RELEVANT + 3);
          expect(stateOf(relevant)).toEqual(stateOf(said));
          expect(relevantOf(relevant)).toEqual(relevant);
        }),
        { numRuns: runs(100) },
      );
    });

    it('submissions, however many, change nothing but the case that is open', () => {
      const submissions = flood.map((said) => said.map((one) => ({ ...one, kind: 'submitted' as const })));
      fc.assert(
        fc.property(fc.array(anyDecision, { maxLength: 12 }), submissions, (said, more) => {
          const { last: _last, ...state } = stateOf(relevantOf([...said, ...more]));
          expect(state).toEqual(expectedOf([...said, ...more]));
        }),
        { numRuns: runs(100) },
      );
    });

    it('no flood gives a right that the statements do not give', () => {
      fc.assert(
        fc.property(flooded, (said) => {
          expect(rightsOf(stateOf(said))).toBeLessThanOrEqual(rightsOf(expectedOf(said)));
        }),
        { numRuns: runs(100) },
      );
    });

    it('an approval with more decisions after it than are looked at is void; a new one holds', () => {
      const upgrades = Array.from({ length: MAX_RELEVANT + 1 }, (_, i) =>
        decisionOf('level_upgraded', i + 2, 1),
      );
      const said = [decisionOf('approved', 1, 2), ...upgrades];
      expect(stateOf(said.slice(0, -1))).toMatchObject({ status: 'approved', level: 2 });
      expect(stateOf(said)).toMatchObject({ status: 'expired', level: 2, expires_at_ms: null });
      const again = decisionOf('approved', MAX_RELEVANT + 9, 1);
      expect(decide(said, again)).toMatchObject({ applied: true, state: { status: 'approved', level: 1 } });
      // One that says no level holds, too: platforms that never say one repeat it day by day.
      const daily = Array.from({ length: MAX_RELEVANT + 9 }, (_, i) => decisionOf('approved', i + 2));
      expect(stateOf([decisionOf('approved', 1, 2), ...daily])).toMatchObject({
        status: 'approved',
        level: 2,
      });
    });
  });
});
