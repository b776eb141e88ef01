import type { Postgres } from '../../../platform/postgres/port.ts';
import { retryConflicts } from '../../../platform/postgres/retry.ts';
import { liftUnsubscriptions, suppress, type Resubscription } from '../suppression-queries.ts';
import { applyCallbacks, insertReply, type Callback, type Reply } from './callback-queries.ts';

const AT_ONCE = 1_000;

/**
 * Applies a provider's callbacks to the messages that were handed to it; returns how many messages changed, or got
 * their address suppressed. Idempotent, and independent of the order. Callbacks of unknown messages are ignored,
 * because the provider's account may send others too; but a complaint or an unsubscription suppresses the address also
 * then, and a resubscription lifts that.
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
  const lifted = liftedBy(callbacks);
  for (let from = 0; from < lifted.length; from += AT_ONCE) {
    const some = lifted.slice(from, from + AT_ONCE);
    applied += await postgres.asTenant(provider.tenant_id, (tx) =>
      liftUnsubscriptions(tx, provider.tenant_id, 'email', some),
    );
  }
  return applied;
}

/**
 * The addresses whose last word in the callbacks is a resubscription. If two callbacks have the same time, the one behind
 * is later. One with an earlier time than an unsubscription of other callbacks lifts nothing, because that has its time.
 */
function liftedBy(callbacks: readonly Callback[]): Resubscription[] {
  const last = new Map<string, { lifts: boolean; at_ms: number }>();
  for (const { address, suppression, lifts, at_ms } of callbacks) {
    if (address === null || (suppression !== 'unsubscribe' && !lifts)) continue;
    if (at_ms >= (last.get(address)?.at_ms ?? -Infinity)) last.set(address, { lifts, at_ms });
  }
  return [...last].flatMap(([address, { lifts, at_ms }]) => (lifts ? [{ address, at_ms }] : []));
}

/** Applies a player's reply once; returns how many suppressions it has made or lifted. */
export async function applyReply(
  postgres: Postgres,
  provider: { tenant_id: string; provider_id: string },
  reply: Reply,
  now_ms: number,
): Promise<number> {
  const { tenant_id } = provider;
  const { from: address, wants_messages } = reply;
  const now = new Date(now_ms);
  return retryConflicts(() =>
    postgres.asTenant(tenant_id, async (tx) => {
      if (!(await insertReply(tx, provider, reply, now))) return 0;
      if (wants_messages) return liftUnsubscriptions(tx, tenant_id, 'sms', [{ address, at_ms: now_ms }]);
      return Number(await suppress(tx, { tenant_id, channel: 'sms', address }, 'unsubscribe', now));
    }),
  );
}
