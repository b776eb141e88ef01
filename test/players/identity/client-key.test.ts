import { createHmac } from 'node:crypto';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decide, withoutProof, type NamedPlayer } from '../../../src/players/identity/decide.ts';
import { isGuardedTrait } from '../../../src/players/identity/guarded-traits.ts';
import { runs } from '../../engines/effort.ts';
import type { Fixture, Tenant } from '../../http/api-fixture.ts';
import { sharedFixture } from '../../http/shared-fixture.ts';

// Identify with a key that is public in a page: everybody who reads the page can send what these tests send.

let fixture: Fixture;
let tenant: Tenant;
let page: { key: string; client_secret: string };
let other_page: { key: string; client_secret: string };
let ids = 0;

beforeAll(async () => {
  fixture = await sharedFixture();
  tenant = await fixture.makeTenant();
  const make = async () => {
    const request = { method: 'POST', body: { name: 'page', kind: 'client' } };
    const path = `/v1/projects/${tenant.project_id}/api-keys`;
    return (await fixture.as(tenant.session, path, request)).body.data as typeof page;
  };
  page = await make();
  other_page = await make();
});
afterAll(() => fixture.close());

type Body = Record<string, unknown>;
interface Result {
  player_id: string;
  created: boolean;
  merged_player_ids: string[];
  ignored?: string[];
}

const fresh = (kind: string) => `${kind}-${++ids}`;
async function identify(key: string, body: Body): Promise<Result> {
  const answer = await fixture.as(key, '/v1/players/identify', { method: 'POST', body });
  expect(answer.status, answer.text).toBe(200);
  return answer.body.data as unknown as Result;
}
const byServer = (body: Body) => identify(tenant.api_key, body);
const byClient = (body: Body) => identify(page.key, body);
const hashOf = (external_id: string, secret = page.client_secret) =>
  createHmac('sha256', secret).update(external_id).digest('hex');

/** The row of the player as it is stored, without the times. */
async function stored(player_id: string): Promise<Record<string, unknown>> {
  const [row] = await fixture.platform.postgres.service`
    select external_id, email, phone, telegram_id, timezone, default_currency_code, anonymous_ids, status, self_excluded,
      cooldown_until, kyc_provider_ref, custom_attributes
    from players where tenant_id = ${tenant.tenant_id} and player_id = ${player_id}`;
  return { ...row };
}
const EVIL = {
  email: 'evil@example.com',
  phone: '+35699999999',
  telegram_id: '666',
  push_token: 'evil-token',
  default_currency_code: 'USD',
  consent: { email: true },
  'consent.email': true,
  'consent.sms.bonus': true,
  rg_risk: 'low',
  birth_date: '1970-01-01',
  kyc_level: 9,
  self_excluded: false,
  Email: 'evil@example.com',
  email_address: 'evil@example.com',
  whatsapp: '+35699999999',
  'e-mail': 'evil@example.com',
  marketing_opt_in: true,
};
const ADDRESSES = { email: 'v@example.com', phone: '+35611111111', telegram_id: '1', push_token: 'v-token' };

/** A player with everything that an attacker may want, and all the ids by which it is known. */
async function victim(traits: Body = ADDRESSES) {
  const [external_id, anonymous_id] = [fresh('victim'), fresh('device')];
  // Merged into it: the old player_id is another name of it.
  const { player_id: alias } = await byServer({ anonymous_id: fresh('old') });
  const { player_id } = await byServer({ external_id, anonymous_id, player_id: alias, traits });
  return { external_id, anonymous_id, player_id, alias };
}

