import { randomUUID } from 'node:crypto';
import fastify, { type FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { isSigned, signatureOf } from '../../src/http/auth/webhook-signature.ts';
import { cleanUpAdapters } from '../../src/adapters/clean-up.ts';
import type { Postgres } from '../../src/platform/postgres/port.ts';
import { WriteConflict } from '../../src/platform/postgres/retry.ts';
import { adapterWebhook } from '../../src/adapters/inbound.ts';
import { ApiError } from '../../src/errors.ts';
import { installErrorHandling } from '../../src/http/error-handler.ts';
import { installJsonBody } from '../../src/http/json-body.ts';
import { LIMITS } from '../../src/http/endpoint-bulkhead.ts';
import { registerEndpoints } from '../../src/http/register.ts';
import { serverOptions } from '../../src/http/server-options.ts';
import { createAuditWriter } from '../../src/tenants/audit/write.ts';
import { Random } from '../crash/random.ts';
import { openFixture, type Fixture, type Tenant } from '../http/api-fixture.ts';

const schema = z.object({
  event_id: z.uuid(),
  value: z.string().max(70_000),
  fail: z.string().optional(),
  /** Its effect waits until the test lets one go on. */
  hold: z.boolean().optional(),
});

let fixture: Fixture;
let app: FastifyInstance;
let tenant: Tenant;
let adapter: { id: string; slug: string; secret: string };
let now_ms = Date.now();
/** What lets the effects that wait go on. */
let held: (() => void)[] | undefined = [];
/** What was applied: the transaction writes it to the traits of nobody, so it is kept here after the commit. */
const applied: string[] = [];
/** What `committed` was called with. */
const committed: string[] = [];
/** So many transactions are rolled back with a write conflict when all their work is done. */
let refusals = 0;

/** Refuses commits while there are {@link refusals}. */
function refusing(postgres: Postgres): Postgres {
  return {
    ...postgres,
    asTenant: (tenant_id, work) =>
      postgres.asTenant(tenant_id, async (tx) => {
        const result = await work(tx);
        if (refusals-- > 0) throw new WriteConflict('the commit is refused');
        return result;
      }),
  };
}

beforeAll(async () => {
  fixture = await openFixture();
  const { platform, deps, auth, config } = fixture;
  const { metrics, logger } = platform;
  const postgres = refusing(platform.postgres);
  tenant = await fixture.makeTenant();
  const made = await fixture.as(tenant.session, '/v1/adapters', {
    method: 'POST',
    body: { slug: 'casino-one', kind: 'sandbox' },
  });
  adapter = made.body.data as unknown as typeof adapter;
  const clock = { now_ms: () => now_ms };
  // The tests say how long the first ones take: those behind them wait for that, and not for a time.
  const limits = { ...LIMITS, waiting: { ...LIMITS.waiting, max_wait_ms: 60_000 } };
  const declared = adapterWebhook(
    { postgres, clock, metrics, credentials_keys: deps.credentials_keys, limits },
    {
      name: 'test-events',
      summary: 'Events of this test',
      schema,
      response: z.object({ received: z.boolean(), slug: z.string() }),
      errors: [],
      apply: async (_tx, { adapter: { slug }, event, tenant_id, project_id }) => {
        if (slug === 'casino-one')
          expect([tenant_id, project_id]).toEqual([tenant.tenant_id, tenant.project_id]);
        applied.push(event.event_id);
        if (event.fail !== undefined) throw new ApiError('NOT_FOUND', event.fail);
        if (event.hold === true)
          await new Promise<void>((resolve) => (held === undefined ? resolve() : held.push(resolve)));
        return { received: true, slug };
      },
      committed: ({ event }) => committed.push(event.event_id),
    },
  );
  app = fastify(serverOptions(logger));
  installErrorHandling(app, logger);
  installJsonBody(app);
  registerEndpoints(app, [declared], {
    auth,
    rate_limiter: platform.rateLimiter,
    rates: config.rates,
    idempotency: platform,
    writeAuditRows: createAuditWriter(clock),
  });
});
afterAll(async () => {
  await app?.close();
  await fixture?.close();
});

interface Sent {
  slug?: string;
  secret?: string;
  timestamp_s?: number;
  signature?: string;
  content_type?: string;
}

async function send(body: string | Buffer, sent: Sent = {}) {
  const timestamp_s = sent.timestamp_s ?? Math.floor(now_ms / 1_000);
  const response = await app.inject({
    method: 'POST',
    url: `/v1/adapters/${sent.slug ?? adapter.slug}/webhooks/test-events`,
    headers: {
      'content-type': sent.content_type ?? 'application/json',
      'x-service-timestamp': String(timestamp_s),
      'x-service-signature': sent.signature ?? signatureOf(sent.secret ?? adapter.secret, timestamp_s, body),
    },
    payload: body,
  });
  const answer = JSON.parse(response.body) as { data?: object; error?: { code: string } };
  const { data, error, ...as_specified } = answer;
  if (data !== undefined) expect(as_specified).toEqual(data);
  return { status: response.statusCode, data, code: error?.code };
}

const eventOf = (fields: object = {}) => JSON.stringify({ event_id: randomUUID(), value: 'x', ...fields });
const ledger = () => fixture.platform.postgres.service<{ event_id: string; name: string; result: unknown }[]>`
  select event_id, name, result from adapter_webhooks where adapter_slug = ${adapter.slug} order by received_at`;
const conflicts = async () =>
  (await fixture.platform.metrics.webhookConflictingReplay.get()).values[0]?.value ?? 0;

describe('a webhook of a platform', () => {
  it('has its effect once, and leaves its result in the ledger', async () => {
    const event_id = randomUUID();
    const body = eventOf({ event_id });
    expect(await send(body)).toMatchObject({ status: 200, data: { received: true, slug: 'casino-one' } });
    expect(await send(body)).toEqual({
      status: 200,
      data: { applied: false, replay: true },
      code: undefined,
    });
    expect(applied.filter((one) => one === event_id)).toHaveLength(1);
    expect(await ledger()).toMatchObject([
      { event_id, name: 'test-events', result: { received: true, slug: 'casino-one' } },
    ]);
    expect(await conflicts()).toBe(0);
    const upper = eventOf({ event_id: event_id.toUpperCase(), value: 'other' });
    expect(await send(upper)).toMatchObject({ data: { applied: false, replay: true } });
    expect(await conflicts()).toBe(1);
  });

  it('has its effect once, when it arrives many times at once', async () => {
    const event_id = randomUUID();
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(eventOf({ event_id }))));
    expect(answers.filter(({ data }) => data !== undefined && 'received' in data)).toHaveLength(1);
    expect(answers.filter(({ data }) => data !== undefined && 'replay' in data)).toHaveLength(19);
    expect(applied.filter((one) => one === event_id)).toHaveLength(1);
  });

  it('is counted once, when its effect is committed', async () => {
    const event_id = randomUUID();
    const body = eventOf({ event_id });
    refusals = 2;
    expect(await send(body)).toMatchObject({ status: 200, data: { received: true } });
    expect(applied.filter((one) => one === event_id)).toHaveLength(3);
    expect(committed.filter((one) => one === event_id)).toHaveLength(1);
    expect(await send(body)).toMatchObject({ data: { replay: true } });
    expect(committed.filter((one) => one === event_id)).toHaveLength(1);
  });

  it('that is refused is no replay when it comes again', async () => {
    const event_id = randomUUID();
    const before = (await ledger()).length;
    for (let i = 0; i < 2; i++)
      expect(await send(eventOf({ event_id, fail: 'no such grant' }))).toMatchObject({
        status: 404,
        code: 'NOT_FOUND',
      });
    expect((await ledger()).length).toBe(before);
    expect(await send(eventOf({ event_id }))).toMatchObject({ status: 200, data: { received: true } });
  });

  it('is refused in the order: slug, signature, JSON, shape', async () => {
    expect(await send('{', { slug: 'no-such-slug', signature: 'x' })).toMatchObject({
      status: 404,
      code: 'NOT_FOUND',
    });
    expect(await send('{', { slug: 'sandbox' })).toMatchObject({ status: 404, code: 'NOT_FOUND' });
    expect(await send('{', { signature: 'x' })).toMatchObject({ status: 401, code: 'FORBIDDEN' });
    expect(await send('{')).toMatchObject({ status: 422, code: 'VALIDATION_ERROR' });
    expect(await send(Buffer.from([0xff, 0x7b]))).toMatchObject({ status: 422, code: 'VALIDATION_ERROR' });
    for (const body of [
      'null',
      '[]',
      '{}',
      eventOf({ event_id: 'x' }),
      eventOf({ value: 1 }),
      eventOf({ value: '\0' }),
    ])
      expect(await send(body), body).toMatchObject({ status: 422, code: 'VALIDATION_ERROR' });
    expect(await send('['.repeat(5_000) + ']'.repeat(5_000))).toMatchObject({ status: 422 });
    const long = eventOf({ value: 'x'.repeat(65_400) });
    expect(await send(long)).toMatchObject({ status: 200 });
    expect(await send(eventOf({ value: 'x'.repeat(66_000) }))).toMatchObject({
      status: 413,
      code: 'PAYLOAD_TOO_LARGE',
    });
  });

  it('to a slug that no adapter can have is refused like an unknown one', async () => {
    for (const slug of ['a%00b', 'CASINO-ONE', 'casino-one%20', 'x'.repeat(300)])
      expect(await send(eventOf(), { slug }), slug).toMatchObject({ status: 404, code: 'NOT_FOUND' });
  });

  it('is not called forged while no key decrypts a secret that may have signed it', async () => {
    const own = await fixture.makeTenant();
    const made = await fixture.as(own.session, '/v1/adapters', {
      method: 'POST',
      body: { slug: 'casino-locked', kind: 'sandbox' },
    });
    await fixture.platform.postgres.service`
      update adapter_secrets set secret = ${Buffer.from('of a lost key')} where adapter_id = ${String(made.body.data['id'])}`;
    const locked = { slug: 'casino-locked', secret: String(made.body.data['secret']) };
    expect((await send(eventOf(), locked)).status).toBe(500);
  });

  it('is timely within 300 s in both directions', async () => {
    const now_s = Math.floor(now_ms / 1_000);
    const at = async (offset_s: number) => (await send(eventOf(), { timestamp_s: now_s + offset_s })).status;
    now_ms = now_s * 1_000;
    expect([await at(-300), await at(300), await at(-301), await at(301)]).toEqual([200, 200, 401, 401]);
  });

  it('is accepted under the old and the new secret for 24 h after a rotation; another tenant has neither', async () => {
    const rotated = await fixture.as(tenant.session, `/v1/adapters/${adapter.id}/rotate-secret`, {
      method: 'POST',
    });
    const old = adapter.secret;
    adapter.secret = String(rotated.body.data['secret']);
    const other = await fixture.makeTenant();
    const theirs = await fixture.as(other.session, '/v1/adapters', {
      method: 'POST',
      body: { slug: 'casino-two', kind: 'sandbox' },
    });
    expect(await send(eventOf(), { secret: String(theirs.body.data['secret']) })).toMatchObject({
      status: 401,
    });
    const began_ms = now_ms;
    for (const [after_ms, status] of [
      [0, 200],
      [86_000_000, 200],
      [86_500_000, 401],
    ] as const) {
      now_ms = began_ms + after_ms;
      expect(await send(eventOf(), { secret: old }), String(after_ms)).toMatchObject({ status });
      expect(await send(eventOf())).toMatchObject({ status: 200 });
    }
    now_ms = began_ms;
  });

  it('does not wait behind all those of another tenant', async () => {
    const other = await fixture.makeTenant();
    const theirs = await fixture.as(other.session, '/v1/adapters', {
      method: 'POST',
      body: { slug: 'casino-three', kind: 'sandbox' },
    });
    const before = applied.length;
    const many = Array.from({ length: 30 }, () => send(eventOf({ hold: true })));
    await expect.poll(() => applied.length - before).toBe(6);
    const event_id = randomUUID();
    const one = send(eventOf({ event_id }), {
      slug: 'casino-three',
      secret: String(theirs.body.data['secret']),
    });
    for (let released = 0; released < 10 && !applied.includes(event_id); released++) {
      const begun = applied.length;
      held?.shift()?.();
      await expect.poll(() => applied.length).toBeGreaterThan(begun);
    }
    expect(applied).toContain(event_id);
    for (const release of held ?? []) release();
    held = undefined;
    for (const answer of [one, ...many]) expect(await answer).toMatchObject({ status: 200 });
  });

  it('of an adapter that is not active any more is accepted: its bonuses live on', async () => {
    const patch = (is_active: boolean) =>
      fixture.as(tenant.session, `/v1/adapters/${adapter.id}`, { method: 'PATCH', body: { is_active } });
    expect((await patch(false)).status).toBe(200);
    expect(await send(eventOf())).toMatchObject({ status: 200 });
    await patch(true);
  });

  it('is forgotten after 400 days', async () => {
    const { platform } = fixture;
    const day_ms = 86_400_000;
    expect((await ledger()).length).toBeGreaterThan(0);
    await cleanUpAdapters({ ...platform, clock: { now_ms: () => now_ms + 399 * day_ms } });
    expect((await ledger()).length).toBeGreaterThan(0);
    await cleanUpAdapters({ ...platform, clock: { now_ms: () => now_ms + 402 * day_ms } });
    expect(await ledger()).toEqual([]);
  });
});

