import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { PLAYER_DEPENDENTS } from '../../../src/app/player-dependents.ts';
import { mergePlayer } from '../../../src/players/identity/merge-queries.ts';
import { setKycModel, type TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { statementWaits } from '../../engines/lock-wait.ts';
import { Operator, type Fields, type Sent } from './operator.ts';

let service: TestService;
let operator: Operator;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(() => service.close());
beforeEach(async () => {
  operator = await Operator.open(service);
});

const ann = { external_id: 'ann' };
const known = { anonymous_id: 'known' };
const visitor = { anonymous_id: 'visitor' };

const START_MS = Date.UTC(2026, 0, 15, 12);
/** An event at this hour after the start. */
const at = (hour: number, who: object, event: string, properties: Fields = {}): Sent => ({
  event,
  ...who,
  timestamp: new Date(START_MS + hour * 3_600_000).toISOString(),
  properties,
});
const excluded = (hour: number, who: object) => at(hour, who, 'self_exclusion_set');
const lifted = (hour: number, who: object) => at(hour, who, 'self_exclusion_lifted');

/** Ann, and a visitor without an external_id. */
async function two(): Promise<{ ann_id: string; visitor_id: string }> {
  const { player_id } = await operator.identify({ ...known, ...ann });
  return { ann_id: player_id, visitor_id: (await operator.identify(visitor)).player_id };
}

/** Merges the visitor into Ann; returns Ann's player as the API shows it afterwards. */
async function merge(): Promise<Fields> {
  const { player_id, merged_player_ids } = await operator.identify({ ...visitor, ...ann });
  expect(merged_player_ids).toHaveLength(1);
  return operator.player(player_id);
}

describe('an exclusion, a ban, a review', () => {
  it.each([
    ['active', 'active', 'active'],
    ['active', 'self_excluded', 'self_excluded'],
    ['self_excluded', 'active', 'self_excluded'],
    ['active', 'banned', 'banned'],
    ['banned', 'active', 'banned'],
    ['self_excluded', 'banned', 'banned'],
    ['banned', 'self_excluded', 'banned'],
    ['active', 'conflict', 'conflict'],
    ['conflict', 'active', 'conflict'],
    ['conflict', 'self_excluded', 'self_excluded'],
    ['self_excluded', 'conflict', 'self_excluded'],
    ['conflict', 'banned', 'banned'],
    ['banned', 'conflict', 'banned'],
  ])('of either player survives: %s and %s become %s', async (of_ann, of_visitor, expected) => {
    const { ann_id, visitor_id } = await two();
    await operator.patch(ann_id, { status: of_ann });
    await operator.patch(visitor_id, { status: of_visitor });
    expect(await merge()).toMatchObject({ id: ann_id, status: expected });
    expect((await operator.list(`&status=${expected}`)).map(({ id }) => id)).toEqual([ann_id]);
    // When the ban ends, the exclusion below it shows, whichever of the two players had it.
    const below = [of_ann, of_visitor].includes('self_excluded') ? 'self_excluded' : 'active';
    if (expected === 'banned')
      expect(await operator.patch(ann_id, { status: 'active' })).toMatchObject({ status: below });
  });

  it('set by an event of either holds until a later event lifts it', async () => {
    const { ann_id, visitor_id } = await two();
    await operator.fold(lifted(9, known), excluded(5, visitor));
    expect(await operator.player(ann_id)).toMatchObject({ status: 'active' });
    // Ann's exclusion was lifted after the visitor's was set, but the visitor's was never lifted.
    expect(await merge()).toMatchObject({ status: 'self_excluded' });
    await operator.fold(lifted(4, known), lifted(5, { player_id: visitor_id }));
    expect(await operator.player(ann_id)).toMatchObject({ status: 'self_excluded' });
    await operator.fold(lifted(6, { player_id: visitor_id }));
    expect(await operator.player(ann_id)).toMatchObject({ status: 'active' });
  });

  it('of both holds from the later time on', async () => {
    await two();
    await operator.fold(excluded(3, known), excluded(8, visitor));
    const { id } = await merge();
    await operator.fold(lifted(7, known));
    expect(await operator.player(String(id))).toMatchObject({ status: 'self_excluded' });
    await operator.fold(lifted(9, known));
    expect(await operator.player(String(id))).toMatchObject({ status: 'active' });
  });

  it('lifted for both stays lifted, and an older exclusion does not return', async () => {
    await two();
    await operator.fold(excluded(1, known), lifted(2, known), excluded(5, visitor), lifted(6, visitor));
    const { id, status } = await merge();
    expect(status).toBe('active');
    await operator.fold(excluded(4, known));
    expect(await operator.player(String(id))).toMatchObject({ status: 'active' });
  });

  it('set during the merge reaches the survivor, whichever transaction is first', async () => {
    for (let round = 0; round < 10; round++) {
      const device = { anonymous_id: `device-${round}` };
      const { player_id } = await operator.identify({ external_id: `person-${round}` });
      await operator.identify(device);
      await Promise.all([
        operator.fold(excluded(round, device)),
        operator.identify({ ...device, external_id: `person-${round}` }),
      ]);
      expect(await operator.player(player_id)).toMatchObject({ status: 'self_excluded' });
    }
  });
});

describe('KYC', () => {
  it.each([
    ['the later of the two', 3, 5, 'rejected', 1],
    ['the approval, where it is later', 6, 5, 'approved', 1],
    ['the refusal at equal times', 5, 5, 'rejected', 1],
  ])('is %s', async (_what, hour_of_ann, hour_of_visitor, kyc_status, kyc_level) => {
    await setKycModel(service, operator.tenant);
    await two();
    await operator.fold(
      at(hour_of_ann, known, 'kyc_approved', { level: 1 }),
      at(hour_of_visitor, visitor, 'kyc_rejected', { level: 1 }),
    );
    const { id } = await merge();
    expect(await operator.player(String(id))).toMatchObject({ kyc_status, kyc_level });
    // An event older than the one that won does not count any more.
    await operator.fold(at(2, visitor, 'kyc_expired', { level: 7 }));
    expect(await operator.player(String(id))).toMatchObject({ kyc_status, kyc_level });
  });

  it('is what all decisions about both come to', async () => {
    await setKycModel(service, operator.tenant);
    await two();
    await operator.fold(
      at(9, known, 'kyc_level_upgraded', { level: 4 }),
      at(10, visitor, 'kyc_submitted', { level: 5 }),
      at(2, visitor, 'kyc_approved', { level: 1 }),
    );
    expect(await merge()).toMatchObject({ kyc_status: 'approved', kyc_level: 4 });
  });
});

describe('the profile', () => {
  const contact = {
    email: 'a@example.com',
    phone: '+356000001',
    telegram_id: '@a',
    timezone: 'Europe/Malta',
  };

  it('gets missing values from the merged player', async () => {
    await two();
    const traits = { ...contact, first_name: 'Ann', tags: ['vip'], default_currency_code: 'GBP' };
    await operator.identify({ ...visitor, traits });
    // The currency is never missing, because every player has one.
    expect(await merge()).toMatchObject({
      ...contact,
      ...ann,
      default_currency_code: 'EUR',
      custom_attributes: { first_name: 'Ann', tags: ['vip'] },
    });
    expect((await operator.list('&email=a@example.com')).map(({ external_id }) => external_id)).toEqual([
      'ann',
    ]);
  });

  it('keeps the survivor’s own values', async () => {
    await two();
    await operator.identify({ ...ann, traits: { ...contact, first_name: 'Ann', deep: { a: 1 } } });
    const other = { email: 'b@example.com', phone: '+356000002', telegram_id: '@b', timezone: 'Europe/Rome' };
    await operator.identify({
      ...visitor,
      traits: { ...other, first_name: 'Bob', deep: { b: 2 }, colour: 'red' },
    });
    expect(await merge()).toMatchObject({
      ...contact,
      custom_attributes: { first_name: 'Ann', deep: { a: 1 }, colour: 'red' },
    });
  });

  it('gives priority to the traits of the call that merges', async () => {
    await two();
    await operator.identify({ ...ann, traits: { first_name: 'Ann', email: 'a@example.com' } });
    await operator.identify({ ...visitor, traits: { email: 'b@example.com', colour: 'red', size: 'm' } });
    const traits = { email: 'c@example.com', colour: null };
    const { player_id } = await operator.identify({ ...visitor, ...ann, traits });
    const merged = await operator.player(player_id);
    expect(merged).toMatchObject({ email: 'c@example.com' });
    expect(merged['custom_attributes']).toEqual({ first_name: 'Ann', size: 'm' });
  });

  it('keeps a refused consent of either player, in nested or dotted form', async () => {
    const { player_id: ann_id } = await operator.identify({
      ...ann,
      traits: { 'consent.email': true, 'consent.sms': false },
    });
    const visitor = { anonymous_id: 'visitor' };
    await operator.identify({
      ...visitor,
      traits: { consent: { email: false, push: true }, 'consent.sms': true },
    });
    await operator.identify({ ...visitor, ...ann });
    const merged = await operator.player(ann_id);
    expect(merged['custom_attributes']).toMatchObject({ 'consent.email': false, 'consent.sms': false });
    expect(merged['custom_attributes']).not.toHaveProperty(['consent.push']);
  });

  it.each([
    ['none', 'strong', 'strong'],
    ['strong', 'none', 'strong'],
    ['low', 'strong', 'strong'],
    ['none', 'low', 'low'],
    ['low', 'none', 'low'],
    ['none', 'none', 'none'],
    ['none', undefined, 'none'],
    [undefined, 'none', 'none'],
    [undefined, 'low', 'low'],
    ['unreadable', 'low', 'low'],
  ])('has the worse risk of both: %s and %s become %s', async (of_ann, of_visitor, expected) => {
    await two();
    const told = (who: object, rg_risk: string | undefined) =>
      rg_risk === undefined ? undefined : operator.identify({ ...who, traits: { rg_risk } });
    await told(ann, of_ann);
    await told(visitor, of_visitor);
    expect((await merge())['custom_attributes']).toEqual({ rg_risk: expected });
  });

  it.each([
    ['1990-05-05', '2010-01-01', '2010-01-01'],
    ['2010-01-01', '1990-05-05', '2010-01-01'],
    ['1990-05-05T10:00:00Z', '1990-05-04', '1990-05-05T10:00:00Z'],
    ['5 May 1990', '1990-05-05', '1990-05-05'],
    ['1990-05-05', 1990, '1990-05-05'],
    ['5 May 1990', 'unknown', '5 May 1990'],
  ])('has the later date of birth of both: %s and %s become %s', async (of_ann, of_visitor, expected) => {
    await two();
    await operator.identify({ ...ann, traits: { birth_date: of_ann } });
    await operator.identify({ ...visitor, traits: { birth_date: of_visitor } });
    expect((await merge())['custom_attributes']).toEqual({ birth_date: expected });
  });

  it('keeps what protects a player, whatever the size of its attributes', async () => {
    await two();
    await operator.identify({
      ...ann,
      traits: { large: 'x'.repeat(40_000), consent: { email: { casino: true } } },
    });
    await operator.identify({
      ...visitor,
      traits: {
        also_large: 'x'.repeat(40_000),
        rg_risk: 'strong',
        birth_date: '2001-01-01',
        'consent.email': { casino: false, betting: true },
        consent: {
          sms: { 'x-y_1': 'no', 'Not A Product': false, deep: { er: false } },
          push: [],
          phone: null,
        },
        'consent.sms.bingo': 0,
      },
    });
    const { large: _large, ...rest } = (await merge())['custom_attributes'] as Fields;
    expect(rest).toEqual({
      consent: { email: { casino: true } },
      rg_risk: 'strong',
      birth_date: '2001-01-01',
      'consent.email.casino': false,
      'consent.sms.x-y_1': false,
      'consent.sms.bingo': false,
      'consent.push': false,
    });
  });

  it('stays within its size limit: attributes that would exceed it are not copied', async () => {
    const { ann_id } = await two();
    const large = 'x'.repeat(40_000);
    await operator.identify({ ...ann, traits: { first_name: 'Ann', large_of_ann: large } });
    await operator.identify({ ...visitor, traits: { large_of_visitor: large, colour: 'red' } });
    const merged = await merge();
    expect(Object.keys(merged['custom_attributes'] as Fields)).toEqual(['first_name', 'large_of_ann']);
    expect(await operator.patch(ann_id, { custom_attributes: { more: 1 } })).toMatchObject({
      custom_attributes: { first_name: 'Ann', more: 1 },
    });
  });
});

describe('a merge that is impossible', () => {
  it('because a total exceeds 64 bits changes nothing', async () => {
    const { ann_id, visitor_id } = await two();
    const { tenant_id } = operator.tenant;
    const most = 2n ** 63n - 1n;
    const sql = service.platform.postgres.service;
    await sql`
      update player_totals set total_deposited = ${most}
      where tenant_id = ${tenant_id} and player_id in (${ann_id}, ${visitor_id})`;
    const { status, error } = await operator.tryToIdentify({ ...visitor, ...ann });
    expect([status, error.code]).toEqual([409, 'CONFLICT']);
    expect(error.message).toMatch(/64 bits/);
    const rows =
      await sql`select player_id, total_deposited from player_totals where tenant_id = ${tenant_id}`;
    expect(rows).toHaveLength(2);
    expect((await operator.identify(visitor)).player_id).toBe(visitor_id);
  });
});

describe('a call that waits while its player is being merged', () => {
  const calls = {
    PATCH: (player_id: string) => operator.admin(`/${player_id}`, 'PATCH', { email: 'late@example.com' }),
    DELETE: (player_id: string) => operator.admin(`/${player_id}`, 'DELETE'),
  };

  it.each(['PATCH', 'DELETE'] as const)('%s reaches the last survivor', async (method) => {
    const { ann_id, visitor_id } = await two();
    const { player_id: first_id } = await operator.identify({ anonymous_id: 'first' });
    await operator.identify({ anonymous_id: 'first', player_id: visitor_id });
    const { tenant_id, project_id } = operator.tenant;
    const sql = service.platform.postgres.service;
    let pending: ReturnType<(typeof calls)['PATCH']> | undefined;
    await sql.begin(async (tx) => {
      const pair = { tenant_id, project_id, player_id: visitor_id, into_player_id: ann_id };
      await mergePlayer(tx, pair, new Date(), PLAYER_DEPENDENTS);
      // The call names the first player, finds it merged into the visitor, and waits for the visitor's row.
      pending = calls[method](first_id);
      await statementWaits(sql);
    });
    const answer = await pending;
    expect(answer?.status, JSON.stringify(answer?.error)).toBe(200);
    expect(answer?.data).toMatchObject({
      id: ann_id,
      ...(method === 'PATCH' ? { email: 'late@example.com' } : {}),
    });
  });
});
