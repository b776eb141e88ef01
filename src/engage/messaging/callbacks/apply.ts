import type { Postgres } from '../../../platform/postgres/port.ts';
import { retryConflicts } from '../../../platform/postgres/retry.ts';
import type { Callback } from './callback.ts';
import { applyCallbacks } from './callback-queries.ts';

const AT_ONCE = 1_000;

/**
 * Applies a provider's callbacks to the messages that were handed to it; returns how many messages changed, or got
 * their address suppressed. Idempotent, and independent of the order. Callbacks of unknown messages are ignored,
 * because the provider's account may send others too; but a complaint or an unsubscription suppresses the address also
 * then.
 */
export async function applyAll(
  postgres: Postgres,
  provider: { tenant_id: string; provider_id: string },
  callbacks: readonly Callback[],
  now_ms: number,
): Promise<number> {
  let applied = 0;
  // The size limit of a body bounds the number of callbacks.
  for (let from = 0; from < callbacks.length; from += AT_ONCE) {
    const some = callbacks.slice(from, from + AT_ONCE);
    applied += await retryConflicts(() =>
      postgres.asTenant(provider.tenant_id, (tx) => applyCallbacks(tx, provider, some, new Date(now_ms))),
    );
  }
  return applied;
}
