import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PLAYER_DEPENDENTS } from '../../../src/app/player-dependents.ts';
import { Identifier } from '../../../src/players/identity/identify.ts';
import { addressHash } from '../../../src/protection/exclusions/erasure-key.ts';
import { insertKept } from '../../../src/protection/exclusions/kept-queries.ts';
import { blockedBy, statementWaits } from '../../engines/lock-wait.ts';
import { until } from '../../engines/until.ts';
import type { Answer } from '../../engines/http-client.ts';
import type { Fixture, Tenant } from '../../http/api-fixture.ts';
import { sharedFixture } from '../../http/shared-fixture.ts';

// Players who come together are made in one transaction; none of them fails, or waits, because of another.

let fixture: Fixture;
let tenant: Tenant;
let ids = 0;

beforeAll(async () => {
  fixture = await sharedFixture();
  tenant = await fixture.makeTenant();
});
afterAll(() => fixture.close());

type Body = Record<string, unknown>;

const fresh = (kind: string) => `${kind}-${++ids}`;
const ask = (body: Body, key = tenant.api_key) =>
  fixture.as(key, '/v1/players/identify', { method: 'POST', body });
const brief = ({ status, body }: Answer) =>
  status === 200 ? (body.data as Body)['created'] : `${status} ${body.error.code}`;
const newcomer = (): Body => ({
  external_id: fresh('e'),
  anonymous_id: fresh('a'),
  traits: { level: ++ids },
});

/** The rows of players of the tenant, without ids of players and times; `xid`: the transaction that wrote the row last. */
async function stored({ tenant_id }: Pick<Tenant, 'tenant_id'>, external_ids: readonly string[]) {
  return fixture.platform.postgres.service<{ xid: string; player: Body }[]>`
    select p.xmin::text as xid, jsonb_build_object('external_id', p.external_id, 'anonymous_ids', p.anonymous_ids,
      'status', p.status, 'email', p.email, 'phone', p.phone, 'telegram_id', p.telegram_id, 'timezone', p.timezone,
      'currency', p.default_currency_code, 'attributes', p.custom_attributes, 'is_noted', p.identified_at is not null,
      'links', (select count(*) from player_identities i where i.tenant_id = p.tenant_id and i.player_id = p.player_id),
      'self_excluded', p.self_excluded, 'seen', t.first_seen_at = t.listed_at) as player
    from players p join player_totals t using (tenant_id, project_id, player_id)
    where p.tenant_id = ${tenant_id} and p.external_id = any(${[...external_ids]}::text[])
    order by p.external_id`;
}

test('many at once are made in few transactions', async () => {
  const bodies = Array.from({ length: 40 }, newcomer);
  const answers = await Promise.all(bodies.map((body) => ask(body)));
  expect(answers.map(brief)).toEqual(bodies.map(() => true));
  const rows = await stored(
    tenant,
    bodies.map(({ external_id }) => String(external_id)),
  );
  expect(rows).toHaveLength(40);
  expect(new Set(rows.map(({ xid }) => xid)).size).toBeLessThan(20);
});

test('all at once become what they become one by one', async () => {
  const other = await fixture.makeTenant();
  const traits: Body[] = [
    {},
    { email: 'a@example.com', phone: '+35621000000', telegram_id: '@a', timezone: 'Europe/Malta' },
    { default_currency_code: 'BTC', gone: null, email: null },
    { nested: { a: [1, null, { b: '"\\{}' }] }, text: 'NULL', empty: '', list: [], '{"a"}': '\\' },
    { big: 12345678901234, half: 0.5, yes: true },
    { gone: null },
  ];
  const bodies = traits.flatMap((given) => [
    { external_id: fresh('e'), traits: given },
    { external_id: fresh('e'), anonymous_id: fresh('"a, \\{'), traits: given },
    { external_id: fresh('e') },
  ]);
  await Promise.all(bodies.map(async (body) => expect(brief(await ask(body))).toBe(true)));
  for (const body of bodies) expect(brief(await ask(body, other.api_key))).toBe(true);
  const names = bodies.map(({ external_id }) => external_id);
  const players = (await stored(tenant, names)).map(({ player }) => player);
  expect(players).toEqual((await stored(other, names)).map(({ player }) => player));
  expect(players).toHaveLength(bodies.length);
  for (const body of bodies) {
    expect(brief(await ask(body))).toBe(false);
    expect(brief(await ask(body, other.api_key))).toBe(false);
  }
});

