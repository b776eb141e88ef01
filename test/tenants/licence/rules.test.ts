import { describe, expect, it } from 'vitest';
import { effectiveRules } from '../../../src/tenants/licence/effective.ts';
import { violations } from '../../../src/tenants/licence/evaluate.ts';
import type { Question } from '../../../src/tenants/licence/facts.ts';
import { RULE_POINTS, type Jurisdiction, type RulePoint } from '../../../src/tenants/licence/rule.ts';
import { LICENCE_RULES } from '../../../src/tenants/licence/rules.ts';
import { readSources } from '../../source-tree.ts';
import { NOW, RULE_EXAMPLES, grant, message, player, terms } from './rule-examples.ts';

/** The rules of a jurisdiction, the listed ones as if they were enforced. */
const ruleOf = (id: string) => LICENCE_RULES.filter((rule) => rule.id === id);
const broken = (id: string, question: Question) =>
  violations(ruleOf(id), question).map(({ rule_id }) => rule_id);

describe('each rule has an example that it accepts and one that it refuses', () => {
  const decided = LICENCE_RULES.filter(({ severity }) => severity !== 'info').map(({ id }) => id);

  it('and every rule that decides something is here', () => {
    expect(Object.keys(RULE_EXAMPLES).toSorted()).toEqual(decided.toSorted());
  });

  it.each(Object.entries(RULE_EXAMPLES))('%s', (id, { accepted, refused }) => {
    for (const question of accepted) expect(broken(id, question)).toEqual([]);
    for (const question of refused) expect(broken(id, question)).toEqual([id]);
  });
});

it('kinds and params are named as in the table of rules', () => {
  const named = (id: string) => ruleOf(id).map(({ kind, params }) => ({ kind, params }));
  expect(named('denmark_deposit_equals_bonus')).toEqual([
    { kind: 'deposit_equals_bonus_100pct', params: {} },
  ]);
  expect(named('ukgc_at_risk')).toEqual([{ kind: 'no_new_bonus_when', params: { risk: ['strong'] } }]);
  expect(named('malta_self_excluded')).toMatchObject([{ kind: 'no_bonus_when' }]);
  expect(named('ukgc_marketing_consent')).toEqual([
    {
      kind: 'consent',
      params: { per_product: ['betting', 'casino', 'bingo'], per_channel: ['email', 'sms', 'phone'] },
    },
  ]);
});

