import { afterAll, beforeAll, expect, it } from 'vitest';
import { statementWaits } from '../engines/lock-wait.ts';
import { startTestService, type TestService, type TestTenant } from '../engines/service.ts';
import { until } from '../engines/until.ts';
import { call } from '../engines/http-client.ts';
import { fillProject } from '../tenants/filled-project.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service?.close());

/** Runs `work` while a transaction holds what `lock` locks. */
async function whileLocked(lock: string, work: () => Promise<void>): Promise<void> {
  let release = () => undefined as void;
  let hold = () => undefined as void;
  const held = new Promise<void>((resolve) => (hold = resolve));
  const locking = service.platform.postgres.service.begin(async (tx) => {
    await tx.unsafe(lock);
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

async function templateOf({ session_token }: TestTenant): Promise<string> {
  const body = { name: 'Hello', channel: 'sms', body: 'Hello' };
  const made = await call(`${service.base_url}/v1/templates`, session_token, { method: 'POST', body });
  expect(made.status).toBe(201);
  return (made.body.data as { id: string }).id;
}

it('a request waits for one of each other tenant, not for a burst that came before it', async () => {
  const [busy, quiet] = [await service.newTenant(), await service.newTenant()];
  const [busy_id, quiet_id] = [await templateOf(busy), await templateOf(quiet)];
  const order: string[] = [];
  const rename = async (who: string, { session_token }: TestTenant, id: string) => {
    const url = `${service.base_url}/v1/templates/${id}`;
    const { status } = await call(url, session_token, { method: 'PATCH', body: { name: `Hello ${who}` } });
    order.push(`${who} ${status}`);
  };
  let all: Promise<unknown> | undefined;
  await whileLocked(`select from templates where template_id = '${busy_id}' for update`, async () => {
    const burst = Array.from({ length: 60 }, () => rename('busy', busy, busy_id));
    await statementWaits(service.platform.postgres.service);
    all = Promise.all([...burst, rename('quiet', quiet, quiet_id)]);
    // Everything was sent before these, so it waits when they are answered.
    for (let n = 0; n < 5; n++) expect((await fetch(`${service.base_url}/healthz`)).status).toBe(200);
    expect(order).toEqual([]);
  });
  await all;
  expect(new Set(order)).toEqual(new Set(['busy 200', 'quiet 200']));
  expect(order.indexOf('quiet 200')).toBeLessThan(30);
});

it('one tenant takes half of the room: its further requests are refused, and another one waits', async () => {
  const filled = await fillProject(service, service, 'sending');
  const other = await fillProject(service, await service.newTenant(), 'other');
  const send = async ({ campaign_id, session }: typeof filled) =>
    (
      await call(`${service.base_url}/v1/campaigns/${campaign_id}/send`, session, {
        method: 'POST',
        body: {},
      })
    ).status;
  const early: number[] = [];
  let sends: Promise<number>[] = [];
  let another: Promise<number> | undefined;
  let is_over = false;
  // Of this endpoint three requests run, and a hundred wait.
  const row = `select from campaigns where campaign_id in ('${filled.campaign_id}', '${other.campaign_id}') for update`;
  await whileLocked(row, async () => {
    sends = Array.from({ length: 60 }, async () => {
      const status = await send(filled);
      if (!is_over) early.push(status);
      return status;
    });
    await until((saw) => saw(early.length) >= 7);
    another = send(other);
    for (let n = 0; n < 5; n++) expect((await fetch(`${service.base_url}/healthz`)).status).toBe(200);
    is_over = true;
  });
  expect(early).toEqual(Array(7).fill(503));
  expect(await another).toBe(200);
  expect((await Promise.all(sends)).filter((status) => status === 503)).toHaveLength(7);
});
