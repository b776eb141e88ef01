import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { grantableTemplates, readTemplate } from '../../../src/bonuses/templates/read.ts';
import { termsOf } from '../../../src/bonuses/templates/terms.ts';
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
