import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ApiError } from '../../src/errors.ts';
import { removeExpiredRecords } from '../../src/http/idempotency.ts';
import { openApiDocument } from '../../src/http/openapi.ts';
import { dereferenced } from './dereferenced.ts';
import { WriteConflict } from '../../src/platform/postgres/retry.ts';
import { until } from '../engines/until.ts';
import { runs } from '../engines/effort.ts';
import { openFixture, type Fixture, type Tenant } from './api-fixture.ts';
import { endSession, openShop, type OrderAnswer, type Shop, type Trouble } from './idempotency-fixture.ts';

const WEEK_MS = 7 * 86_400_000;

let fixture: Fixture;
let shop: Shop;
let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  fixture = await openFixture({ RATE_ADMIN_PER_SECOND: '100000' });
  shop = await openShop(fixture);
  [tenant, other] = [await fixture.makeTenant(), await fixture.makeTenant()];
});
afterAll(async () => {
  await shop?.close();
  await fixture.close();
});
beforeEach(() => {
  shop.clock.ahead_ms = 0;
  shop.troubles.clear();
});

let items = 0;
const newItem = () => `item-${++items}`;
const meets = (item: string, ...troubles: Trouble[]) => shop.troubles.set(item, troubles);
const outcome = ({ status, code }: OrderAnswer) => [status, code];
const REUSED = [422, 'IDEMPOTENCY_KEY_REUSED'];
const IN_PROGRESS = [409, 'IDEMPOTENCY_IN_PROGRESS'];

describe('a repeated request', () => {
  test('gets the same answer, byte for byte, and has no second effect', async () => {
    const [key, item] = [randomUUID(), newItem()];
    const body = `{ "item" : "${item}" }`;
    const first = await shop.order(tenant, { key, body });
    expect(first).toMatchObject({ status: 201, replayed: undefined });
    for (const same of [key, key.toUpperCase()]) {
      const again = await shop.order(tenant, { key: same, body });
      expect(again).toEqual({ ...first, replayed: 'true' });
    }
    expect(await shop.count(item)).toBe(1);
  });

  test('without a body is replayed too; status 200 stays 200', async () => {
    const [key, place] = [randomUUID(), newItem()];
    const order = { key, shop: place, path: '/usual', body: null };
    const first = await shop.order(tenant, order);
    expect(first).toMatchObject({ status: 200, replayed: undefined });
    expect(await shop.order(tenant, order)).toEqual({ ...first, replayed: 'true' });
    expect(await shop.count(`usual of ${place}`)).toBe(1);
    expect(outcome(await shop.order(tenant, { ...order, body: {} }))).toEqual(REUSED);
  });

  test('may come from another user of the tenant, or name the default project explicitly', async () => {
    const [key, item] = [randomUUID(), newItem()];
    const order = { key, body: { item } };
    const first = await shop.order(tenant, order);
    const colleague = await fixture.member(tenant.tenant_id, 'viewer');
    expect(await shop.order({ session: colleague }, order)).toEqual({ ...first, replayed: 'true' });
    const named = await shop.order(tenant, { ...order, headers: { 'x-project-id': tenant.project_id } });
    expect(named).toEqual({ ...first, replayed: 'true' });
  });

  test('is replayed also where the body names the tenant', async () => {
    const item = newItem();
    const order = {
      key: randomUUID(),
      path: '/internal-orders',
      body: { item, tenant_id: tenant.tenant_id },
    };
    const first = await shop.order(tenant, order);
    expect(first.status).toBe(201);
    expect(await shop.order(tenant, order)).toEqual({ ...first, replayed: 'true' });
    expect(await shop.count(item, tenant.tenant_id)).toBe(1);
  });

  test('without a key is a new request each time, in one transaction with its effect', async () => {
    const item = newItem();
    const before = await shop.remembered(tenant.tenant_id);
    for (let i = 0; i < 2; i++) expect((await shop.order(tenant, { body: { item } })).status).toBe(201);
    meets(item, () => Promise.reject(new Error('after the effect')));
    expect((await shop.order(tenant, { body: { item } })).status).toBe(500);
    expect(await shop.count(item)).toBe(2);
    expect(await shop.remembered(tenant.tenant_id)).toBe(before);
  });
});

