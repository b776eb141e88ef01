import { afterEach, expect, it, vi } from 'vitest';
import { sharedService } from './shared-service.ts';

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Returns what `work` writes to stderr. */
async function reported(work: () => Promise<void>): Promise<string> {
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    await work();
    return stderr.mock.calls.join('');
  } finally {
    stderr.mockRestore();
  }
}

it('gives each file a tenant of its own on one service', async () => {
  const first = await sharedService();
  expect(await reported(() => first.close())).toBe('');
  const second = await sharedService();
  expect(second.base_url).toBe(first.base_url);
  expect(second.tenant_id).not.toBe(first.tenant_id);
  await second.close();
});

it('is started anew after a file that leaves work, and says which', async () => {
  const service = await sharedService(1_000);
  const { jobs, postgres } = service.platform;
  const run_at = new Date(Date.now() + 3_600_000);
  await jobs.add(postgres.service, { task: 'left-behind', payload: {}, max_attempts: 1, run_at });
  expect(await reported(() => service.close())).toContain('1 jobs left-behind');
  const next = await sharedService();
  expect(next.base_url).not.toBe(service.base_url);
  await next.close();
});

it('fails a file that leaves spies and fake timers, and names them', async () => {
  const service = await sharedService();
  vi.spyOn(service.platform.clock, 'now_ms');
  vi.spyOn(globalThis, 'fetch');
  vi.spyOn(console, 'log');
  vi.useFakeTimers({ toFake: ['Date'] });
  const said = await reported(() =>
    expect(service.close()).rejects.toThrow('restored at the end of the file'),
  );
  for (const name of ['clock.now_ms', 'globalThis.fetch', 'console.log', 'globalThis.Date'])
    expect(said).toContain(name);
});
