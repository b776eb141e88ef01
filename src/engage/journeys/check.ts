import { ApiError } from '../../errors.ts';
import type { Egress } from '../../platform/egress/egress.ts';
import type { Postgres, Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { requireRow } from '../../http/record.ts';
import { journeyInvalid, type JourneyIssue } from './graph/issues.ts';
import type { ShownJourney } from './graph/journey-json.ts';
import { selectJourney, type JourneyRef, type JourneyRow } from './graph/queries.ts';
import { readJourney, type WrittenJourney } from './graph/read-journey.ts';
import { JOURNEY } from './graph/read.ts';
import { lookUp, type ReferenceLookUps } from './graph/reference-queries.ts';
import { referenceFaults, referencesOf } from './graph/references.ts';
import type { Definition } from './graph/shapes.ts';
import { warningsOf } from './graph/warnings.ts';

export interface CheckDeps {
  egress: Egress;
  look_ups: ReferenceLookUps;
}

/** Reads what a caller wrote. Throws JOURNEY_GRAPH_INVALID. */
export function checkWritten({ egress }: CheckDeps, written: WrittenJourney): Definition {
  return readJourney(written, (url) => egress.problemOf(url));
}

/** Rejects with JOURNEY_GRAPH_INVALID when something that the definition refers to is missing or unusable. */
export async function requireReferences(
  { look_ups }: CheckDeps,
  tx: Tx,
  project: ProjectRef,
  definition: Definition,
): Promise<void> {
  const references = referencesOf(definition);
  const faults = referenceFaults(references, await lookUp(tx, project, references, look_ups));
  if (faults.length > 0) throw journeyInvalid(faults);
}

/** A journey with its warnings. For a stored definition that cannot be read any more these say why. */
export async function withWarnings(
  { look_ups }: Pick<CheckDeps, 'look_ups'>,
  tx: Tx,
  project: ProjectRef,
  row: JourneyRow,
): Promise<ShownJourney> {
  const definition = readStored(row);
  if ('issues' in definition) return { ...row, warnings: definition.issues };
  const references = referencesOf(definition);
  const faults = referenceFaults(references, await lookUp(tx, project, references, look_ups));
  return { ...row, warnings: [...faults, ...warningsOf(definition)] };
}

/** The journey that the id names, deleted or not, with its warnings. Rejects with JOURNEY_NOT_FOUND. */
export function findWithWarnings(
  deps: Pick<CheckDeps, 'look_ups'> & { postgres: Postgres },
  ref: JourneyRef,
): Promise<ShownJourney> {
  return deps.postgres.asTenant(ref.tenant_id, async (tx) => {
    const [row] = await selectJourney(tx, ref);
    return withWarnings(deps, tx, ref, requireRow(JOURNEY, ref, row));
  });
}

function readStored(row: JourneyRow): Definition | { issues: readonly JourneyIssue[] } {
  try {
    return readJourney(row);
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'JOURNEY_GRAPH_INVALID') throw error;
    return { issues: error.details?.issues as JourneyIssue[] };
  }
}
