import type { Tx } from '../../platform/postgres/port.ts';

/** Postgres notifies on this channel when deliveries are due at once. */
export const DELIVERIES_CHANNEL = 'webhook_deliveries';

/** A pending delivery is given up after so long, even if its schedule has further attempts. */
export const EXPIRY_MS = 7 * 86_400_000;

/** Wakes the deliverers when the transaction commits. */
export async function wakeDeliverers(tx: Tx): Promise<void> {
  await tx`select pg_notify(${DELIVERIES_CHANNEL}, '')`;
}