describe('a mutated signature', () => {
  const random = new Random(20_261);

  /** A request in which at least one bit of signature, timestamp or body differs from what was signed. */
  function mutated(body: string): { body: Buffer; timestamp: string; signature: string } {
    const timestamp_s = Math.floor(now_ms / 1_000);
    const signed = {
      body: Buffer.from(body),
      timestamp: String(timestamp_s),
      signature: signatureOf(adapter.secret, timestamp_s, body),
    };
    const flip = (text: string) => {
      const at = random.integer(0, text.length - 1);
      const other = random.pick('0123456789abcdef'.split('').filter((digit) => digit !== text[at]));
      return text.slice(0, at) + other + text.slice(at + 1);
    };
    switch (random.integer(0, 5)) {
      case 0:
        return { ...signed, signature: flip(signed.signature) };
      case 1:
        return { ...signed, signature: signed.signature.slice(0, random.integer(0, 63)) };
      case 2:
        return { ...signed, timestamp: String(timestamp_s + random.pick([-1, 1]) * random.integer(1, 299)) };
      case 3:
        return { ...signed, signature: signatureOf(`${adapter.secret}x`, timestamp_s, body) };
      case 4: {
        const at = random.integer(0, signed.body.length - 1);
        const bytes = Buffer.from(signed.body);
        bytes[at] = (bytes[at] ?? 0) ^ (1 << random.integer(0, 7));
        return { ...signed, body: bytes };
      }
      default:
        return { ...signed, body: Buffer.concat([signed.body, Buffer.from([random.integer(0, 255)])]) };
    }
  }

  it('is never accepted: 100,000 by the verifier, 300 of them over HTTP', async () => {
    const body = eventOf();
    let accepted = 0;
    for (let i = 0; i < 100_000; i++) if (isSigned([adapter.secret], mutated(body), now_ms)) accepted++;
    expect(accepted).toBe(0);
    const before = (await ledger()).length;
    for (let i = 0; i < 300; i++) {
      const { body: bytes, timestamp, signature } = mutated(body);
      const answer = await send(bytes, { timestamp_s: Number(timestamp), signature });
      expect(answer.status).toBe(401);
    }
    expect((await ledger()).length).toBe(before);
  });
});
