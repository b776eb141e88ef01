import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { statementWaits } from '../../engines/lock-wait.ts';
import type { Answer } from '../../engines/http-client.ts';
import type { Fixture, Tenant } from '../../http/api-fixture.ts';
import { sharedFixture } from '../../http/shared-fixture.ts';

let fixture: Fixture;
let tenant: Tenant;
let ids = 0;

beforeAll(async () => {
  fixture = await sharedFixture();
  tenant = await fixture.makeTenant();
});
afterAll(() => fixture.close());

const fresh = (kind: string) => `${kind}-${++ids}`;
const identify = (body: unknown, key = tenant.api_key) =>
  fixture.as(key, '/v1/players/identify', { method: 'POST', body });

interface Result {
  player_id: string;
  created: boolean;
  merged_player_ids: string[];
  conflict: boolean;
}

async function resultOf(body: unknown): Promise<Result> {
  const answer = await identify(body);
  expect(answer.status, answer.text).toBe(200);
  expect(Object.keys(answer.body.data)).toEqual(['player_id', 'created', 'merged_player_ids', 'conflict']);
  return answer.body.data as unknown as Result;
}

async function player(player_id: string): Promise<Record<string, unknown>> {
  return (await fixture.as(tenant.session, `/v1/players/${player_id}`)).body.data;
}

const brief = ({ status, body }: Answer) => [status, body.error.code];

describe('resolving ids', () => {
  test('an unknown id creates a player, a known one finds it', async () => {
    for (const kind of ['anonymous_id', 'external_id']) {
      const body = { [kind]: fresh(kind) };
      const made = await resultOf(body);
      expect([made.created, made.conflict, made.merged_player_ids]).toEqual([true, false, []]);
      expect(await resultOf(body)).toEqual({ ...made, created: false });
      expect(await resultOf({ player_id: made.player_id })).toEqual({ ...made, created: false });
    }
  });

  test('a new player is active, seen now, and has the tenant’s base currency', async () => {
    const anonymous_id = fresh('a');
    const external_id = fresh('e');
    const before_ms = Date.now();
    const { player_id } = await resultOf({ anonymous_id, external_id });
    const after_ms = Date.now();
    const made = await player(player_id);
    expect(made).toMatchObject({
      external_id,
      anonymous_ids: [anonymous_id],
      status: 'active',
      default_currency_code: 'EUR',
      total_deposited: 0,
    });
    expect(made['first_seen_at']).toBe(made['last_seen_at']);
    const seen_ms = Date.parse(String(made['first_seen_at']));
    expect(seen_ms).toBeGreaterThanOrEqual(before_ms);
    expect(seen_ms).toBeLessThanOrEqual(after_ms);
  });

  test('a new anonymous_id is linked to the player of a known external_id or player_id', async () => {
    const external_id = fresh('e');
    const [one, two] = [fresh('a'), fresh('a')];
    const { player_id } = await resultOf({ external_id });
    expect((await resultOf({ external_id, anonymous_id: one })).player_id).toBe(player_id);
    expect((await resultOf({ player_id, anonymous_id: two })).player_id).toBe(player_id);
    expect((await player(player_id))['anonymous_ids']).toEqual([one, two]);
    expect((await resultOf({ anonymous_id: two })).player_id).toBe(player_id);
  });

  test('an anonymous player becomes the player of a new external_id', async () => {
    const anonymous_id = fresh('a');
    const external_id = fresh('e');
    const { player_id } = await resultOf({ anonymous_id });
    const known = await resultOf({ anonymous_id, external_id });
    expect(known).toEqual({ player_id, created: false, merged_player_ids: [], conflict: false });
    expect((await player(player_id))['external_id']).toBe(external_id);
    expect((await resultOf({ external_id })).player_id).toBe(player_id);
  });

  test('a shared device: two external_ids stay two players, and the second is marked for review', async () => {
    const [anonymous_id, first_id, second_id] = [fresh('a'), fresh('e'), fresh('e')];
    const first = await resultOf({ anonymous_id, external_id: first_id });
    const second = await resultOf({ anonymous_id, external_id: second_id });
    expect([second.created, second.conflict]).toEqual([true, true]);
    expect(second.player_id).not.toBe(first.player_id);
    expect(await player(first.player_id)).toMatchObject({ status: 'active', anonymous_ids: [anonymous_id] });
    expect(await player(second.player_id)).toMatchObject({ status: 'conflict', anonymous_ids: [] });
    expect((await resultOf({ anonymous_id })).player_id).toBe(first.player_id);
    expect(await resultOf({ anonymous_id, external_id: second_id })).toEqual({ ...second, created: false });
  });

  test('a conflict never weakens an exclusion or a ban', async () => {
    for (const status of ['self_excluded', 'banned']) {
      const [anonymous_id, external_id] = [fresh('a'), fresh('e')];
      await resultOf({ anonymous_id, external_id: fresh('e') });
      const { player_id } = await resultOf({ external_id });
      await fixture.as(tenant.session, `/v1/players/${player_id}`, { method: 'PATCH', body: { status } });
      expect(await resultOf({ anonymous_id, external_id })).toMatchObject({ player_id, conflict: true });
      expect((await player(player_id))['status']).toBe(status);
    }
  });

  test('two players that turn out to be one are merged into the one with the stronger id', async () => {
    const [anonymous_id, external_id] = [fresh('a'), fresh('e')];
    const anonymous = await resultOf({ anonymous_id });
    const known = await resultOf({ external_id });
    const both = await resultOf({ anonymous_id, external_id });
    expect(both).toEqual({ ...known, created: false, merged_player_ids: [anonymous.player_id] });
    const merged = await player(anonymous.player_id);
    expect(merged).toMatchObject({ id: known.player_id, anonymous_ids: [anonymous_id], external_id });
    const other = await resultOf({ anonymous_id: fresh('a') });
    const named = await resultOf({ anonymous_id, player_id: other.player_id });
    expect(named).toEqual({ ...known, created: false, merged_player_ids: [other.player_id] });
  });

  test('a deleted player is returned and not changed', async () => {
    const [anonymous_id, external_id] = [fresh('a'), fresh('e')];
    const { player_id } = await resultOf({ external_id });
    await fixture.as(tenant.session, `/v1/players/${player_id}`, { method: 'DELETE' });
    const answer = await resultOf({ external_id, anonymous_id, traits: { email: 'back@example.com' } });
    expect(answer).toMatchObject({ player_id, created: false });
    expect(await player(player_id)).toMatchObject({ status: 'deleted', email: null, anonymous_ids: [] });
  });
});

