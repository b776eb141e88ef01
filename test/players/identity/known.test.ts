import { createHmac } from 'node:crypto';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PLAYER_DEPENDENTS } from '../../../src/app/player-dependents.ts';
import { Identifier } from '../../../src/players/identity/identify.ts';
import { runs } from '../../engines/effort.ts';
import type { Fixture, Tenant } from '../../http/api-fixture.ts';
import { sharedFixture } from '../../http/shared-fixture.ts';

// An identify that changes nothing is one read: it writes nothing, and waits for nobody who has locked the player.

let fixture: Fixture;
let tenant: Tenant;
let page: { key: string; client_secret: string };
let ids = 0;

beforeAll(async () => {
  fixture = await sharedFixture();
  tenant = await fixture.makeTenant();
  const request = { method: 'POST', body: { name: 'page', kind: 'client' } };
  const path = `/v1/projects/${tenant.project_id}/api-keys`;
  page = (await fixture.as(tenant.session, path, request)).body.data as typeof page;
});
afterAll(() => fixture.close());

type Body = Record<string, unknown>;

const fresh = (kind: string) => `${kind}-${++ids}`;
const ask = (key: string, body: Body) => fixture.as(key, '/v1/players/identify', { method: 'POST', body });
async function identify(body: Body, key = tenant.api_key): Promise<Body & { player_id: string }> {
  const answer = await ask(key, body);
  expect(answer.status, answer.text).toBe(200);
  return answer.body.data as Body & { player_id: string };
}
const proven = (external_id: string): Body => ({
  external_id,
  user_hash: createHmac('sha256', page.client_secret).update(external_id).digest('hex'),
});

/** The answer to a call that is made while another transaction has locked the player and its totals. */
async function whileLocked(player_id: string, body: Body, key = tenant.api_key): Promise<Body> {
  const { tenant_id } = tenant;
  return fixture.platform.postgres.service.begin(async (tx) => {
    await tx`select from players where tenant_id = ${tenant_id} and player_id = ${player_id} for update`;
    await tx`select from player_totals where tenant_id = ${tenant_id} and player_id = ${player_id} for update`;
    return identify(body, key);
  });
}

const TRAITS = {
  email: 'known@example.com',
  phone: '+35621000000',
  telegram_id: '@known',
  timezone: 'Europe/Malta',
  default_currency_code: 'BTC',
  push_token: 'known',
  level: 3,
  half: 0.5,
  nested: { a: [1, { b: null }] },
};

describe('what changes nothing is read', () => {
  test('with each of the ids, and with the same traits', async () => {
    const [external_id, anonymous_id] = [fresh('e'), fresh('a')];
    const { player_id } = await identify({ external_id, anonymous_id, traits: TRAITS });
    const known = { player_id, created: false, merged_player_ids: [], conflict: false };
    for (const given of [
      { external_id },
      { anonymous_id },
      { player_id },
      { external_id, anonymous_id, player_id },
    ]) {
      expect(await whileLocked(player_id, given)).toEqual(known);
      expect(await whileLocked(player_id, { ...given, traits: TRAITS })).toEqual(known);
    }
    expect(await whileLocked(player_id, { external_id, traits: { level: 3, absent: null } })).toEqual(known);
  });

  test('of a merged player, by its old id', async () => {
    const external_id = fresh('e');
    const old = await identify({ anonymous_id: fresh('a') });
    const { player_id } = await identify({ external_id, player_id: old.player_id });
    expect(await whileLocked(player_id, { player_id: old.player_id })).toMatchObject({ player_id });
  });

  test('of a deleted player, whatever the traits', async () => {
    const external_id = fresh('e');
    const { player_id } = await identify({ external_id });
    await fixture.as(tenant.session, `/v1/players/${player_id}`, { method: 'DELETE' });
    const body = { external_id, anonymous_id: fresh('a'), traits: { email: 'late@example.com' } };
    expect(await whileLocked(player_id, body)).toMatchObject({ player_id, created: false });
  });

  test('with a client key, without the traits that it may not set', async () => {
    const [external_id, anonymous_id] = [fresh('e'), fresh('a')];
    const { player_id } = await identify({ external_id, anonymous_id, traits: TRAITS });
    const traits = { level: 3, email: 'evil@example.com' };
    const answer = await whileLocked(player_id, { external_id, anonymous_id, traits }, page.key);
    expect(answer).toMatchObject({ player_id, ignored: ['traits.email'] });
    expect(await whileLocked(player_id, { ...proven(external_id), traits: TRAITS }, page.key)).toEqual({
      player_id,
      created: false,
      merged_player_ids: [],
      conflict: false,
    });
  });
});