describe('without a proof', () => {
  test('no address, consent or protection of a player with an external_id changes', async () => {
    let attempts = 0;
    for (const traits of [ADDRESSES, {}]) {
      const target = await victim(traits);
      const before = await stored(target.player_id);
      const names: Body[] = [
        { external_id: target.external_id },
        { player_id: target.player_id },
        { player_id: target.alias },
        { anonymous_id: target.anonymous_id },
        { external_id: target.external_id, anonymous_id: target.anonymous_id },
      ];
      for (const name of names) {
        for (const [trait, value] of Object.entries(EVIL)) {
          attempts++;
          const result = await byClient({ ...name, traits: { [trait]: value } });
          expect(result).toMatchObject({ player_id: target.player_id, ignored: [`traits.${trait}`] });
          if (value === EVIL.email) await byClient({ ...name, traits: { [trait]: null } });
        }
      }
      expect(await stored(target.player_id)).toEqual(before);
    }
    expect(attempts).toBeGreaterThan(150);
  });

  test('a wrong user_hash is no proof', async () => {
    const target = await victim();
    const other = await victim();
    const before = await stored(target.player_id);
    const right = hashOf(target.external_id);
    const hashes = [
      '',
      right.toUpperCase(),
      right.slice(0, 63),
      `${right}0`,
      ` ${right}`,
      '0'.repeat(64),
      hashOf(other.external_id),
      hashOf(target.external_id, other_page.client_secret),
      hashOf(target.external_id, page.key),
      hashOf(target.player_id),
      hashOf(''),
    ];
    for (const user_hash of hashes)
      await byClient({ external_id: target.external_id, user_hash, traits: EVIL });
    // The hash of one user proves nothing about another one, by whatever id that is named.
    const own = { user_hash: hashOf(other.external_id), traits: EVIL };
    await byClient({ player_id: target.player_id, ...own });
    await byClient({ anonymous_id: target.anonymous_id, ...own });
    await byClient({ external_id: other.external_id, player_id: target.player_id, ...own });
    await byClient({ external_id: other.external_id, anonymous_id: target.anonymous_id, ...own });
    expect(await stored(target.player_id)).toEqual(before);
    const bad = { external_id: target.external_id, user_hash: 7 };
    expect((await fixture.as(page.key, '/v1/players/identify', { method: 'POST', body: bad })).status).toBe(
      422,
    );
  });

  test('nobody is merged into a player, so nobody brings an address, money or an exclusion', async () => {
    const target = await victim({});
    const before = await stored(target.player_id);
    const own = fresh('attacker');
    const { player_id } = await byClient({
      anonymous_id: own,
      traits: { email: EVIL.email, 'consent.email': true },
    });
    for (const body of [
      { external_id: target.external_id, anonymous_id: own },
      { external_id: target.external_id, player_id },
      { player_id: target.player_id, anonymous_id: own },
      { anonymous_id: target.anonymous_id, player_id },
      { external_id: target.external_id, anonymous_id: fresh('unused') },
      { player_id: target.player_id, anonymous_id: fresh('unused') },
    ])
      expect((await byClient(body)).merged_player_ids).toEqual([]);
    expect(await stored(target.player_id)).toEqual(before);
    expect((await stored(player_id))['email']).toBe(EVIL.email);
  });

  test('a player who exists gets no external_id, and keeps the addresses that it has', async () => {
    const anonymous_id = fresh('a');
    const { player_id } = await byServer({
      anonymous_id,
      traits: { ...ADDRESSES, consent: { email: false } },
    });
    const before = await stored(player_id);
    const taken = await byClient({ anonymous_id, external_id: fresh('attacker') });
    expect(taken).toMatchObject({ created: true, ignored: ['anonymous_id'] });
    const named = await byClient({ player_id, external_id: fresh('attacker') });
    expect(named).toMatchObject({ created: true, ignored: ['player_id'] });
    expect([taken.player_id, named.player_id]).not.toContain(player_id);
    for (const id of [{ anonymous_id }, { player_id }]) {
      const { ignored } = await byClient({
        ...id,
        traits: {
          email: EVIL.email,
          phone: null,
          telegram_id: '666',
          push_token: 'x',
          'consent.email': true,
        },
      });
      expect(ignored?.length).toBe(5);
    }
    const { player_id: own } = await byClient({ anonymous_id: fresh('attacker') });
    await byClient({ anonymous_id, player_id: own });
    await byClient({ player_id, anonymous_id: fresh('attacker') });
    expect(await stored(player_id)).toEqual(before);
    // Their server, which needs no proof, joins them later.
    const joined = await byServer({ anonymous_id, external_id: fresh('user') });
    expect(joined.player_id).toBe(player_id);
  });

  test('a currency that the tenant does not have is refused, also where the trait is not set', async () => {
    const known = await victim();
    const deleted = await victim();
    await fixture.as(tenant.session, `/v1/players/${deleted.player_id}`, { method: 'DELETE' });
    const taken = fresh('a');
    await byServer({ anonymous_id: taken, traits: { default_currency_code: 'EUR' } });
    const unknown = [{ external_id: fresh('user') }, { anonymous_id: fresh('a') }];
    for (const given of [
      { external_id: known.external_id },
      { anonymous_id: known.anonymous_id },
      { external_id: known.external_id, user_hash: hashOf(known.external_id) },
      { external_id: deleted.external_id },
      { anonymous_id: taken },
      { player_id: '22222222-2222-4222-8222-222222222222' },
      ...unknown,
    ]) {
      for (const others of [{}, { plan: fresh('plan') }]) {
        const body = { ...given, traits: { ...others, default_currency_code: 'ZZZ' } };
        const answer = await fixture.as(page.key, '/v1/players/identify', { method: 'POST', body });
        expect([answer.status, answer.body.error?.code], JSON.stringify(body)).toEqual([
          422,
          'VALIDATION_ERROR',
        ]);
      }
    }
    for (const given of unknown) expect((await byClient(given)).created).toBe(true);
  });

  test('a new external_id gets no address either: its user has not come yet', async () => {
    const external_id = fresh('user');
    const { player_id, ignored } = await byClient({ external_id, traits: { ...EVIL, plan: 'gold' } });
    expect(ignored?.length).toBe(Object.keys(EVIL).length);
    expect(await stored(player_id)).toMatchObject({
      email: null,
      phone: null,
      custom_attributes: { plan: 'gold' },
    });
  });

  test('a page cannot fill the attributes of a player, so that the servers could write none', async () => {
    const { external_id, player_id } = await victim();
    const fill = (i: number) => {
      const body = { external_id, traits: { [`fill_${i}`]: 'x'.repeat(10_000) } };
      return fixture.as(page.key, '/v1/players/identify', { method: 'POST', body });
    };
    const answers = [];
    for (let i = 0; i < 4; i++) answers.push((await fill(i)).status);
    expect(answers).toEqual([200, 200, 200, 422]);
    await byServer({ external_id, traits: { email: 'server@example.com', notes: 'x'.repeat(10_000) } });
    expect((await stored(player_id))['email']).toBe('server@example.com');
  });

  test('two players who differ are not marked as a conflict', async () => {
    const [one, two] = [await victim(), await victim()];
    const before = [await stored(one.player_id), await stored(two.player_id)];
    await byClient({ external_id: one.external_id, anonymous_id: two.anonymous_id });
    await byClient({ player_id: one.player_id, anonymous_id: two.anonymous_id });
    await byClient({ external_id: fresh('new'), anonymous_id: two.anonymous_id, player_id: one.player_id });
    expect([await stored(one.player_id), await stored(two.player_id)]).toEqual(before);
  });
});

