import type { FastifyRequest } from 'fastify';
import type { RateLimiter, RatePolicy, RateVerdict } from '../../platform/rate-limit/port.ts';
import type { ApiKeyPrincipal } from './api-key.ts';
import type { Maybe } from './maybe.ts';
import { networkOf } from './unknown-keys.ts';

/** What the pages and apps behind one address may send with the client keys of a project. */
export const ADDRESS_POLICY: RatePolicy = { name: 'address', per_second: 20, burst: 400 };

/**
 * Takes `events` permits of the address `ip` for a client key, all or none; a call that changes a player counts as one event.
 * More than the burst are taken from a full bucket only, so take those of a request in one call. Undefined for a server
 * key: its address has no limit. Keys of a project share the bucket, those of other projects do not.
 */
export function takeOfAddress(
  rate_limiter: Pick<RateLimiter, 'take'>,
  { kind, project_id }: Pick<ApiKeyPrincipal, 'kind' | 'project_id'>,
  ip: string,
  events: number,
): Maybe<RateVerdict | undefined> {
  if (kind === 'server') return undefined;
  return rate_limiter.take(ADDRESS_POLICY, `${project_id}/${networkOf(ip)}`, events);
}

/** The address of the caller as it was at the first call: a connection that has ended has none any more. */
export function addressOf(request: FastifyRequest): string {
  return (request.clientAddress ||= request.ip);
}
