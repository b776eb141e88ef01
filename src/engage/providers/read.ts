import { ApiError } from '../../errors.ts';
import { isUuid } from '../../platform/ids.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { selectProvider, type ProviderRef, type ProviderRow } from './queries.ts';

/** The provider that the id names, deleted or not. Rejects with PROVIDER_NOT_FOUND. */
export async function findProvider(postgres: Postgres, ref: ProviderRef): Promise<ProviderRow> {
  if (!isUuid(ref.provider_id)) throw providerNotFound(ref.provider_id);
  const [row] = await postgres.readAsTenant(ref.tenant_id, (tx) => selectProvider(tx, ref));
  if (row === undefined) throw providerNotFound(ref.provider_id);
  return row;
}

/** PROVIDER_NOT_FOUND; the message names the id (spec part 7). */
export function providerNotFound(provider_id: string): ApiError {
  return new ApiError('PROVIDER_NOT_FOUND', `messaging provider ${provider_id.slice(0, 64)} does not exist`);
}