describe('what a page may do', () => {
  test('a visitor gives an address, a consent and a name, once', async () => {
    const anonymous_id = fresh('visitor');
    expect((await byClient({ anonymous_id })).created).toBe(true);
    const traits = {
      email: 'a@example.com',
      consent: { email: true },
      first_name: 'Ann',
      timezone: 'Europe/Malta',
    };
    const { player_id, ignored } = await byClient({ anonymous_id, traits });
    expect(ignored).toBeUndefined();
    expect(await stored(player_id)).toMatchObject({
      email: 'a@example.com',
      timezone: 'Europe/Malta',
      custom_attributes: { first_name: 'Ann', consent: { email: true } },
    });
  });

  test('new ids make a player together', async () => {
    const ids_of = { external_id: fresh('user'), anonymous_id: fresh('device') };
    const { player_id, created } = await byClient(ids_of);
    expect(created).toBe(true);
    expect(await byClient(ids_of)).toEqual({
      player_id,
      created: false,
      merged_player_ids: [],
      conflict: false,
    });
    expect((await stored(player_id))['anonymous_ids']).toEqual([ids_of.anonymous_id]);
  });

  test('with the user_hash of the external_id it identifies as a server does', async () => {
    const [external_id, anonymous_id] = [fresh('user'), fresh('device')];
    const { player_id } = await byServer({ external_id, traits: ADDRESSES });
    const visitor = await byClient({ anonymous_id, traits: { seen: true } });
    const user_hash = hashOf(external_id);
    const traits = { email: 'new@example.com', consent: { email: true }, push_token: 'new' };
    const result = await byClient({ external_id, anonymous_id, user_hash, traits });
    expect(result).toEqual({
      player_id,
      created: false,
      merged_player_ids: [visitor.player_id],
      conflict: false,
    });
    const after = await stored(player_id);
    expect(after).toMatchObject({
      email: 'new@example.com',
      anonymous_ids: [anonymous_id],
      custom_attributes: { seen: true, push_token: 'new', consent: { email: true } },
    });
    expect(JSON.stringify(after)).not.toContain(user_hash);
    const signed_up = fresh('user');
    const device = await byClient({
      anonymous_id: fresh('device'),
      external_id: signed_up,
      user_hash: hashOf(signed_up),
    });
    expect(device.created).toBe(true);
  });

  test('a server key needs no user_hash, and is not asked for a right one', async () => {
    const { external_id, player_id } = await victim();
    await byServer({ external_id, user_hash: 'wrong', traits: { email: 'server@example.com' } });
    expect((await stored(player_id))['email']).toBe('server@example.com');
  });
});

