import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { call, sendBatch } from '../engines/http-client.ts';
import type { TestService } from '../engines/service.ts';
import { sharedService } from '../engines/shared-service.ts';
import { until } from '../engines/until.ts';

// What ends the pause between two looks for work, which is a second in a quiet service.

let service: TestService;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(() => service?.close());

function wakes() {
  const wake = vi.spyOn(service.platform.workWatch, 'wake');
  onTestFinished(() => wake.mockRestore());
  return wake;
}

it('a write request wakes the work watch; a GET does not', async () => {
  const wake = wakes();
  const config = `${service.base_url}/v1/tenant/config`;
  expect((await call(config, service.session_token)).status).toBe(200);
  expect(wake).not.toHaveBeenCalled();
  const answer = await call(config, service.session_token, { method: 'PATCH', body: { kyc_model: 'dual' } });
  expect(answer.status).toBe(200);
  // The answer is sent before the hook runs.
  await until((saw) => saw(wake.mock.calls.length) === 1);
});

it('a handled batch wakes the work watch', async () => {
  const wake = wakes();
  const event = { event: 'session_start', anonymous_id: 'visitor', properties: {} };
  expect((await sendBatch(service, service, [event])).status).toBe(202);
  await until((saw) => saw(wake.mock.calls.length) > 0);
});