describe('traits', () => {
  test('a number that cannot be stored is refused, and one too close to 0 is 0', async () => {
    const external_id = fresh('number');
    const send = (x: string) =>
      fixture.as(tenant.api_key, '/v1/players/identify', {
        raw: `{"external_id":"${external_id}","traits":{"x":${x}}}`,
        headers: { 'content-type': 'application/json' },
      });
    for (const x of [`0.${'1'.repeat(16_384)}`, '1e400'])
      expect(brief(await send(x))).toEqual([422, 'VALIDATION_ERROR']);
    expect((await send('1e-20000')).status).toBe(200);
    const { player_id } = await resultOf({ external_id });
    expect(await player(player_id)).toMatchObject({ custom_attributes: { x: 0 } });
  });

  test('known traits are fields, others are merged into custom attributes; null removes', async () => {
    const external_id = fresh('e');
    const first = {
      email: 'ann@example.com',
      phone: '+35621000000',
      telegram_id: '@ann',
      timezone: 'Europe/Malta',
      default_currency_code: 'BTC',
      first_name: 'Ann',
      tags: ['vip', { deep: null }],
      gone: null,
    };
    const { player_id } = await resultOf({ external_id, traits: first });
    const { email, phone, telegram_id, timezone, default_currency_code } = first;
    expect(await player(player_id)).toMatchObject({
      email,
      phone,
      telegram_id,
      timezone,
      default_currency_code,
      custom_attributes: { first_name: 'Ann', tags: ['vip', { deep: null }] },
    });
    await resultOf({ player_id, traits: { email: null, first_name: null, status: 'gold', total_won: 9 } });
    const changed = await player(player_id);
    expect(changed).toMatchObject({ email: null, phone, status: 'active', total_won: 0 });
    expect(changed['custom_attributes']).toEqual({ tags: first.tags, status: 'gold', total_won: 9 });
  });

  test('the same traits again change nothing', async () => {
    const body = { external_id: fresh('e'), traits: { email: 'same@example.com', level: 3 } };
    const { player_id } = await resultOf(body);
    const before = await player(player_id);
    await resultOf(body);
    expect(await player(player_id)).toEqual(before);
  });

  test('invalid traits are 422 and create no player', async () => {
    const external_id = fresh('e');
    const bad = [
      { email: 'nobody' },
      { email: 7 },
      { timezone: 'Mars/Olympus' },
      { timezone: '+02:00' },
      { default_currency_code: 'XXX' },
      { default_currency_code: null },
      { note: 'a\u0000b' },
      { note: '\ud800' },
      { ['k\u0000']: 1 },
      { '': 1 },
      { blob: 'x'.repeat(70_000) },
      Object.fromEntries(Array.from({ length: 501 }, (_, i) => [`k${i}`, i])),
    ];
    for (const traits of bad) {
      const answer = await identify({ external_id, traits });
      expect(brief(answer), answer.text).toEqual([422, 'VALIDATION_ERROR']);
    }
    const found = await fixture.as(tenant.session, `/v1/players?external_id=${external_id}`);
    expect(found.body.data).toEqual([]);
  });
});

