import { isDeepStrictEqual } from 'node:util';
import { validationError, type ApiError } from '../../../errors.ts';
import type { Platform } from '../../../platform/platform.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import { dueJson, planWritten, requireRoom } from '../due/due.ts';
import { dueState, REPORTS, type DueState } from '../due/queries.ts';
import { requireReceivers } from '../notices/receivers.ts';
import { lockDashboard, type SavedRow } from '../saved/queries.ts';
import { savedJson, type SavedKind } from '../saved/saved.ts';
import { MAX_REPORTS, type ReportContent } from './schema.ts';

/** The kind of a report: a saved record that the service sends. */
export function reportKind({
  egress,
}: Pick<Platform, 'egress'>): SavedKind<'report_id', ReportContent, DueState> {
  return {
    scope: 'project',
    noun: 'report',
    id: 'report_id',
    not_found: 'REPORT_NOT_FOUND',
    table: 'reports',
    state: (tx) => dueState(tx, REPORTS),
    requireRoom: requireRoom(REPORTS, 'report', MAX_REPORTS),
    requireSound: async (tx, project, { dashboard_id, receivers }, before) => {
      if (!(await lockDashboard(tx, project, dashboard_id))) throw notOfProject();
      await requireReceivers(tx, egress, project.tenant_id, receivers, before?.receivers);
    },
    requireUnused: () => Promise.resolve(),
    written: planWritten(REPORTS, (before, content) => isDeepStrictEqual(before.schedule, content.schedule)),
  };
}

/** The refusal of a dashboard that the project does not have. */
export function notOfProject(): ApiError {
  return validationError([{ path: 'dashboard_id', message: 'must be a dashboard of the project' }]);
}

/** The report as the API shows it. */
export function reportJson(kind: ReturnType<typeof reportKind>) {
  const written = savedJson(kind);
  return (row: SavedRow<'report_id'> & DueState, project: ProjectRef): Record<string, unknown> => ({
    ...written(row, project),
    ...dueJson(row),
  });
}
