import { requireLiveRow, requireRow } from '../../../http/record.ts';
import type { Postgres } from '../../../platform/postgres/port.ts';
import { selectJourney, type JourneyRef, type JourneyRow } from './queries.ts';

/** The names of journeys in paths, ids and errors. */
export const JOURNEY = {
  scope: 'project',
  noun: 'journey',
  id: 'journey_id',
  not_found: 'JOURNEY_NOT_FOUND',
} as const;

/** The journey that the id names, deleted or not. Rejects with JOURNEY_NOT_FOUND. */
export async function findJourney(postgres: Postgres, ref: JourneyRef): Promise<JourneyRow> {
  const [row] = await postgres.readAsTenant(ref.tenant_id, (tx) => selectJourney(tx, ref));
  return requireRow(JOURNEY, ref, row);
}

/** The journey that the id names. Rejects with JOURNEY_NOT_FOUND, also when it is deleted. */
export async function requireJourney(postgres: Postgres, ref: JourneyRef): Promise<JourneyRow> {
  return requireLiveRow(JOURNEY, ref, await findJourney(postgres, ref));
}
