import { requireRow } from '../http/record.ts';
import type { Postgres } from '../platform/postgres/port.ts';
import { selectAdapter, type AdapterRef, type AdapterRow } from './queries.ts';

/** The names of adapters in paths, ids and errors. */
export const ADAPTER = {
  scope: 'project',
  noun: 'adapter',
  id: 'adapter_id',
  not_found: 'ADAPTER_NOT_FOUND',
} as const;

/** The adapter that the id names. Rejects with ADAPTER_NOT_FOUND. */
export async function findAdapter(postgres: Postgres, ref: AdapterRef): Promise<AdapterRow> {
  const [row] = await postgres.readAsTenant(ref.tenant_id, (tx) => selectAdapter(tx, ref));
  return requireRow(ADAPTER, ref, row);
}
