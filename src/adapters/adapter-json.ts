import type { AdapterRow } from './queries.ts';
import type { SandboxBonusRow } from './sandbox-queries.ts';

/** The adapter resource: without its token and secrets. */
export function adapterResourceOf(row: AdapterRow): Record<string, unknown> {
  return {
    id: row.adapter_id,
    project_id: row.project_id,
    slug: row.slug,
    kind: row.kind,
    base_url: row.base_url,
    auth: { type: row.auth_type },
    timeout_ms: row.timeout_ms,
    max_rps: row.max_rps,
    max_in_flight: row.max_in_flight,
    capabilities: row.capabilities,
    is_active: row.is_active,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

/** The resource of a bonus in a sandbox. */
export function sandboxBonusOf(row: SandboxBonusRow): Record<string, unknown> {
  const { grant_id, platform_bonus_id, status, sent, created_at, updated_at } = row;
  return { grant_id, platform_bonus_id, status, sent, created_at, updated_at };
}
