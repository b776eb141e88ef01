import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../../engines/http-client.ts';
import type { Fixture, Tenant } from '../../http/api-fixture.ts';
import { sharedFixture } from '../../http/shared-fixture.ts';

let fixture: Fixture;
let tenant: Tenant;
beforeAll(async () => {
  fixture = await sharedFixture();
  tenant = await fixture.makeTenant();
});
afterAll(async () => fixture?.close());

const MATCH = { match_percent: 100, cap_amount: 20_000, currency: 'EUR' };
const WELCOME = { name: 'Welcome', type: 'deposit_match', config: MATCH };

const call = (method: string, path: string, body?: unknown, who: Tenant = tenant): Promise<Answer> =>
  fixture.as(who.session, `/v1/bonus-templates${path}`, { method, body });
const make = (body: object, who?: Tenant) => call('POST', '', body, who);
const made = async (body: object, who?: Tenant): Promise<Record<string, unknown>> => {
  const answer = await make(body, who);
  expect(answer.status, answer.text).toBe(201);
  return answer.body.data;
};
const issuePaths = ({ body }: Answer) => {
  const issues = body.error.details['issues'] as { path: string }[];
  return issues.map(({ path }) => path).toSorted();
};
const configure = async (who: Tenant, body: object): Promise<void> => {
  const answer = await fixture.as(who.session, '/v1/tenant/config', { method: 'PATCH', body });
  expect(answer.status, answer.text).toBe(200);
};

