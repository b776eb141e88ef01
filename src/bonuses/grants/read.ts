import { requireRow, type RecordKind } from '../../http/record.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import type { GrantRef, GrantRow, HistoryRow } from './grant-row.ts';
import { selectGrant, selectHistory } from './queries.ts';

/** The names of grants in paths, ids and errors. */
export const GRANT: RecordKind<'project', 'grant_id'> = {
  scope: 'project',
  noun: 'bonus grant',
  id: 'grant_id',
  not_found: 'BONUS_GRANT_NOT_FOUND',
};

/** The last so many events are shown. */
const MAX_HISTORY = 500;

/** The grant with its history, which has every event that led to its status. Rejects with BONUS_GRANT_NOT_FOUND. */
export async function findGrant(
  postgres: Postgres,
  ref: GrantRef,
): Promise<{ grant: GrantRow; history: HistoryRow[] }> {
  const [grant] = await postgres.readAsTenant(ref.tenant_id, (tx) => selectGrant(tx, ref));
  // Read afterwards: read at the same time, it might lack the last event.
  const history = await postgres.readAsTenant(ref.tenant_id, (tx) => selectHistory(tx, ref, MAX_HISTORY));
  return { grant: requireRow(GRANT, ref, grant), history };
}
