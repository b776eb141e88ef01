import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestService, type TestService } from '../engines/service.ts';
import { statementWaits } from '../engines/lock-wait.ts';
import { fillProject } from '../tenants/filled-project.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service?.close());

async function statusOf(path: string, token: string, body: unknown): Promise<number> {
  const response = await fetch(service.base_url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  await response.arrayBuffer();
  return response.status;
}

it('campaigns that take long to send leave connections to other requests', async () => {
  const other = await service.newTenant();
  // The sends wait for a lock for 3 s at most: a busy machine may answer some before it has made the segment.
  for (let attempt = 1, answered = -1; answered !== 0 && attempt <= 5; attempt++) {
    const filled = await fillProject(service, service, `sending-${attempt}`);
    answered = await answeredMeanwhile(filled, async () => {
      const body = { name: `everybody ${attempt}`, definition: { operator: 'AND', conditions: [EVERYBODY] } };
      expect(await statusOf('/v1/segments', other.session_token, body)).toBe(201);
    });
    if (attempt === 5) expect(answered).toBe(0);
  }
});

/** Sends a campaign 15 times while its members are locked; returns how many were answered when `work` was done. */
async function answeredMeanwhile(
  { campaign_id, session }: { campaign_id: string; session: string },
  work: () => Promise<void>,
): Promise<number> {
  let release = () => undefined as void;
  let hold = () => undefined as void;
  const held = new Promise<void>((resolve) => (hold = resolve));
  const locking = service.platform.postgres.service.begin(async (tx) => {
    // Counting the members waits for this.
    await tx`lock table segment_members in access exclusive mode`;
    hold();
    await new Promise<void>((resolve) => (release = resolve));
  });
  await held;
  let answered = 0;
  const send = () => statusOf(`/v1/campaigns/${campaign_id}/send`, session, {});
  const sends = Array.from({ length: 15 }, () => send().finally(() => answered++));
  try {
    await statementWaits(service.platform.postgres.service);
    await work();
    return answered;
  } finally {
    release();
    await locking;
    await Promise.all(sends);
  }
}

const EVERYBODY = { type: 'random', percent: 100, salt: 'everybody' };
