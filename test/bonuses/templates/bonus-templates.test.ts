import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { grantableTemplates, readTemplate } from '../../../src/bonuses/templates/read.ts';
import { termsOf } from '../../../src/bonuses/templates/terms.ts';
import { openFixture, type Answer, type Fixture, type Tenant } from '../../http/api-fixture.ts';

let fixture: Fixture;
let tenant: Tenant;
beforeAll(async () => {
  fixture = await openFixture();
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

describe('a bonus template', () => {
  it('has the fields of the specification, with defaults', async () => {
    const data = await made(WELCOME);
    expect(data).toEqual({
      id: expect.any(String),
      project_id: tenant.project_id,
      name: 'Welcome',
      type: 'deposit_match',
      config: MATCH,
      wagering_requirement_multiplier: 0,
      wagering_basis: 'bonus',
      game_contribution: null,
      max_bet_during_wagering: null,
      max_win_cap: null,
      max_bet_action: 'flag',
      time_limit_hours: null,
      wallet_model: 'sticky',
      product: 'any',
      status: 'active',
      max_grants_per_player: null,
      grant_window_days: null,
      exclusion_group: null,
      budget_base: null,
      min_kyc_level: null,
      eligible_segment_id: null,
      version: 1,
      licence_warnings: [],
      created_at: expect.any(String),
      updated_at: expect.any(String),
      deleted_at: null,
    });
    expect((await call('GET', `/${String(data['id'])}`)).body.data).toEqual(data);
  });

  it.each([
    ['reload', { ...MATCH, match_percent: 12.5, min_deposit: 1_000 }],
    ['free_spins', { count: 20, value_per_spin: 10, currency: 'EUR', eligible_games: ['book-of-ra'] }],
    ['no_deposit', { amount: '1000000000000000000', currency: 'ETH' }],
    [
      'cashback',
      {
        percent: 10,
        window_days: 7,
        min_loss: 0,
        currency: 'EUR',
        cap_amount: 5_000,
        basis: 'turnover',
      },
    ],
    ['free_bet', { amount: 500, currency: 'EUR', min_odds: '1.5', stake_returned: true }],
  ])('of type %s keeps its config, large amounts as digits', async (type, config) => {
    const { config: shown, product } = await made({ name: type, type, config });
    expect(shown).toEqual({ ...config });
    expect(product).toBe({ free_spins: 'casino', free_bet: 'betting' }[type] ?? 'any');
  });

  it('keeps no field of its config that has no value', async () => {
    const { config } = await made({ ...WELCOME, config: { ...MATCH, min_deposit: null } });
    expect(config).toEqual(MATCH);
    const bet = { amount: 500, currency: 'EUR' };
    const free = await made({ name: 'Bet', type: 'free_bet', config: bet });
    expect(free['config']).toEqual({ ...bet, stake_returned: false });
  });

  it('takes every other field', async () => {
    const fields = {
      wagering_requirement_multiplier: 35.25,
      wagering_basis: 'bonus_plus_deposit',
      game_contribution: { slots: 100, live: 10, default: 0, sport: 5 },
      max_bet_during_wagering: 500,
      max_win_cap: '9007199254740993',
      max_bet_action: 'forfeit',
      time_limit_hours: 8_784,
      wallet_model: 'non_sticky',
      product: 'casino',
      status: 'paused',
      max_grants_per_player: 1,
      grant_window_days: 30,
      exclusion_group: 'welcome',
      budget_base: 1_000_000,
      min_kyc_level: 2,
    };
    expect(await made({ ...WELCOME, ...fields })).toMatchObject(fields);
  });

  it('takes an empty table of games for none', async () => {
    const empty = { wagering_requirement_multiplier: 10, game_contribution: {} };
    const one = await made({ ...WELCOME, ...empty });
    expect(one['game_contribution']).toBeNull();
    const path = `/${String(one['id'])}`;
    const table = { slots: 100 };
    for (const [written, shown, version] of [
      [{}, null, 1],
      [table, table, 2],
      [{}, null, 3],
      [null, null, 3],
    ] as const) {
      const { body } = await call('PATCH', path, { game_contribution: written });
      expect(body.data).toMatchObject({ game_contribution: shown, version });
    }
  });
});

describe('what is refused', () => {
  it.each<[string, string, unknown, string[]]>([
    ['a missing key', 'deposit_match', { match_percent: 100, currency: 'EUR' }, ['config.cap_amount']],
    ['an extra key', 'deposit_match', { ...MATCH, bonus: 1 }, ['config.bonus']],
    [
      'a config of another type',
      'free_spins',
      MATCH,
      [
        'config.cap_amount',
        'config.count',
        'config.eligible_games',
        'config.match_percent',
        'config.value_per_spin',
      ],
    ],
    ['a currency outside the catalogue', 'deposit_match', { ...MATCH, currency: 'XXX' }, ['config.currency']],
    [
      'everything at once',
      'deposit_match',
      { match_percent: 0, cap_amount: -1, currency: 'XXX' },
      ['config.cap_amount', 'config.currency', 'config.match_percent'],
    ],
    ['three decimals', 'deposit_match', { ...MATCH, match_percent: 12.345 }, ['config.match_percent']],
    ['a fraction of a cent', 'no_deposit', { amount: 0.5, currency: 'EUR' }, ['config.amount']],
    [
      'more percent than there is',
      'cashback',
      {
        percent: 100.01,
        window_days: 91,
        min_loss: -1,
        currency: 'EUR',
        cap_amount: 1,
      },
      ['config.min_loss', 'config.percent', 'config.window_days'],
    ],
    ['odds below 1', 'free_bet', { amount: 1, currency: 'EUR', min_odds: '0.5' }, ['config.min_odds']],
    ['no config', 'deposit_match', undefined, ['config']],
    ['no object', 'deposit_match', 'all in', ['config']],
  ])('in the config: %s', async (_what, type, config, paths) => {
    const answer = await make({ name: 'x', type, config });
    expect([answer.status, answer.body.error.code]).toEqual([422, 'BONUS_CONFIG_INVALID']);
    expect(issuePaths(answer)).toEqual(paths);
  });

  it.each<[string, object, string[]]>([
    ['an unknown type', { type: 'jackpot' }, ['type']],
    ['an unknown field', { bonus: 1 }, ['bonus']],
    [
      'several at once',
      { wagering_requirement_multiplier: 200.5, max_win_cap: 0, time_limit_hours: 8_785 },
      ['max_win_cap', 'time_limit_hours', 'wagering_requirement_multiplier'],
    ],
    ['three decimals', { wagering_requirement_multiplier: 1.001 }, ['wagering_requirement_multiplier']],
    [
      'a table with an unknown game',
      { game_contribution: { slots: 5, poker: 100 } },
      ['game_contribution.poker'],
    ],
    ['a table above 100', { game_contribution: { slots: 101 } }, ['game_contribution.slots']],
    [
      'a table in which nothing counts',
      { game_contribution: { slots: 0 }, wagering_requirement_multiplier: 1 },
      ['game_contribution'],
    ],
    ['winnings of a deposit match', { wagering_basis: 'winnings' }, ['wagering_basis']],
    [
      'a deposit basis without a deposit, and a bad config',
      {
        type: 'no_deposit',
        config: { amount: 0, currency: 'EUR' },
        wagering_basis: 'deposit',
      },
      ['config.amount', 'wagering_basis'],
    ],
    ['a segment that does not exist', { eligible_segment_id: randomUUID() }, ['eligible_segment_id']],
    ['no grants at all', { max_grants_per_player: 0 }, ['max_grants_per_player']],
  ])('outside the config: %s', async (_what, change, paths) => {
    const answer = await make({ ...WELCOME, ...change });
    expect([answer.status, answer.body.error.code]).toEqual([422, 'VALIDATION_ERROR']);
    expect(issuePaths(answer)).toEqual(paths);
  });

  it('the type, the version and the id, in a PATCH', async () => {
    const { id } = await made(WELCOME);
    for (const body of [{ type: 'reload' }, { version: 5 }, { id }]) {
      const answer = await call('PATCH', `/${String(id)}`, body);
      expect([answer.status, answer.body.error.code]).toEqual([422, 'FIELD_NOT_WRITABLE']);
    }
  });

  it('an unknown template, in every way', async () => {
    for (const id of [randomUUID(), 'x']) {
      for (const [method, body] of [['GET'], ['PATCH', { name: 'x' }], ['DELETE']] as const) {
        const answer = await call(method, `/${id}`, body);
        expect([answer.status, answer.body.error.code]).toEqual([404, 'BONUS_TEMPLATE_NOT_FOUND']);
      }
    }
  });
});

describe('changes', () => {
  it('of the terms are a new version, others are not', async () => {
    const { id } = await made({ ...WELCOME, wagering_requirement_multiplier: 30 });
    const patch = async (body: object) => (await call('PATCH', `/${String(id)}`, body)).body.data['version'];
    expect(await patch({ name: 'Hello', status: 'paused', max_grants_per_player: 2 })).toBe(1);
    expect(await patch({ wagering_requirement_multiplier: 30, config: MATCH })).toBe(1);
    expect(await patch({ config: { ...MATCH, cap_amount: 10_000 } })).toBe(2);
    expect(await patch({ max_win_cap: 500, time_limit_hours: 24 })).toBe(3);
    expect(await patch({ game_contribution: { slots: 100 } })).toBe(4);
    expect(await patch({ game_contribution: { slots: 100 }, status: 'active' })).toBe(4);
    expect(await patch({ max_win_cap: null })).toBe(5);
  });

  it('of a config are checked against the type that the template has', async () => {
    const { id } = await made(WELCOME);
    const answer = await call('PATCH', `/${String(id)}`, { config: { amount: 5, currency: 'EUR' } });
    expect(answer.body.error.code).toBe('BONUS_CONFIG_INVALID');
    const basis = await call('PATCH', `/${String(id)}`, { wagering_basis: 'winnings' });
    expect(basis.body.error.code).toBe('VALIDATION_ERROR');
  });

  it('end with a soft delete, after which the template can be read but not granted or listed', async () => {
    const other = await fixture.makeTenant();
    const { id } = await made(WELCOME, other);
    const deleted = await call('DELETE', `/${String(id)}`, undefined, other);
    expect(deleted.status).toBe(200);
    expect(deleted.body.data['deleted_at']).not.toBeNull();
    const again = await call('DELETE', `/${String(id)}`, undefined, other);
    expect(again.body.data).toEqual(deleted.body.data);
    expect((await call('GET', `/${String(id)}`, undefined, other)).body.data).toEqual(deleted.body.data);
    expect((await call('PATCH', `/${String(id)}`, { name: 'x' }, other)).status).toBe(404);
    expect((await call('GET', '', undefined, other)).body.data).toEqual([]);
  });
});

it('the list is filtered, paged and newest first', async () => {
  const other = await fixture.makeTenant();
  const ids: unknown[] = [];
  for (const n of [1, 2, 3, 4, 5]) {
    const type = n % 2 === 0 ? 'reload' : 'deposit_match';
    const { id } = await made({ ...WELCOME, type, status: n > 3 ? 'paused' : 'active' }, other);
    ids.unshift(id);
  }
  const list = async (query: string) => {
    const { body } = await call('GET', query, undefined, other);
    return (body.data as unknown as { id: string }[]).map(({ id }) => id);
  };
  expect(await list('')).toEqual(ids);
  expect(await list('?type=reload')).toEqual([ids[1], ids[3]]);
  expect(await list('?status=paused')).toEqual([ids[0], ids[1]]);
  expect(await list('?status=paused&type=deposit_match')).toEqual([ids[0]]);
  const first = await call('GET', '?limit=2', undefined, other);
  const cursor = String(first.body.meta['next_cursor']);
  expect(await list(`?limit=2&cursor=${cursor}`)).toEqual([ids[2], ids[3]]);
  for (const query of ['?status=draft', '?type=jackpot', '?limit=0', '?cursor=x', '?name=x']) {
    expect((await call('GET', query, undefined, other)).status, query).toBe(422);
  }
});

describe('what grants read', () => {
  const inTenant = <T>(work: Parameters<typeof fixture.platform.postgres.asTenant<T>>[1]) =>
    fixture.platform.postgres.asTenant(tenant.tenant_id, work);

  it('is the template with its terms, unless it is deleted', async () => {
    const { id } = await made({ ...WELCOME, max_win_cap: 700, wagering_requirement_multiplier: 12.5 });
    const row = await inTenant((tx) => readTemplate(tx, tenant, String(id)));
    expect(termsOf(row)).toMatchObject({
      terms_version: 1,
      template_id: id,
      template_version: 1,
      config: { type: 'deposit_match', cap_amount: 20_000n },
      wagering: { multiplier_hundredths: 1_250, basis: 'bonus' },
      max_win_cap: 700n,
    });
    await call('DELETE', `/${String(id)}`);
    for (const gone of [String(id), randomUUID(), 'x']) {
      await expect(inTenant((tx) => readTemplate(tx, tenant, gone))).rejects.toMatchObject({
        code: 'BONUS_TEMPLATE_NOT_FOUND',
      });
    }
  });

  it('says what can be granted: active templates of the project', async () => {
    const active = String((await made(WELCOME))['id']);
    const paused = String((await made({ ...WELCOME, status: 'paused' }))['id']);
    const foreign = String((await made(WELCOME, await fixture.makeTenant()))['id']);
    const ids = [active, paused, foreign, randomUUID()];
    expect(await inTenant((tx) => grantableTemplates(tx, tenant, ids))).toEqual(new Set([active]));
    expect(await inTenant((tx) => grantableTemplates(tx, tenant, []))).toEqual(new Set());
  });

  it('a config that no longer fits its type says so', async () => {
    const { id } = await made(WELCOME);
    await fixture.platform.postgres.service`
      update bonus_templates set config = '{"match_percent": 100, "currency": "EUR"}' where template_id = ${String(id)}`;
    const row = await inTenant((tx) => readTemplate(tx, tenant, String(id)));
    expect(() => termsOf(row)).toThrow(/config of bonus template .* cannot be used: cap_amount/);
  });
});

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
