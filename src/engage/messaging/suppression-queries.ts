import type { Tx } from '../../platform/postgres/port.ts';
import type { Channel } from '../../tenants/config/channels.ts';
import type { SuppressionReason } from './suppressions/schema.ts';

/** Suppresses an address on a channel for the whole tenant. Idempotent: the first reason stays, and it returns false. */
export async function suppress(
  tx: Tx,
  { tenant_id, channel, address }: { tenant_id: string; channel: Channel; address: string },
  reason: SuppressionReason,
  now: Date,
): Promise<boolean> {
  const { count } = await tx`
    insert into suppressions (tenant_id, channel, address, reason, created_at)
    values (${tenant_id}, ${channel}, lower(${address}), ${reason}, ${now})
    on conflict do nothing`;
  return count > 0;
}
