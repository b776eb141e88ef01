import { requireRow } from '../../http/record.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { selectProvider, type ProviderRef, type ProviderRow } from './queries.ts';

/** The names of messaging providers in paths, ids and errors. */
export const PROVIDER = {
  scope: 'tenant',
  noun: 'messaging provider',
  id: 'provider_id',
  not_found: 'PROVIDER_NOT_FOUND',
} as const;

/** The provider that the id names, deleted or not. Rejects with PROVIDER_NOT_FOUND. */
export async function findProvider(postgres: Postgres, ref: ProviderRef): Promise<ProviderRow> {
  const [row] = await postgres.readAsTenant(ref.tenant_id, (tx) => selectProvider(tx, ref));
  return requireRow(PROVIDER, ref, row);
}