test('the time of traits that the player has already is noted, so that older ones do not overwrite them', async () => {
  const identifier = new Identifier({
    ...fixture.platform,
    dependents: PLAYER_DEPENDENTS,
    erasure_key: Buffer.alloc(32),
  });
  const caller = { ...tenant, kind: 'server', provesUser: () => false } as const;
  const external_id = fresh('e');
  const at = (second: number, level: number) =>
    identifier.identify(caller, { external_id, traits: { level } }, Date.UTC(2026, 0, 1, 0, 0, second));
  const { player_id } = await at(10, 1);
  await at(30, 1);
  await at(20, 2);
  const shown = async () => (await fixture.as(tenant.session, `/v1/players/${player_id}`)).body.data;
  expect((await shown())['custom_attributes']).toEqual({ level: 1 });
  expect(await whileLocked(player_id, { external_id })).toMatchObject({ player_id });
  await at(31, 3);
  expect((await shown())['custom_attributes']).toEqual({ level: 3 });
  // The native endpoint says what is known now, also of what the player has already.
  await identify({ external_id, traits: { level: 3 } });
  await at(32, 4);
  expect((await shown())['custom_attributes']).toEqual({ level: 3 });
});

test('the native endpoint notes its time once a call has said one, also where both are new or older', async () => {
  const identifier = new Identifier({
    ...fixture.platform,
    dependents: PLAYER_DEPENDENTS,
    erasure_key: Buffer.alloc(32),
  });
  const caller = { ...tenant, kind: 'server', provesUser: () => false } as const;
  const at = (second: number, external_id: string, level: number) =>
    identifier.identify(caller, { external_id, traits: { level } }, Date.UTC(2026, 0, 1, 0, 0, second));
  const native = fresh('e');
  const { player_id } = await identify({ external_id: native, traits: { level: 1 } });
  // What is older fills in nothing here, and is known from then on.
  await at(1, native, 1);
  await at(2, native, 2);
  expect(await whileLocked(player_id, { external_id: native })).toMatchObject({ player_id });
  const shown = async (id: string) =>
    (await fixture.as(tenant.session, `/v1/players/${id}`)).body.data['custom_attributes'];
  expect(await shown(player_id)).toEqual({ level: 1 });
  const dated = fresh('e');
  const { player_id: other } = await at(1, dated, 1);
  await identify({ external_id: dated, traits: { level: 1 } });
  await at(2, dated, 2);
  expect(await shown(other)).toEqual({ level: 1 });
});

/** What traits become of: the last value of each, and null removes it. */
const VALUES: fc.Arbitrary<unknown> = fc.constantFrom(
  1,
  1.5,
  '1',
  true,
  null,
  [1],
  [1, null],
  { a: 1 },
  { a: null },
  {},
);
const GIVEN = fc.record(
  {
    email: fc.constantFrom('a@example.com', 'A@example.com', null),
    timezone: fc.constantFrom('Europe/Malta', 'UTC', null),
    default_currency_code: fc.constantFrom('EUR', 'BTC'),
    level: VALUES,
    'consent.email': VALUES,
  },
  { requiredKeys: [] },
);

test('calls one after the other leave the last value of each trait', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(GIVEN, { minLength: 2, maxLength: 12 }), async (calls) => {
      const external_id = fresh('e');
      const expected: Record<string, unknown> = { email: null, timezone: null, default_currency_code: 'EUR' };
      for (const traits of calls) {
        const { player_id } = await identify({ external_id, traits });
        for (const [name, value] of Object.entries(traits)) {
          if (value === null && !(name === 'email' || name === 'timezone')) delete expected[name];
          else expected[name] = value;
        }
        const answer = await fixture.as(tenant.session, `/v1/players/${player_id}`);
        const { email, timezone, default_currency_code, custom_attributes } = answer.body.data;
        expect({ email, timezone, default_currency_code, ...(custom_attributes as object) }).toEqual(
          expected,
        );
      }
    }),
    { numRuns: runs(40) },
  );
});

test('a currency that is not in the catalogue any more is refused, also where the player has it', async () => {
  const { tenant_id } = tenant;
  const sql = fixture.platform.postgres.service;
  const body = { external_id: fresh('e'), traits: { default_currency_code: 'BTC' } };
  await identify(body);
  await sql`update currencies set is_active = false where tenant_id = ${tenant_id} and code = 'BTC'`;
  expect((await ask(tenant.api_key, body)).status).toBe(422);
  await sql`update currencies set is_active = true where tenant_id = ${tenant_id} and code = 'BTC'`;
  await identify(body);
});