describe('a key', () => {
  test('is valid for one request: another body, path, query, or project is refused', async () => {
    const [key, item] = [randomUUID(), newItem()];
    const order = { key, body: { item } };
    const first = await shop.order(tenant, order);
    const second = await fixture.internal('/v1/internal/projects', {
      tenant_id: tenant.tenant_id,
      name: 'Second',
    });
    const elsewhere = { 'x-project-id': String(second.body.data['project_id']) };
    const others = [
      { ...order, body: { item: newItem() } },
      { ...order, shop: 'other' },
      { ...order, path: '/orders?note=x' },
      { ...order, headers: elsewhere },
    ];
    for (const different of others) {
      expect(outcome(await shop.order(tenant, different)), JSON.stringify(different)).toEqual(REUSED);
    }
    expect(await shop.order(tenant, order)).toEqual({ ...first, replayed: 'true' });
    expect(await shop.count(item)).toBe(1);
  });

  test('belongs to one tenant and one endpoint', async () => {
    const [key, item] = [randomUUID(), newItem()];
    const mine = await shop.order(tenant, { key, body: { item } });
    const theirs = await shop.order(other, { key, body: { item } });
    const endpoint = await shop.order(tenant, { key, shop: item, path: '/usual', body: null });
    expect([mine, theirs, endpoint].map(({ status, replayed }) => [status, replayed])).toEqual([
      [201, undefined],
      [201, undefined],
      [200, undefined],
    ]);
    expect(mine.text).not.toBe(theirs.text);
    expect(await shop.order(other, { key, body: { item } })).toEqual({ ...theirs, replayed: 'true' });
  });

  test('that is no UUID is refused, and the request has no effect', async () => {
    const item = newItem();
    for (const key of ['', 'x', '1', `${randomUUID()}0`, `{${randomUUID()}}`, `"${randomUUID()}"`]) {
      expect(outcome(await shop.order(tenant, { key, body: { item } })), key).toEqual([
        422,
        'VALIDATION_ERROR',
      ]);
    }
    const twice = `${randomUUID()}, ${randomUUID()}`;
    expect((await shop.order(tenant, { key: twice, body: { item } })).text).toContain('Idempotency-Key');
    expect(await shop.count(item)).toBe(0);
  });

  test('does not replace credentials, and is ignored by an endpoint that takes none', async () => {
    const [key, item] = [randomUUID(), newItem()];
    await shop.order(tenant, { key, body: { item } });
    expect((await shop.order({ session: 'nonsense' }, { key, body: { item } })).status).toBe(401);
    const plain = await shop.order(tenant, { key: 'no UUID', path: '/plain', body: null });
    expect(plain).toMatchObject({ status: 200, replayed: undefined });
  });
});

test('of fifty equal concurrent requests one has an effect; the others get 409 or its answer', async () => {
  const [key, item] = [randomUUID(), newItem()];
  let refused = 0;
  // The first request goes on only after another one was refused, which proves that they overlap.
  meets(item, () => until((saw) => saw(refused) > 0));
  const answers = await Promise.all(
    Array.from({ length: 50 }, async () => {
      const answer = await shop.order(tenant, { key, body: { item } });
      if (answer.status === 409) refused++;
      return answer;
    }),
  );
  expect(await shop.count(item)).toBe(1);
  const made = answers.filter(({ status, replayed }) => status === 201 && replayed === undefined);
  expect(made).toHaveLength(1);
  for (const answer of answers) {
    if (answer.status === 201) expect(answer.text).toBe(made[0]?.text);
    else expect([...outcome(answer), answer.retry_after]).toEqual([...IN_PROGRESS, '1']);
  }
  expect(refused).toBeGreaterThan(0);
  expect(await shop.order(tenant, { key, body: { item } })).toEqual({ ...made[0], replayed: 'true' });
});

test('a request under way does not block other keys, tenants or endpoints', async () => {
  const [key, item] = [randomUUID(), newItem()];
  let [begun, go] = [false, false];
  meets(item, () => {
    begun = true;
    return until(() => go);
  });
  const slow = shop.order(tenant, { key, body: { item } });
  await until(() => begun);
  for (const body of [{ item }, { item: 'another' }]) {
    expect(outcome(await shop.order(tenant, { key, body }))).toEqual(IN_PROGRESS);
  }
  expect((await shop.order(tenant, { key: randomUUID() })).status).toBe(201);
  expect((await shop.order(other, { key })).status).toBe(201);
  expect((await shop.order(tenant, { key, path: '/usual', body: null })).status).toBe(200);
  go = true;
  expect((await slow).status).toBe(201);
});