describe('where rules are asked', () => {
  /** The question of each point, as the sources ask it. */
  const ASKED: Record<RulePoint, RegExp> = {
    template: /violations\([^;]*at: 'template'/,
    campaign: /violations\([^;]*at: 'campaign'/,
    grant: /violations\([^;]*at: 'grant'/,
    // Compiled to what the gate of messages reads.
    message: /messageRulesOf\(licenceRulesOf\(/,
    tier: /violations\([^;]*at: 'tier'/,
  };
  const decided = LICENCE_RULES.filter(({ severity }) => severity !== 'info');

  it.each(RULE_POINTS)('%s: rules apply there, and somebody asks them', async (point) => {
    expect(decided.some(({ applies_to }) => applies_to.includes(point))).toBe(true);
    const sources = await readSources(['src']);
    const asking = sources.filter(
      ({ path, text }) => !path.startsWith('src/tenants/licence/') && ASKED[point].test(text),
    );
    expect(asking.map(({ path }) => path)).not.toEqual([]);
  });

  it.each(decided.map(({ id, applies_to }) => [id, applies_to] as const))(
    '%s decides at each of its points: %s',
    (id, applies_to) => {
      const { refused = [] } = RULE_EXAMPLES[id] ?? {};
      // A bonus of terms that a template may not have may not be granted either.
      const granted = refused.flatMap((one) => (one.at === 'template' ? [grant({ terms: one.facts })] : []));
      const asked = [...refused, ...granted.filter(({ at }) => applies_to.includes(at))];
      const deciding = asked.filter((question) => broken(id, question).length > 0).map(({ at }) => at);
      expect([...new Set(deciding)].toSorted()).toEqual(applies_to.toSorted());
    },
  );
});

it('each rule says where it comes from and when it was read', () => {
  for (const rule of LICENCE_RULES) {
    expect(rule.checked_on, rule.id).toMatch(/^\d{4}-\d{2}-\d{2}$/);
    expect(rule.source.length, rule.id).toBeGreaterThan(5);
    expect(rule.id).toMatch(new RegExp(`^${rule.jurisdiction}_[a-z0-9_]+$`));
    if (rule.jurisdiction !== 'all') expect(rule.source_url, rule.id).toMatch(/^https:\/\//);
    // Nothing that nobody could confirm refuses anything.
    if (rule.evidence === 'unverified') expect(rule.severity, rule.id).toBe('info');
  }
  expect(new Set(LICENCE_RULES.map(({ id }) => id)).size).toBe(LICENCE_RULES.length);
});

describe('a rule about the terms', () => {
  const of_terms = LICENCE_RULES.filter(({ applies_to }) => applies_to.includes('template'));

  it('is asked again at each grant: the template may be older than the licence or the rule', () => {
    for (const { id, applies_to } of of_terms) {
      if (id !== 'malta_clear_terms' && id !== 'germany_low_multiple')
        expect(applies_to, id).toContain('grant');
    }
  });

  it.each([
    ['ukgc_single_product', { type: 'free_spins', product: 'betting' }],
    ['denmark_contribution_100', { contributions: [100, 50] }],
    ['denmark_no_wagering_on_winnings', { wagering: { multiplier_hundredths: 100, basis: 'winnings' } }],
    ['denmark_deposit_equals_bonus', { match_percent: 50 }],
    ['denmark_min_days', { time_limit_hours: 1_439 }],
    ['sweden_min_days', { time_limit_hours: 1_439 }],
    ['netherlands_no_loss_based', { type: 'cashback', match_percent: null }],
  ] as const)('%s refuses the grant, too', (id, of) => {
    expect(broken(id, grant({ terms: of }))).toEqual([id]);
    expect(broken(id, grant())).toEqual([]);
  });
});

it('a deposit that a grant names beside a gift does not make room for more wagering', () => {
  const gift = grant({
    terms: { type: 'no_deposit', match_percent: null },
    bonus_amount: 5_000n,
    deposit_amount: 1_000_000n,
    wagering_required: 50_001n,
  });
  expect(broken('denmark_max_wagering', gift)).toEqual(['denmark_max_wagering']);
});

describe('the rules that hold', () => {
  const ids = (jurisdiction: Jurisdiction | null, now: Date, overrides = {}) =>
    effectiveRules(jurisdiction, overrides, now).map(({ id }) => id);

  it('are those for all, and those of the licence from their first day on', () => {
    expect(ids(null, NOW)).toEqual(['all_protected', 'all_min_age']);
    expect(ids('ukgc', new Date('2026-01-18T23:59:59.999Z'))).not.toContain('ukgc_max_wagering');
    expect(ids('ukgc', new Date('2026-01-19T00:00:00.000Z'))).toContain('ukgc_max_wagering');
    expect(ids('ukgc', NOW)).not.toContain('denmark_max_value');
    expect(ids('germany', NOW)).toEqual(['all_protected', 'all_min_age']);
  });

  it('can be made stricter by a tenant, a listed one too', () => {
    const overrides = {
      germany_max_value: { severity: 'enforce', reason: 'own policy', params: { amount: 50 } },
    };
    const [rule] = effectiveRules('germany', overrides as never, NOW);
    expect(rule).toMatchObject({ severity: 'enforce', params: { amount: 50, currency: 'EUR' } });
  });
});

describe('what is not known', () => {
  const unknown = player({ birth_date: null, rg_risk: null });

  it.each([
    ['ukgc', grant({ player: unknown }), 'rg_risk'],
    ['netherlands', grant({ player: player({ birth_date: null }) }), 'birth_date'],
    ['sweden', grant({ player: player({ bonuses_before: null }) }), 'bonuses_before'],
    ['ukgc', message({ channel: 'sms', product: 'casino' }), 'consent.sms.casino'],
    ['ontario', message({ channel: 'push', product: 'casino' }), 'consent.push'],
    ['denmark', terms({ value_in: {} }), 'fx.DKK'],
  ] as const)('breaks enforced rules of %s, and is named', (jurisdiction, question, missing_trait) => {
    expect(violations(effectiveRules(jurisdiction, {}, NOW), question)).toEqual([
      expect.objectContaining({ severity: 'enforce', missing_trait }),
    ]);
  });

  it('breaks no rule for all, and no warning', () => {
    expect(violations(effectiveRules(null, {}, NOW), grant({ player: unknown }))).toEqual([]);
    const blank = player({ rg_risk: null, kyc_status: null, first_seen_at: null, birth_date: null });
    expect(violations(effectiveRules('spain', {}, NOW), grant({ player: blank }))).toEqual([]);
  });

  it('does not hide what is known', () => {
    const excluded = player({ birth_date: null, rg_risk: null, statuses: ['banned'] });
    const found = violations(effectiveRules('ukgc', {}, NOW), grant({ player: excluded }));
    expect(found.map(({ rule_id }) => rule_id).toSorted()).toEqual(['all_protected', 'ukgc_at_risk']);
  });
});

it.each([
  ['2008-11-22', true],
  ['2008-11-23', false],
  ['2008-02-29', true],
  ['1990-05-01T00:00:00Z', true],
  ['2012-05-01T00:00:00Z', false],
  ['2012-05-01T00:00:00', false],
  // What cannot be read is not unknown: it passes no rule about age.
  ['in May', false],
  ['', false],
  ['1990-05-01 or so', false],
  ['1990-05-01Thursday', false],
  ['2012-99-99', false],
  ['1990-02-30', false],
  ['0000-00-00', false],
  ['0001-01-01', false],
  ['01.05.1990', false],
])('on 22 November 2026 who was born on %s is of age: %s', (birth_date, of_age) => {
  const now = new Date('2026-11-22T12:00:00Z');
  const question = { ...grant({ player: player({ birth_date }) }), now };
  expect(broken('all_min_age', question)).toEqual(of_age ? [] : ['all_min_age']);
});

it('whoever was born on 29 February comes of age on 1 March', () => {
  const on = (day: string) =>
    broken('all_min_age', {
      ...grant({ player: player({ birth_date: '2008-02-29' }) }),
      now: new Date(`${day}T12:00:00Z`),
    });
  expect(on('2026-02-28')).toEqual(['all_min_age']);
  expect(on('2026-03-01')).toEqual([]);
});
