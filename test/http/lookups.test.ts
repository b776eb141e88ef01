import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { call } from '../engines/http-client.ts';
import { statementWaits } from '../engines/lock-wait.ts';
import { folded, startTestService, type TestService } from '../engines/service.ts';
import { until } from '../engines/until.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service?.close());

/** More than any pool has connections. */
const MANY = 15;

async function get(path: string, token?: string): Promise<{ status: number; retry_after: string | null }> {
  const { status, headers } = await call(service.base_url + path, token);
  return { status, retry_after: headers.get('retry-after') };
}

async function accept(api_key: string): Promise<number> {
  const response = await call(`${service.ingest_url}/v1/events`, api_key, {
    body: { event: 'session_start', anonymous_id: 'device', properties: {} },
  });
  return response.status;
}

/** Runs `work` while a transaction locks the table as a whole, like `vacuum full`. */
async function whileLocked(table: string, work: () => Promise<void>): Promise<void> {
  let release = () => undefined as void;
  let hold = () => undefined as void;
  const held = new Promise<void>((resolve) => (hold = resolve));
  const locking = service.platform.postgres.service.begin(async (tx) => {
    await tx.unsafe(`lock table ${table} in access exclusive mode`);
    hold();
    await new Promise<void>((resolve) => (release = resolve));
  });
  await held;
  try {
    await work();
  } finally {
    release();
    await locking;
  }
}

/** Asks on a connection that no look-up or processor uses. */
const someoneWaits = () => service.platform.postgres.patientSession(({ sql }) => statementWaits(sql));

const sessionsOf = (count: number, prefix: string) =>
  Promise.all(
    Array.from({ length: count }, async (_, n) =>
      service.service.auth?.dev_issuer?.issueSession(`${prefix}-${n}`),
    ),
  );

describe('while memberships are locked', () => {
  it('readiness, API keys and processors go on, and sign-ins are refused within their limits', async () => {
    const { api_key } = await service.newTenant();
    const tokens = await sessionsOf(MANY, 'stranger');
    await whileLocked('memberships', async () => {
      const refused = Promise.all(tokens.map((token) => get('/v1/players', token)));
      await someoneWaits();
      const [ready, accepted] = await Promise.all([get('/readyz'), accept(api_key)]);
      expect([ready.status, accepted]).toEqual([200, 202]);
      await folded(service.platform);
      expect((await get('/readyz')).status).toBe(200);
      for (const { status, retry_after } of await refused) {
        expect(status).toBe(503);
        expect(Number(retry_after)).toBeGreaterThanOrEqual(1);
      }
    });
    // The user is a member of no tenant: the question was answered.
    await until(async (saw) => saw((await get('/v1/players', tokens[0])).status) === 403);
  });
});

describe('while processors wait for a locked table on every connection that they have', () => {
  it('readiness and authentication go on', async () => {
    const { api_key, session_token } = await service.newTenant();
    const { service: processors } = service.platform.postgres;
    let waiting: Promise<unknown> | undefined;
    await whileLocked('fx_rates', async () => {
      waiting = Promise.allSettled(
        Array.from({ length: MANY }, () => processors`select from fx_rates limit 1`.execute()),
      );
      await someoneWaits();
      // Readiness answers from its cache for a second: until Postgres was asked anew.
      const asked = vi.spyOn(service.platform.postgres, 'ping');
      while (asked.mock.calls.length < 2) {
        const [listed, ready, accepted] = await Promise.all([
          get('/v1/templates', session_token),
          get('/readyz'),
          accept(api_key),
        ]);
        expect([listed.status, ready.status, accepted]).toEqual([200, 200, 202]);
      }
      asked.mockRestore();
    });
    await waiting;
  });
});
