import type { Tx } from '../../platform/postgres/port.ts';
import type { Channel } from '../../tenants/config/channels.ts';

/** Suppresses an address on a channel for the whole tenant. Idempotent: the first reason stays. */
export async function suppress(
  tx: Tx,
  { tenant_id, channel, address }: { tenant_id: string; channel: Channel; address: string },
  reason: 'bounce' | 'complaint' | 'unsubscribe',
  now: Date,
): Promise<void> {
  await tx`
    insert into suppressions (tenant_id, channel, address, reason, created_at)
    values (${tenant_id}, ${channel}, lower(${address}), ${reason}, ${now})
    on conflict do nothing`;
}
