import { ApiError } from '../../../errors.ts';
import type { AuditChange } from '../../../http/audit.ts';
import type { Platform } from '../../../platform/platform.ts';
import { createFrozenSegment, createSegment } from '../../../segments/change.ts';
import { MAX_LIST_PLAYERS } from '../../../segments/freeze.ts';
import { readDefinition } from '../../../segments/language/definition.ts';
import { harmWarnings, type HarmWarning } from '../../../segments/language/harm.ts';
import { countUnwrittenLists, type SegmentRow } from '../../../segments/queries.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import { readAsked, withFixedRange } from '../ask.ts';
import { kindOf, readCell } from '../kinds.ts';
import type { InsightRunner } from '../runner.ts';
import type { InsightQuery } from '../schema.ts';
import { freezeJob } from './frozen-job.ts';
import { countStatement } from './frozen-queries.ts';
import { harmOfCell } from './harm.ts';
import { liveDefinition } from './live.ts';

export const SAVED_AS = ['live', 'frozen'] as const;
/** Lists of a tenant that are still to be written at a time. */
const MAX_UNWRITTEN = 5;
const RETRY_AFTER_S = 30;

export interface SaveDeps extends Pick<Platform, 'postgres' | 'clickhouse' | 'clock' | 'jobs'> {
  runner: InsightRunner;
  audit: AuditChange;
}

/**
 * Creates a segment of the players of a cell; `warnings`: the signs of harm by which it selects them. `live`: a realtime segment with a definition that says the same. `frozen`: a
 * list of up to a million players, which a job writes soon after. Rejects with INSIGHT_NOT_A_SEGMENT where the language
 * cannot say the cell, with INSIGHT_TOO_EXPENSIVE for too many players, with RATE_LIMITED while five lists of the tenant are
 * still to be written, and as `readAsked` and `InsightRunner.run`.
 */
export async function saveSegment(
  deps: SaveDeps,
  project: ProjectRef,
  body: {
    query: InsightQuery;
    cell: Readonly<Record<string, unknown>>;
    name: string;
    as: (typeof SAVED_AS)[number];
  },
): Promise<{ row: SegmentRow; warnings: HarmWarning[] }> {
  const { query, name } = body;
  const cell = readCell(query, body.cell);
  const asked = await readAsked(deps, project, query);
  const { scope } = asked;
  const statement = kindOf(query).players(query, scope, cell);
  if (body.as === 'live') {
    const definition = liveDefinition(query, scope, cell);
    const warnings = harmWarnings(readDefinition(definition));
    const segment = { name, description: '', definition, refresh_strategy: 'realtime' as const };
    return { row: await createSegment(deps, project, segment), warnings };
  }
  const { tenant_id } = project;
  const [lists] = await deps.postgres.readAsTenant(tenant_id, (tx) => countUnwrittenLists(tx, tenant_id));
  const unwritten = lists?.unwritten ?? 0;
  if (unwritten >= MAX_UNWRITTEN) {
    const message = `${MAX_UNWRITTEN} lists of the tenant are still to be written: try again later`;
    throw new ApiError('RATE_LIMITED', message, { retry_after_s: RETRY_AFTER_S });
  }
  const [[counted] = []] = await deps.runner.run(deps.clickhouse, project, [countStatement(statement)]);
  const players = Number(counted?.['players'] ?? 0);
  if (players > MAX_LIST_PLAYERS) {
    const details = { rows: players, limit: MAX_LIST_PLAYERS, hint: 'choose a smaller cell' };
    const message = `the cell has ${players} players, and a list has at most ${MAX_LIST_PLAYERS}`;
    throw new ApiError('INSIGHT_TOO_EXPENSIVE', message, { details });
  }
  const row = await createFrozenSegment(deps, project, { name, description: '' }, (ref) =>
    freezeJob(ref, { query: withFixedRange(asked), cell, is_first: unwritten === 0 }),
  );
  return { row, warnings: harmOfCell(query, cell, scope.reporting.bonus_cost) };
}