test('the player resource has the newest 1,000 anonymous ids; the others still name the player', async () => {
  const external_id = fresh('e');
  const first = fresh('a');
  const { player_id } = await resultOf({ external_id, anonymous_id: first });
  const { tenant_id, project_id } = tenant;
  await fixture.platform.postgres.asTenant(tenant_id, async (tx) => {
    await tx`
      insert into player_identities (tenant_id, project_id, anonymous_id, player_id, linked_at)
      select tenant_id, project_id, external_id || '-' || i, player_id, now()
      from players, generate_series(1, 1200) i
      where tenant_id = ${tenant_id} and project_id = ${project_id} and player_id = ${player_id}`;
    await tx`
      update players
      set anonymous_ids = anonymous_ids || array(select external_id || '-' || i from generate_series(1, 1200) i)
      where tenant_id = ${tenant_id} and project_id = ${project_id} and player_id = ${player_id}`;
  });
  const last = fresh('a');
  await resultOf({ external_id, anonymous_id: last });
  const shown = (await player(player_id))['anonymous_ids'] as string[];
  expect(shown).toHaveLength(1_000);
  expect([shown[0], shown.at(-1)]).toEqual([`${external_id}-202`, last]);
  expect((await resultOf({ anonymous_id: first })).player_id).toBe(player_id);
});

describe('bad requests', () => {
  test('too many traits are counted before they are looked at', async () => {
    const traits = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`t${i}`, 1]));
    const answer = await identify({ external_id: fresh('e'), traits: traits(1_001) });
    expect(brief(answer)).toEqual([422, 'VALIDATION_ERROR']);
    expect(answer.body.error.details).toEqual({
      issues: [{ path: 'traits', message: 'must have at most 1000 keys, not 1001' }],
    });
    expect(brief(await identify({ external_id: fresh('e'), traits: traits(501) }))).toEqual([
      422,
      'VALIDATION_ERROR',
    ]);
    // Over 128 KiB it is not even parsed.
    expect(brief(await identify({ external_id: fresh('e'), traits: traits(80_000) }))).toEqual([
      413,
      'PAYLOAD_TOO_LARGE',
    ]);
  });

  test('no id is IDENTITY_REQUIRED', async () => {
    expect(brief(await identify({}))).toEqual([422, 'IDENTITY_REQUIRED']);
    expect(brief(await identify({ traits: { a: 1 } }))).toEqual([422, 'IDENTITY_REQUIRED']);
  });

  test('the text of an empty value is no id', async () => {
    const texts = ['undefined', 'null', '[object Object]', 'NaN', '0', 'guest', 'Anonymous', "'null'", '   '];
    const zero = '00000000-0000-0000-0000-000000000000';
    const bad = [...texts, zero].flatMap((id) => [
      { anonymous_id: id },
      { external_id: id, anonymous_id: 'sound' },
    ]);
    for (const body of [...bad, { player_id: zero }]) {
      const answer = await identify(body);
      expect(brief(answer), JSON.stringify(body)).toEqual([422, 'VALIDATION_ERROR']);
      expect(answer.text).toMatch(/(_id) is .*, the text of an empty value/);
      expect(answer.text).toContain(`"path":"${Object.keys(body)[0]}"`);
    }
    const found = await fixture.as(tenant.session, '/v1/players?external_id=undefined');
    expect(found.body.data).toEqual([]);
  });

  test('the text of an empty value is no address', async () => {
    const traits = [
      ...['undefined', 'N/A', 'n/a', '[object Object]', 'null'].flatMap((text) => [
        { email: text },
        { phone: text },
        { telegram_id: text },
        { push_token: text },
      ]),
      { phone: '000000000' },
      { phone: 'abc' },
      { phone: '+356' },
    ];
    const { player_id } = await resultOf({ external_id: fresh('e') });
    for (const given of traits) {
      const path = Object.keys(given)[0];
      const answer = await identify({ external_id: fresh('e'), traits: given });
      expect(brief(answer), JSON.stringify(given)).toEqual([422, 'VALIDATION_ERROR']);
      expect(answer.text).toMatch(/Give null where there is none|must be a telephone number/);
      expect(answer.text).toContain(`"path":"traits.${path}"`);
      const { push_token, ...columns } = given as Record<string, string>;
      const body = push_token === undefined ? columns : { custom_attributes: { push_token } };
      const changed = await fixture.as(tenant.session, `/v1/players/${player_id}`, {
        method: 'PATCH',
        body,
      });
      expect(brief(changed), JSON.stringify(body)).toEqual([422, 'VALIDATION_ERROR']);
    }
  });

  test('an empty address names what to give instead', async () => {
    for (const field of ['email', 'phone', 'telegram_id']) {
      const answer = await identify({ external_id: fresh('e'), traits: { [field]: ' ' } });
      expect(answer.body.error.details).toEqual({
        issues: [{ path: `traits.${field}`, message: 'must not be empty: give null where there is none' }],
      });
    }
  });

  test('invalid ids are VALIDATION_ERROR', async () => {
    const bad = [
      { anonymous_id: '' },
      { external_id: 5 },
      { player_id: 'x' },
      { external_id: 'e', more: 1 },
      [],
    ];
    for (const body of [...bad, { external_id: 'x'.repeat(257) }, { anonymous_id: 'a\u0000' }]) {
      expect(brief(await identify(body)), JSON.stringify(body)).toEqual([422, 'VALIDATION_ERROR']);
    }
  });

  test('an unknown player_id, or one of another tenant, is PLAYER_NOT_FOUND', async () => {
    const other = await fixture.makeTenant();
    const foreign = (await identify({ external_id: 'x' }, other.api_key)).body.data['player_id'];
    for (const player_id of [foreign, '00000000-0000-4000-8000-000000000000']) {
      const answer = await identify({ player_id });
      expect(brief(answer)).toEqual([404, 'PLAYER_NOT_FOUND']);
      expect(answer.body.error.message).toContain(String(player_id));
    }
  });

  test('the same ids in another tenant are other players', async () => {
    const other = await fixture.makeTenant();
    const body = { anonymous_id: fresh('a'), external_id: fresh('e') };
    const here = await resultOf(body);
    const there = (await identify(body, other.api_key)).body.data as unknown as Result;
    expect(there.created).toBe(true);
    expect(there.player_id).not.toBe(here.player_id);
  });
});

