import type { Tx } from '../../../platform/postgres/port.ts';
import type { SavedRef } from '../saved/queries.ts';

/** The key of a report. */
export type ReportRef = SavedRef<'report_id'>;

/** Lets a report be looked at soon, or never while it is not enabled. */
export async function planReport(
  tx: Tx,
  { tenant_id, project_id, report_id }: ReportRef,
  is_enabled: boolean,
): Promise<void> {
  await tx`
    update reports set next_at = ${is_enabled ? '-infinity' : 'infinity'}::text::timestamptz
    where tenant_id = ${tenant_id} and project_id = ${project_id} and report_id = ${report_id}`;
}
