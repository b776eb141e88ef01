import { validationError } from '../../../errors.ts';
import type { Auditing } from '../../../http/audit.ts';
import { JsonText } from '../../../platform/exact-json.ts';
import type { Platform } from '../../../platform/platform.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import { dueJson, planWritten, requireRoom } from '../due/due.ts';
import { ALERTS } from '../due/queries.ts';
import { requireReceivers } from '../notices/receivers.ts';
import { savedJson, savedRecords, type SavedKind } from '../saved/saved.ts';
import type { SavedRow } from '../saved/queries.ts';
import { readMeasure } from './measure.ts';
import { alertState, type AlertRef, type AlertState } from './queries.ts';
import { MAX_ALERTS, type AlertContent, type createAlertBody, type patchAlertBody } from './schema.ts';
import type { z } from 'zod';

export type AlertDeps = Pick<Platform, 'postgres' | 'clock' | 'egress'>;
type Row = SavedRow<'alert_id'> & AlertState;

/** The kind of an alert: a saved record that the service evaluates. */
export function alertKind({
  egress,
}: Pick<AlertDeps, 'egress'>): SavedKind<'alert_id', AlertContent, AlertState> {
  return {
    scope: 'project',
    noun: 'alert',
    id: 'alert_id',
    not_found: 'ALERT_NOT_FOUND',
    table: 'alerts',
    state: alertState,
    requireRoom: requireRoom(ALERTS, 'alert', MAX_ALERTS),
    requireSound: (tx, { tenant_id }, { receivers }, before) =>
      requireReceivers(tx, egress, tenant_id, receivers, before?.receivers),
    requireUnused: () => Promise.resolve(),
    // Hours of a day that is decided as a whole are not decided again.
    written: planWritten(ALERTS, (before, content) => before.interval === content.interval),
  };
}

/** The alert as the API shows it. */
export function alertJson(kind: ReturnType<typeof alertKind>) {
  const written = savedJson(kind);
  return (row: Row, project: ProjectRef): Record<string, unknown> => ({
    ...written(row, project),
    ...dueJson(row),
    firings: new JsonText(row.firings),
  });
}

/** Creates an alert. Rejects with VALIDATION_ERROR, CONFLICT when the project has 100, and as `readMeasure`. */
export async function createAlert(
  deps: AlertDeps & Auditing,
  project: ProjectRef,
  body: z.infer<typeof createAlertBody>,
): Promise<Row> {
  await requireComputable(deps, project, body);
  return savedRecords(alertKind(deps)).create(deps, project, body);
}

/** Changes an alert; intervals that are decided stay so. Rejects with ALERT_NOT_FOUND, and as {@link createAlert}. */
export async function changeAlert(
  deps: AlertDeps & Auditing,
  ref: AlertRef,
  patch: z.infer<typeof patchAlertBody>,
): Promise<Row> {
  await requireComputable(deps, ref, patch);
  return savedRecords(alertKind(deps)).change(deps, ref, patch);
}

async function requireComputable(
  deps: AlertDeps,
  { tenant_id, project_id }: ProjectRef,
  { query }: { query?: AlertContent['query'] | undefined },
): Promise<void> {
  if (query === undefined) return;
  const { column } = await readMeasure(deps, { tenant_id, project_id }, query, 'day');
  if (!['money', 'count', 'rate', 'number'].includes(column.type))
    throw validationError([{ path: 'query.series', message: 'must be a number' }]);
}
