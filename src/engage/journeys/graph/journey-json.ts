import type { ProjectRef } from '../../../tenants/project-ref.ts';

import type { JourneyIssue } from './issues.ts';
import type { JourneyRow, ListedJourney } from './queries.ts';
import type { VersionRow } from './version-queries.ts';
import { maskHeaders } from './webhook-headers.ts';

/** A journey as it is shown: from a list, or whole. */
export type ShownJourney = ListedJourney & Partial<JourneyRow> & { warnings?: readonly JourneyIssue[] };

/** The journey resource (spec part 2), without the values of webhooks' headers. */
export function journeyResourceOf(row: ShownJourney, { tenant_id, project_id }: ProjectRef) {
  return {
    id: row.journey_id,
    tenant_id,
    project_id,
    name: row.name,
    status: row.status,
    trigger: row.trigger,
    graph: row.graph && maskHeaders(row.graph),
    settings: row.settings,
    version: row.version,
    draft_version: draftVersionOf(row),
    activated_at: row.activated_at,
    paused_at: row.paused_at,
    hold: row.is_held,
    last_error: row.last_error,
    created_at: row.created_at,
    updated_at: row.updated_at,
    deleted_at: row.deleted_at,
    warnings: row.warnings,
  };
}

/** A version of a journey, without the values of webhooks' headers. */
export function versionResourceOf(row: VersionRow) {
  return { ...row, graph: maskHeaders(row.graph) };
}

function draftVersionOf({ is_live, version }: ShownJourney): number | null | undefined {
  if (is_live === undefined) return undefined;
  return is_live ? null : (version ?? 0) + 1;
}
