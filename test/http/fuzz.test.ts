import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { runs } from '../engines/effort.ts';
import { startTestService, type TestService } from '../engines/service.ts';
import { expectEnvelope, send } from '../ingest/intake-client.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());

const parameters = { numRuns: runs(300) };

/** Valid bodies for each endpoint; the properties break them in one place. */
const SOUND: Record<string, unknown>[] = [
  { event: 'login', anonymous_id: 'a', timestamp: '2026-01-15T12:00:00Z', properties: {} },
  {
    event: 'bet_settled',
    anonymous_id: 'a',
    properties: {
      amount: 1,
      payout: 2,
      currency: 'EUR',
      bet_id: 'b',
      game_id: 'g',
      game_category: 'slots',
      outcome: 'won',
    },
  },
  {
    anonymous_id: 'a',
    external_id: 'e',
    traits: { email: 'a@b.c', timezone: 'UTC', consent: { sms: true } },
  },
];

/** Any JSON value, including texts that cause trouble: NUL, lone surrogates, prototype names, numbers at the limits. */
const hostileText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('\0', '\ud800', '__proto__', 'constructor', '2026-02-30T00:00:00Z', '-0', '1e999', '{{x}}'),
);
const hostileNumber = fc.oneof(
  fc.double(),
  fc.constantFrom(0, -0, 2 ** 53, -(2 ** 53), 2 ** 63, 1e308, 5e-324),
);
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.oneof(hostileText, hostileNumber, fc.boolean(), fc.constant(null)),
    fc.array(tie('json'), { maxLength: 5 }),
    fc.dictionary(hostileText, tie('json'), { maxKeys: 5 }),
  ),
}));

/** A valid body in which one field, at the top or in properties or traits, is replaced by any value. */
const nearlySound = fc
  .record({ base: fc.constantFrom(...SOUND), field: fc.nat(20), inner: fc.boolean(), value: json })
  .map(({ base, field, inner, value }) => {
    const body = structuredClone(base);
    const nested = Object.values(body).find((part) => typeof part === 'object' && part !== null);
    const target = (inner && nested !== undefined ? nested : body) as Record<string, unknown>;
    const keys = Object.keys(target);
    target[keys[field % keys.length] ?? 'event'] = value;
    return body;
  });

/** Bytes that are almost JSON, and arbitrary bytes. */
const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 200 }),
  fc.tuple(nearlySound, fc.nat(500), fc.uint8Array({ maxLength: 3 })).map(([body, at, inserted]) => {
    const text = Buffer.from(JSON.stringify(body));
    const place = at % (text.length + 1);
    return new Uint8Array(Buffer.concat([text.subarray(0, place), inserted, text.subarray(place)]));
  }),
);

describe.each(['/v1/events', '/v1/events/batch', '/v1/players/identify'])('%s', (path) => {
  const post = (sending: Parameters<typeof send>[2]) => {
    const host = path.startsWith('/v1/events') ? service.ingest_url : service.base_url;
    return send(host + path, service.api_key, sending);
  };

  it('answers any JSON with an envelope and never with a server error', async () => {
    const any = fc.oneof(
      json,
      nearlySound,
      fc.array(nearlySound, { maxLength: 4 }).map((events) => ({ events })),
    );
    await fc.assert(
      fc.asyncProperty(any, async (body) => {
        expectEnvelope(await post({ raw: JSON.stringify(body) ?? 'null' }));
      }),
      parameters,
    );
  });

  it('answers any bytes of any content type with an envelope and never with a server error', async () => {
    const types = fc.constantFrom(
      'application/json',
      'application/json; charset=utf-16',
      'text/plain',
      undefined,
    );
    await fc.assert(
      fc.asyncProperty(bytes, types, async (raw, type) => {
        expectEnvelope(await post({ raw: new Uint8Array(raw), headers: { 'content-type': type } }));
      }),
      parameters,
    );
  });
});
