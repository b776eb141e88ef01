import type { ProviderRow } from './queries.ts';
import type { SandboxMessageRow } from './sandbox-queries.ts';

/** The provider resource: without its secrets. */
export function providerResourceOf(row: ProviderRow): Record<string, unknown> {
  return {
    id: row.provider_id,
    tenant_id: row.tenant_id,
    name: row.name,
    kind: row.kind,
    channel: row.channel,
    status: row.status,
    config: row.config,
    rate_per_second: row.rate_per_second,
    credentials_refused: row.credentials_refused,
    created_at: row.created_at,
    updated_at: row.updated_at,
    deleted_at: row.deleted_at,
  };
}

/** The resource of a message in a sandbox. */
export function sandboxMessageOf({ message_id, ...row }: SandboxMessageRow): Record<string, unknown> {
  return { id: message_id, ...row };
}
