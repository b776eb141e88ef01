import { requireLiveRow, requireRow } from '../../../http/record.ts';
import type { Postgres } from '../../../platform/postgres/port.ts';
import type { Platform } from '../../../platform/platform.ts';
import { selectRunSends } from '../../messaging/journey-send-queries.ts';
import { readArchivedSteps } from './archive-queries.ts';
import { selectJourney, type JourneyKey } from './journey-queries.ts';
import { selectNodeType, selectRun, selectSteps } from './read-queries.ts';
import { historyOf, runResourceOf } from './run-json.ts';

/** The names of journeys in paths, ids and errors. */
export const JOURNEY = {
  scope: 'project',
  noun: 'journey',
  id: 'journey_id',
  not_found: 'JOURNEY_NOT_FOUND',
} as const;

/** The names of runs in paths, ids and errors. */
export const RUN = {
  scope: 'project',
  noun: 'journey run',
  id: 'run_id',
  not_found: 'JOURNEY_RUN_NOT_FOUND',
} as const;

/** The key of a run of a journey. */
export type RunKey = JourneyKey & { run_id: string };

/** Rejects with JOURNEY_NOT_FOUND, also for a deleted journey. */
export async function requireJourney(postgres: Postgres, ref: JourneyKey): Promise<void> {
  requireLiveRow(JOURNEY, ref, await postgres.asTenant(ref.tenant_id, (tx) => selectJourney(tx, ref)));
}

/** Rejects with JOURNEY_NOT_FOUND. The runs of a deleted journey can be read: they say what happened to players. */
export async function requireReadable(postgres: Postgres, ref: JourneyKey): Promise<void> {
  requireRow(JOURNEY, ref, await postgres.asTenant(ref.tenant_id, (tx) => selectJourney(tx, ref)));
}

/**
 * A run with its history. Rejects with JOURNEY_RUN_NOT_FOUND. The runs of a deleted journey can be read: they say what
 * happened to players. The steps of a run that ended long ago are in ClickHouse.
 */
export async function readRun(
  { postgres, clickhouse }: Pick<Platform, 'postgres' | 'clickhouse'>,
  ref: RunKey,
) {
  const { row, steps, sends, node_type } = await postgres.asTenant(ref.tenant_id, async (tx) => {
    // Locks nothing: a step that is written meanwhile is either in both answers or only in the steps.
    const [run] = await selectRun(tx, ref);
    const found = requireRow(RUN, ref, run);
    const [of_run, messages, type] = await Promise.all([
      selectSteps(tx, ref),
      selectRunSends(tx, ref),
      selectNodeType(tx, ref, found.version, found.node_id),
    ]);
    return { row: found, steps: of_run, sends: messages, node_type: type };
  });
  const all = row.is_archived ? await readArchivedSteps(clickhouse, ref) : steps;
  const known = all.filter(({ seq }) => row.status !== 'running' || seq < row.seq);
  return { ...runResourceOf(row), history: historyOf(row, known, sends, node_type) };
}
