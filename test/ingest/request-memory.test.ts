import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { expect, it } from 'vitest';
import type { ApiKeyPrincipal } from '../../src/http/auth/api-key.ts';
import { admitKey, type IntakeDeps } from '../../src/ingest/intake/routes.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (options: { type: 'minor' }) => void;

/** The objects that only a garbage collection of the whole heap frees. */
function oldBytes(): number {
  collect({ type: 'minor' });
  collect({ type: 'minor' });
  return getHeapSpaceStatistics().find((space) => space.space_name === 'old_space')?.space_used_size ?? 0;
}

it('keeps no request in memory until the whole heap is collected', () => {
  const key = { kind: 'server', key_id: 'k' } as ApiKeyPrincipal;
  const deps = {
    apiKeys: { authenticate: () => key },
    rateLimiter: { take: () => ({ allowed: true, remaining: 1, reset_ms: 0 }) },
    defaultPolicy: { name: 'ingest', per_second: 1, burst: 1 },
  } as unknown as IntakeDeps;
  const reply = { headers: () => undefined } as unknown as FastifyReply;
  const before = oldBytes();
  const [requests, body_bytes] = [1_000, 8_000];
  for (let i = 0; i < requests; i++) {
    const body = Array.from({ length: body_bytes / 8 }, (_, at) => at);
    void admitKey(deps, 'Bearer x', { headers: {}, body } as unknown as FastifyRequest, reply);
  }
  expect(oldBytes() - before).toBeLessThan((requests * body_bytes) / 10);
});
