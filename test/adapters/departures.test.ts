import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newWebhookSecret } from '../../src/http/auth/webhook-signature.ts';
import { Gate } from '../../src/adapters/gate.ts';
import { HttpPlatform, type HttpAdapter } from '../../src/adapters/http-platform.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { LOOPBACK_NETWORKS } from '../../src/platform/egress/addresses.ts';
import { Egress } from '../../src/platform/egress/egress.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { FakePlatformClient, startFakePlatform, type FakePlatform } from '../bonuses/fake-platform.ts';
import { orderOf } from './orders.ts';

const SECRET = newWebhookSecret();
const egress = new Egress({ allow: LOOPBACK_NETWORKS });
const metrics = createMetrics();
let fake: FakePlatform;
let client: FakePlatformClient;

beforeAll(async () => {
  fake = await startFakePlatform([SECRET]);
  client = new FakePlatformClient(fake.url);
});
afterAll(async () => {
  await egress.close();
  await fake.close();
});
beforeEach(() => client.settle());

function platformAt(base_url: string, changes: Partial<HttpAdapter> = {}): HttpPlatform {
  const adapter: HttpAdapter = {
    slug: 'acme',
    base_url,
    secrets: [SECRET],
    token: undefined,
    timeout_ms: 20_000,
    max_rps: 10_000,
    max_in_flight: 16,
    capabilities: { grant: true, cancel: true, status: true, kyc: true, completion: 'platform' },
    ...changes,
  };
  return new HttpPlatform({ egress, clock: systemClock, metrics }, adapter, new Gate(adapter));
}

describe('a grant departs', () => {
  it('not at all when it may not, which says nothing about the platform', async () => {
    const mayDepart = () => Promise.resolve(undefined);
    expect(await platformAt(fake.url).grant({ ...orderOf(), mayDepart }, 1)).toEqual({ kind: 'held' });
    expect((await client.ledger()).calls).toEqual([]);
  });

  it('only until the time that it was given: then it is asked again, with the connection open', async () => {
    let asked = 0;
    const mayDepart = () => Promise.resolve({ by_ms: ++asked < 3 ? -1 : Infinity });
    expect(await platformAt(fake.url).grant({ ...orderOf(), mayDepart }, 1)).toMatchObject({
      kind: 'credited',
    });
    expect(asked).toBe(3);
    expect((await client.ledger()).calls).toHaveLength(1);
    const never = () => Promise.resolve({ by_ms: -1 });
    const late = await platformAt(fake.url).grant({ ...orderOf(), mayDepart: never }, 1);
    expect(late).toMatchObject({ kind: 'unsent', reason: 'busy' });
    expect((await client.ledger()).calls).toHaveLength(1);
  });

  it('again for each further signature', async () => {
    const platform = platformAt(fake.url, { secrets: [newWebhookSecret(), SECRET] });
    let asked = 0;
    const mayDepart = () => Promise.resolve(++asked === 1 ? { by_ms: Infinity } : undefined);
    expect(await platform.grant({ ...orderOf(), mayDepart }, 1)).toEqual({ kind: 'held' });
    expect((await client.ledger()).calls.map(({ status }) => status)).toEqual([401]);
  });

  it('is asked once the limits let it pass, not before', async () => {
    const platform = platformAt(fake.url, { max_in_flight: 1 });
    let open = (): void => undefined;
    const first_held = new Promise<undefined>((resolve) => {
      open = () => resolve(undefined);
    });
    let asked = 0;
    const first = platform.grant({ ...orderOf(), mayDepart: () => first_held }, 1);
    const mayDepart = () => {
      asked++;
      return Promise.resolve({ by_ms: Infinity });
    };
    const second = platform.grant({ ...orderOf(), mayDepart }, 1);
    await new Promise(setImmediate);
    expect(asked).toBe(0);
    open();
    expect(await first).toEqual({ kind: 'held' });
    expect(await second).toMatchObject({ kind: 'credited' });
    expect(asked).toBe(1);
  });
});