describe('of many at once, those that cannot be made fail alone', () => {
  test('too large attributes, an unknown currency, and ids that were taken together', async () => {
    const twice = newcomer();
    const device = fresh('a');
    const bodies: [Body, unknown][] = [
      [newcomer(), true],
      [{ external_id: fresh('e'), traits: Object.fromEntries(large()) }, '422 VALIDATION_ERROR'],
      [newcomer(), true],
      [{ external_id: fresh('e'), traits: { default_currency_code: 'XXX' } }, '422 VALIDATION_ERROR'],
      [newcomer(), true],
      [twice, 'one'],
      [twice, 'one'],
      [newcomer(), true],
      [{ external_id: fresh('e'), anonymous_id: device }, 'any'],
      [{ external_id: fresh('e'), anonymous_id: device }, 'any'],
    ];
    const answers = await Promise.all(bodies.map(([body]) => ask(body)));
    const seen = answers.map((answer, i) => {
      const expected = bodies[i]?.[1];
      return expected === 'one' || expected === 'any' ? expected : brief(answer);
    });
    expect(seen).toEqual(bodies.map(([, expected]) => expected));
    expect(new Set(answers.slice(5, 7).map(brief))).toEqual(new Set([false, true]));
    // Each is a player of its own, and one of the two has the device.
    const conflicts = answers.slice(8).map(({ body }) => (body.data as Body)['conflict']);
    expect(answers.slice(8).map(brief)).toEqual([true, true]);
    expect(new Set(conflicts)).toEqual(new Set([false, true]));
  });

  test('the others do not wait for an id that an open transaction has', async () => {
    const { service } = fixture.platform.postgres;
    const { tenant_id, project_id } = tenant;
    const anonymous_id = fresh('a');
    const player_id = '22222222-2222-4222-8222-222222222222';
    let held: Promise<Answer> | undefined;
    await service.begin(async (tx) => {
      await tx`
        insert into player_identities (tenant_id, project_id, anonymous_id, player_id, linked_at)
        values (${tenant_id}, ${project_id}, ${anonymous_id}, ${player_id}, now())`;
      held = ask({ anonymous_id, external_id: fresh('e') });
      const others = Promise.all(Array.from({ length: 10 }, () => ask(newcomer())));
      expect((await others).map(brief)).toEqual(Array.from({ length: 10 }, () => true));
      await statementWaits(service, tx);
      await tx`
        insert into players (tenant_id, project_id, player_id, default_currency_code, created_at, updated_at)
        values (${tenant_id}, ${project_id}, ${player_id}, 'EUR', now(), now())`;
      await tx`
        insert into player_totals (tenant_id, project_id, player_id, first_seen_at, listed_at, updated_at)
        values (${tenant_id}, ${project_id}, ${player_id}, now(), now(), now())`;
    });
    const answer = await held;
    expect(answer?.body.data).toMatchObject({ player_id, created: false });
  });
});

test('a table that is locked for longer than a lot waits refuses nobody', async () => {
  const { service } = fixture.platform.postgres;
  const other = await fixture.makeTenant();
  const known = newcomer();
  expect(brief(await ask(known))).toBe(true);
  expect(brief(await ask(known, other.api_key))).toBe(true);
  let held: Promise<Answer[]> | undefined;
  await service.begin(async (tx) => {
    // As an index that is made: nobody can write, everybody can read.
    await tx`lock table players in share mode`;
    let answered = 0;
    held = Promise.all(Array.from({ length: 5 }, () => ask(newcomer()).finally(() => answered++)));
    // At most two lots are under way, each of which waits with one statement.
    await until('calls of the lot wait alone', async (saw) => {
      return saw(await blockedBy(service, tx)) > 2 || answered > 0;
    });
    expect(answered).toBe(0);
    for (const key of [tenant.api_key, other.api_key]) expect(brief(await ask(known, key))).toBe(false);
  });
  expect((await held)?.map(brief)).toEqual([true, true, true, true, true]);
});

test('each of many gets the protection that is kept under its own address', async () => {
  const owner = await fixture.makeTenant();
  const { tenant_id, project_id } = owner;
  const project = { tenant_id, project_id };
  const erasure_key = Buffer.alloc(32, 7);
  const identifier = new Identifier({ ...fixture.platform, dependents: PLAYER_DEPENDENTS, erasure_key });
  const since = new Date('2026-01-01T00:00:00Z');
  const kept = { protection: 'self_exclusion', since, until: null, reason: null } as const;
  const named = fresh('e');
  await insertKept(fixture.platform.postgres.service, tenant_id, [
    {
      ...kept,
      address_hash: addressHash(erasure_key, project, { kind: 'email', spelled: 'out@example.com' }),
    },
    { ...kept, address_hash: addressHash(erasure_key, project, { kind: 'external_id', spelled: named }) },
  ]);
  const bodies = [
    { external_id: fresh('e'), traits: { email: 'in@example.com' } },
    { external_id: fresh('e'), traits: { email: 'Out@Example.com' } },
    { external_id: named },
    { external_id: fresh('e') },
  ];
  const caller = { ...owner, kind: 'server', provesUser: () => false } as const;
  await Promise.all(bodies.map((body) => identifier.identify(caller, body)));
  const rows = await stored(
    owner,
    bodies.map(({ external_id }) => external_id),
  );
  const excluded = new Map(rows.map(({ player }) => [player['external_id'], player['self_excluded']]));
  expect(bodies.map(({ external_id }) => excluded.get(external_id))).toEqual([false, true, true, false]);
});

/** Traits that are allowed one by one, and are too many bytes together. */
function large(): [string, string][] {
  return Array.from({ length: 20 }, (_, i) => [`text_${i}`, 'x'.repeat(3_900)]);
}