test.each(Object.keys(EVIL))('the trait %s is guarded', (name) => {
  expect(isGuardedTrait(name)).toBe(true);
});
test.each(['first_name', 'plan', 'timezone', 'favourite_game', 'level', 'page', 'message', 'language'])(
  'the trait %s is not guarded',
  (name) => {
    expect(isGuardedTrait(name)).toBe(false);
  },
);

test('whatever is given without a proof, nobody who exists gets an id or is merged', () => {
  const player = fc.record({
    player_id: fc.constantFrom('p1', 'p2', 'p3'),
    deleted: fc.boolean(),
    external_id: fc.option(fc.constantFrom('e1', 'e2')),
  });
  const id = fc.option(fc.constantFrom('x', 'y'), { nil: undefined });
  const given = fc.record({ anonymous_id: id, external_id: id, player_id: id });
  const named = fc.record(
    { by_anonymous_id: player, by_external_id: player, by_player_id: player },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(given, named, (ids_given, all) => {
      const { by_anonymous_id, by_external_id, by_player_id } = all;
      const known = {
        ...(ids_given.anonymous_id === undefined || by_anonymous_id === undefined ? {} : { by_anonymous_id }),
        ...(ids_given.external_id === undefined || by_external_id === undefined
          ? {}
          : {
              by_external_id: { ...by_external_id, external_id: ids_given.external_id } satisfies NamedPlayer,
            }),
        ...(ids_given.player_id === undefined || by_player_id === undefined ? {} : { by_player_id }),
      };
      const left = withoutProof(ids_given, known);
      const { target, set_external_id, merge, conflict, link_anonymous_id } = decide(left.given, left.named);
      expect([set_external_id, merge, conflict]).toEqual([false, [], false]);
      if (link_anonymous_id) expect(target).toBeUndefined();
    }),
    { numRuns: runs(300) },
  );
});