describe('a failed request leaves neither effect nor record, and may be repeated', () => {
  const failures: [string, number, () => Trouble][] = [
    ['a handler that throws', 500, () => () => Promise.reject(new Error('after the effect'))],
    ['a refusal', 409, () => () => Promise.reject(new ApiError('CONFLICT', 'sold out'))],
    ['a failing statement', 500, () => async (tx) => void (await tx`select 1 / 0`)],
    ['a session that ends', 503, () => endSession(fixture.platform.postgres.service)],
  ];
  test.each(failures)('%s', async (_what, status, trouble) => {
    const [key, item] = [randomUUID(), newItem()];
    const before = await shop.remembered(tenant.tenant_id);
    meets(item, trouble());
    const failed = await shop.order(tenant, { key, body: { item } });
    expect(failed).toMatchObject({ status, replayed: undefined });
    if (status === 503) expect(failed.retry_after).toBe('1');
    expect(await shop.count(item)).toBe(0);
    expect(await shop.remembered(tenant.tenant_id)).toBe(before);
    // The key is not even bound to the body of the failed request.
    const changed = await shop.order(tenant, { key, body: { item: `${item}, changed` } });
    expect(changed).toMatchObject({ status: 201, replayed: undefined });
    expect(outcome(await shop.order(tenant, { key, body: { item } }))).toEqual(REUSED);
  });

  test('a transaction with a write conflict is run again within the same request', async () => {
    const [key, item] = [randomUUID(), newItem()];
    meets(item, () => Promise.reject(new WriteConflict('somebody was faster')));
    expect((await shop.order(tenant, { key, body: { item } })).status).toBe(201);
    expect(await shop.count(item)).toBe(1);
  });
});

describe('after seven days', () => {
  test('a key is forgotten, and not before', async () => {
    const [key, item] = [randomUUID(), newItem()];
    const { clock } = fixture.platform;
    const began_ms = clock.now_ms();
    const at = (age_ms: number) => {
      shop.clock.ahead_ms = began_ms + age_ms - clock.now_ms();
    };
    at(0);
    const first = await shop.order(tenant, { key, body: { item } });
    at(WEEK_MS - 60_000);
    expect(await shop.order(tenant, { key, body: { item } })).toEqual({ ...first, replayed: 'true' });
    at(WEEK_MS + 60_000);
    const renewed = await shop.order(tenant, { key, body: { item: `${item}, a week later` } });
    expect(renewed).toMatchObject({ status: 201, replayed: undefined });
    expect(outcome(await shop.order(tenant, { key, body: { item } }))).toEqual(REUSED);
    expect(await shop.count(item)).toBe(1);
  });

  /** Inserts this many records of the tenant with this creation time. */
  async function remember(tenant_id: string, count: number, created_at_ms: number): Promise<void> {
    await fixture.platform.postgres.service`
      insert into idempotency_keys
        (tenant_id, route, idempotency_key, request_hash, status, response, created_at)
      select ${tenant_id}, 'POST /old', gen_random_uuid(), '\\x00', 200, '{}', ${new Date(created_at_ms)}
      from generate_series(1, ${count})`;
  }

  test('expired records are removed in batches, of every tenant, and no others', async () => {
    const { postgres } = fixture.platform;
    const now_ms = 1_700_000_000_000;
    const [one, two] = [await fixture.makeTenant(), await fixture.makeTenant()];
    await remember(one.tenant_id, 2_345, now_ms - WEEK_MS);
    await remember(two.tenant_id, 17, now_ms - 2 * WEEK_MS);
    await remember(two.tenant_id, 5, now_ms - WEEK_MS + 1);
    const deps = { postgres, clock: { now_ms: () => now_ms } };
    // A record that a request has locked in order to renew it is skipped.
    await postgres.service.begin(async (tx) => {
      await tx`select from idempotency_keys where tenant_id = ${one.tenant_id} limit 1 for update`;
      expect(await removeExpiredRecords(deps)).toBe(2_345 + 17 - 1);
    });
    expect(await removeExpiredRecords(deps)).toBe(1);
    expect(await removeExpiredRecords(deps)).toBe(0);
    expect([await shop.remembered(one.tenant_id), await shop.remembered(two.tenant_id)]).toEqual([0, 5]);
  });

  test('new records of a tenant remove some of its expired ones', async () => {
    const { tenant_id, session } = await fixture.makeTenant();
    const old_ms = fixture.platform.clock.now_ms() - WEEK_MS - 1;
    await remember(tenant_id, 25, old_ms);
    await remember(other.tenant_id, 1, old_ms);
    const before = await shop.remembered(other.tenant_id);
    for (const left of [16, 7, 3, 4]) {
      expect((await shop.order({ session }, { key: randomUUID() })).status).toBe(201);
      expect(await shop.remembered(tenant_id)).toBe(left);
    }
    expect(await shop.remembered(other.tenant_id)).toBe(before);
  });
});