describe('concurrent calls', () => {
  test('the same new ids create one player', async () => {
    for (let round = 0; round < 5; round++) {
      const body = { anonymous_id: fresh('a'), external_id: fresh('e'), traits: { round } };
      const results = await Promise.all(Array.from({ length: 20 }, () => resultOf(body)));
      expect(new Set(results.map(({ player_id }) => player_id)).size).toBe(1);
      expect(results.filter(({ created }) => created).length).toBe(1);
    }
  });

  test('two external_ids for one anonymous player: one is linked, the other is a conflict', async () => {
    for (let round = 0; round < 5; round++) {
      const anonymous_id = fresh('a');
      const { player_id } = await resultOf({ anonymous_id });
      const both = [fresh('e'), fresh('e')];
      const results = await Promise.all(both.map((external_id) => resultOf({ anonymous_id, external_id })));
      expect(results.filter((result) => result.player_id === player_id && !result.conflict).length).toBe(1);
      expect(results.filter((result) => result.player_id !== player_id && result.conflict).length).toBe(1);
    }
  });

  test('attributes written concurrently are all kept', async () => {
    const external_id = fresh('e');
    const { player_id } = await resultOf({ external_id });
    await Promise.all(
      Array.from({ length: 20 }, (_, i) => resultOf({ external_id, traits: { [`k${i}`]: i } })),
    );
    expect(Object.keys((await player(player_id))['custom_attributes'] as object).length).toBe(20);
  });

  test('an event that creates the same player at the same time causes neither an error nor a second player', async () => {
    const { service } = fixture.platform.postgres;
    const { tenant_id, project_id } = tenant;
    const anonymous_id = fresh('a');
    const player_id = '11111111-1111-4111-8111-111111111111';
    let pending: Promise<Result> | undefined;
    await service.begin(async (tx) => {
      await tx`
        insert into player_identities (tenant_id, project_id, anonymous_id, player_id, linked_at)
        values (${tenant_id}, ${project_id}, ${anonymous_id}, ${player_id}, now())`;
      pending = resultOf({ anonymous_id, external_id: fresh('e') });
      // The call has tried to insert the identity and waits for this transaction's outcome.
      await statementWaits(service);
      await tx`
        insert into players (tenant_id, project_id, player_id, default_currency_code, created_at, updated_at)
        values (${tenant_id}, ${project_id}, ${player_id}, 'EUR', now(), now())`;
      await tx`
        insert into player_totals (tenant_id, project_id, player_id, first_seen_at, listed_at, updated_at)
        values (${tenant_id}, ${project_id}, ${player_id}, now(), now(), now())`;
    });
    expect(await pending).toEqual({ player_id, created: false, merged_player_ids: [], conflict: false });
  });
});
