import type { PendingQuery } from 'postgres';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

/** Of what something is said: `round` of a project's holdout, or what else than a holdout is compared, or empty. */
interface ReportKey {
  experiment_id: string;
  round: string;
}

/** What was said about an effect when its last window was over, as JSON text; no row before. */
export function selectEffectReport(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  { experiment_id, round }: ReportKey,
): PendingQuery<{ report: string }[]> {
  return tx<{ report: string }[]>`
    select report::text as report from effect_reports
    where tenant_id = ${tenant_id} and project_id = ${project_id} and experiment_id = ${experiment_id}
      and round = ${round}`;
}

/** Stores what is said about an effect, once: what was stored before stays. */
export async function insertEffectReport(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  { experiment_id, round, report, now }: ReportKey & { report: string; now: Date },
): Promise<void> {
  await tx`
    insert into effect_reports (tenant_id, project_id, experiment_id, round, report, stored_at)
    values (${tenant_id}, ${project_id}, ${experiment_id}, ${round}, ${report}::text::jsonb, ${now})
    on conflict do nothing`;
}