test('the documentation names the header, the error codes and the replay header', () => {
  interface Operation {
    parameters: { name: string }[];
    responses: Record<string, { description: string; headers?: object }>;
  }
  const { paths } = dereferenced(openApiDocument(shop.endpoints, 'http://localhost')) as {
    paths: Record<string, { post: Operation }>;
  };
  const order = paths['/v1/test/shops/{id}/orders']?.post;
  expect(order?.parameters.map(({ name }) => name)).toContain('Idempotency-Key');
  expect(order?.responses['409']?.description).toContain('IDEMPOTENCY_IN_PROGRESS');
  expect(order?.responses['422']?.description).toContain('IDEMPOTENCY_KEY_REUSED');
  expect(Object.keys(order?.responses['201']?.headers ?? {})).toContain('Idempotent-Replayed');
  const plain = paths['/v1/test/shops/{id}/plain']?.post;
  expect(plain?.parameters.map(({ name }) => name)).not.toContain('Idempotency-Key');
  const described = Object.values(plain?.responses ?? {}).map(({ description }) => description);
  expect(described.length).toBeGreaterThan(0);
  expect(described.join()).not.toContain('IDEMPOTEN');
});

interface Sent {
  who: number;
  key: number;
  body: number;
  /** How the handler ends, if this request is the one that runs it. */
  ends: 'well' | 'throws' | 'is cut';
  pause_ms: number;
}

test('any mix of requests: one effect per answered key, and one answer', async () => {
  const sent = fc.record({
    who: fc.nat(1),
    // Index of one of three keys; 3 means no key.
    key: fc.nat(3),
    body: fc.constantFrom(0, 0, 0, 1),
    ends: fc.constantFrom<Sent['ends'][]>('well', 'well', 'well', 'throws', 'is cut'),
    pause_ms: fc.nat(3),
  });
  const bursts = fc.array(fc.array(sent, { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 5 });
  const service = fixture.platform.postgres.service;
  const pauses =
    (ms: number, then: Trouble): Trouble =>
    async (tx) => {
      await tx`select pg_sleep(${ms / 1_000})`;
      await then(tx);
    };
  const endings: Record<Sent['ends'], Trouble> = {
    well: () => Promise.resolve(),
    throws: () => Promise.reject(new ApiError('CONFLICT', 'thrown')),
    'is cut': endSession(service),
  };
  const property = fc.asyncProperty(bursts, async (all) => {
    shop.troubles.clear();
    const keys = [randomUUID(), randomUUID(), randomUUID(), undefined];
    const run = newItem();
    const itemOf = ({ key, body }: Sent) => `${run}/${key}/${body}`;
    const answers: (OrderAnswer & { sent: Sent })[] = [];
    for (const burst of all) {
      const asked = burst.map(async (sent) => {
        const item = itemOf(sent);
        const waiting = shop.troubles.get(item) ?? [];
        shop.troubles.set(item, [...waiting, pauses(sent.pause_ms, endings[sent.ends])]);
        const who = sent.who === 0 ? tenant : other;
        answers.push({ sent, ...(await shop.order(who, { key: keys[sent.key], body: { item } })) });
      });
      await Promise.all(asked);
      if (burst.length === 1) expect(answers.at(-1)?.code).not.toBe('IDEMPOTENCY_IN_PROGRESS');
    }
    for (const [who, { tenant_id }] of [tenant, other].entries()) {
      for (const [key, header] of keys.entries()) {
        const ours = answers.filter(({ sent }) => sent.who === who && sent.key === key);
        const good = ours.filter(({ status }) => status === 201);
        const made = good.filter(({ replayed }) => replayed === undefined);
        const effects =
          (await shop.count(`${run}/${key}/0`, tenant_id)) + (await shop.count(`${run}/${key}/1`, tenant_id));
        expect(effects).toBe(made.length);
        if (header === undefined) continue;
        expect(made.length).toBe(good.length > 0 ? 1 : 0);
        expect(new Set(good.map(({ text }) => text)).size).toBe(made.length);
        expect(new Set(good.map(({ sent }) => sent.body)).size).toBe(made.length);
        const rows = await service`select from idempotency_keys
          where tenant_id = ${tenant_id} and idempotency_key = ${header}`;
        expect(rows.length).toBe(made.length);
        const reused = ours.filter(({ code }) => code === 'IDEMPOTENCY_KEY_REUSED');
        for (const { sent } of reused) expect(sent.body).not.toBe(made[0]?.sent.body ?? sent.body);
      }
    }
  });
  await fc.assert(property, { numRuns: runs(40) });
});
