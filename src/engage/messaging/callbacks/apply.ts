import type { Postgres } from '../../../platform/postgres/port.ts';
import { retryConflicts } from '../../../platform/postgres/retry.ts';
import type { Callback } from './callback.ts';
import { applyCallbacks } from './callback-queries.ts';

const AT_ONCE = 1_000;

/**
 * Applies what a provider told to the messages that it was given; returns how many messages, or the suppression of
 * their address, changed. What is told again, or in another order, comes to the same. Messages that nobody knows are
 * passed over, since the account may send others too; but whoever complains of one, or unsubscribes, is suppressed.
 */
export async function applyAll(
  postgres: Postgres,
  provider: { tenant_id: string; provider_id: string },
  callbacks: readonly Callback[],
  now_ms: number,
): Promise<number> {
  let applied = 0;
  // The size of a body bounds how many there are.
  for (let from = 0; from < callbacks.length; from += AT_ONCE) {
    const some = callbacks.slice(from, from + AT_ONCE);
    applied += await retryConflicts(() =>
      postgres.asTenant(provider.tenant_id, (tx) => applyCallbacks(tx, provider, some, new Date(now_ms))),
    );
  }
  return applied;
}