describe('the rules of a licence', () => {
  const licensed = async (license_jurisdiction: string, config: object = {}) => {
    const own = await fixture.makeTenant();
    await configure(own, { license_jurisdiction, config });
    return own;
  };
  const refused = (answer: Answer) => [
    answer.status,
    answer.body.error.code,
    answer.body.error.details['rule_id'],
  ];

  it('refuse terms that break them, and name the rule', async () => {
    const own = await licensed('ukgc');
    const spins = {
      name: 'Spins',
      type: 'free_spins',
      product: 'casino',
      config: { count: 20, value_per_spin: 10, currency: 'EUR', eligible_games: ['book'] },
    };
    const heavy = { ...spins, wagering_requirement_multiplier: 10.01 };
    expect(refused(await make(heavy, own))).toEqual([422, 'LICENCE_RULE_VIOLATED', 'ukgc_max_wagering']);
    await made({ ...heavy, wagering_requirement_multiplier: 10 }, own);
    const betting = { ...spins, product: 'betting' };
    expect(refused(await make(betting, own))).toEqual([422, 'LICENCE_RULE_VIOLATED', 'ukgc_single_product']);
    // 10 times bonus and deposit is 20 times a bonus of 100 %.
    const both = { ...WELCOME, wagering_basis: 'bonus_plus_deposit' };
    expect(refused(await make({ ...both, wagering_requirement_multiplier: 5.01 }, own))[2]).toBe(
      'ukgc_max_wagering',
    );
    await made({ ...both, wagering_requirement_multiplier: 5 }, own);
    await made({ ...heavy });
  });

  it('hold for PATCH, but a template that came to break them can be renamed and paused', async () => {
    const own = await fixture.makeTenant();
    const { id } = await made({ ...WELCOME, wagering_requirement_multiplier: 35 }, own);
    await configure(own, { license_jurisdiction: 'ukgc' });
    const patch = (body: object) => call('PATCH', `/${String(id)}`, body, own);
    expect((await patch({ name: 'Old', status: 'paused' })).status).toBe(200);
    expect(refused(await patch({ status: 'active' }))[2]).toBe('ukgc_max_wagering');
    expect(refused(await patch({ wagering_requirement_multiplier: 20 }))[2]).toBe('ukgc_max_wagering');
    expect((await patch({ wagering_requirement_multiplier: 10, status: 'active' })).status).toBe(200);
  });

  it('compare values in another currency exactly, and fail closed without a rate', async () => {
    const own = await licensed('spillemyndigheden');
    const gift = (amount: number, currency = 'EUR') =>
      make({ name: 'Gift', type: 'no_deposit', config: { amount, currency } }, own);
    expect((await gift(100_000, 'DKK')).status).toBe(201);
    expect(refused(await gift(100_001, 'DKK'))[2]).toBe('denmark_max_value');
    const blind = await gift(1);
    expect(refused(blind)[2]).toBe('denmark_max_value');
    expect(blind.body.error.message).toContain('give the tenant a rate to DKK');
    await fixture.platform.postgres.service`
      insert into fx_rates (tenant_id, base, quote, ts, rate, source)
      values (${own.tenant_id}, 'EUR', 'DKK', now() - interval '1 hour', 7.4627, 'manual')`;
    // 1000 / 7.4627 = 133.9997…
    expect((await gift(13_399)).status).toBe(201);
    expect(refused(await gift(13_400))[2]).toBe('denmark_max_value');
  });

  it('can be loosened to a warning with a reason, which the audit log keeps, and tightened', async () => {
    const reason = 'counsel, 2026-03-01';
    const own = await licensed('ukgc', {
      license_rules: { ukgc_max_wagering: { severity: 'warn', reason, params: { multiple: 5 } } },
    });
    const data = await made({ ...WELCOME, wagering_requirement_multiplier: 6 }, own);
    expect(data['licence_warnings']).toEqual([
      { rule_id: 'ukgc_max_wagering', message: expect.stringContaining('6 times the bonus, more than 5') },
    ]);
    const { body } = await fixture.as(own.session, '/v1/audit-log');
    expect(JSON.stringify(body.data)).toContain(reason);
    await configure(own, { config: { license_rules: { ukgc_max_wagering: { severity: null } } } });
    expect(refused(await make({ ...WELCOME, wagering_requirement_multiplier: 6 }, own))[2]).toBe(
      'ukgc_max_wagering',
    );
  });

  it('are not loosened under the reason of an earlier change', async () => {
    const own = await licensed('ukgc', {
      license_rules: { ukgc_max_wagering: { params: { multiple: 5 }, reason: 'own policy' } },
    });
    const patch = (change: object) =>
      fixture.as(own.session, '/v1/tenant/config', {
        method: 'PATCH',
        body: { config: { license_rules: { ukgc_max_wagering: change } } },
      });
    const silent = await patch({ severity: 'warn' });
    expect([silent.status, silent.body.error.code]).toEqual([422, 'VALIDATION_ERROR']);
    expect(issuePaths(silent)).toEqual(['config.license_rules.ukgc_max_wagering.reason']);
    expect((await patch({ params: { multiple: 4 } })).status).toBe(200);
    expect((await patch({ severity: 'warn', reason: 'counsel' })).status).toBe(200);
  });

  it('are tightened without a reason; whatever takes that back is loosening, too', async () => {
    const own = await fixture.makeTenant();
    const patch = (license_rules: object | null) =>
      fixture.as(own.session, '/v1/tenant/config', { method: 'PATCH', body: { config: { license_rules } } });
    const outcome = async (license_rules: object | null) => {
      const answer = await patch(license_rules);
      return answer.status === 200 ? 200 : [answer.status, ...issuePaths(answer)];
    };
    const max = (change: object | null) => outcome({ ukgc_max_wagering: change });
    const refusal = (id: string) => [422, `config.license_rules.${id}.reason`];
    expect(await max({ params: { multiple: 5 } })).toBe(200);
    expect(await max({ params: { multiple: 4 }, severity: 'enforce' })).toBe(200);
    for (const looser of [
      { params: { multiple: 5 } },
      { params: { multiple: null } },
      { params: null },
      { severity: 'warn' },
      { severity: 'warn', params: { multiple: 3 } },
      { params: { multiple: 5 }, reason: null },
      null,
    ])
      expect(await max(looser), JSON.stringify(looser)).toEqual(refusal('ukgc_max_wagering'));
    expect(await outcome(null)).toEqual(refusal('ukgc_max_wagering'));
    expect(await max({ params: { multiple: 5 }, reason: 'own policy' })).toBe(200);
    expect(await max({ severity: null, params: null, reason: 'back to the law' })).toBe(200);
    expect(await max(null)).toBe(200);
    // Rules that warn or are listed by themselves become stricter by it.
    expect(await outcome({ germany_max_value: { severity: 'warn' } })).toBe(200);
    expect(await outcome({ spain_verified: { severity: 'enforce' } })).toBe(200);
    expect(await outcome({ spain_verified: { severity: null } })).toEqual(refusal('spain_verified'));
    expect(await outcome({ spain_verified: { severity: 'warn', reason: 'counsel' } })).toBe(200);
    // A rule that is looser than its law keeps its reason.
    expect(await max({ severity: 'warn', reason: 'counsel' })).toBe(200);
    expect(await max({ severity: 'warn' })).toBe(200);
    expect(await max({ reason: null })).toEqual(refusal('ukgc_max_wagering'));
    expect(await max({ severity: 'enforce' })).toBe(200);
  });

  it.each([
    ['a rule that does not exist', { ukgc_nothing: { severity: 'warn', reason: 'x' } }],
    ['no reason', { ukgc_max_wagering: { severity: 'warn' } }],
    ['a rule switched off', { ukgc_max_wagering: { severity: 'info', reason: 'x' } }],
    ['a milder number', { ukgc_max_wagering: { reason: 'x', params: { multiple: 11 } } }],
    ['a milder number of days', { denmark_min_days: { reason: 'x', params: { days: 59 } } }],
    [
      'params that are none of its numbers',
      { ukgc_max_wagering: { reason: 'x', params: { base: 'bonus' } } },
    ],
    ['params of a rule without numbers', { spain_verified: { reason: 'x', params: { days: 1 } } }],
  ])('cannot be changed so: %s', async (_what, license_rules) => {
    const answer = await fixture.as(tenant.session, '/v1/tenant/config', {
      method: 'PATCH',
      body: { config: { license_rules } },
    });
    expect([answer.status, answer.body.error.code]).toEqual([422, 'VALIDATION_ERROR']);
  });

  it('are in the catalogue of the configuration, and bonuses have settings there', async () => {
    const own = await licensed('mga', {
      bonuses: { paused: true, on_exclusion: 'cancel', grants_per_day: 3 },
    });
    const { body } = await fixture.as(own.session, '/v1/tenant/config');
    expect(body.data['config']).toEqual({
      bonuses: { paused: true, on_exclusion: 'cancel', grants_per_day: 3 },
    });
    const { license_rules } = body.data['catalogue'] as { license_rules: Record<string, unknown>[] };
    expect(license_rules.find(({ id }) => id === 'ukgc_max_wagering')).toMatchObject({
      jurisdiction: 'ukgc',
      licenses: ['ukgc'],
      kind: 'max_wagering_multiple',
      params: { multiple: 10, base: 'bonus' },
      severity: 'enforce',
      effective_from: '2026-01-19',
      checked_on: '2026-11-22',
    });
  });
});
