import { readDefinition } from './language/definition.ts';
import type { SegmentRow } from './queries.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';
import { compileMembers } from './sql/compile.ts';

/** A segment in the audit log: without the fields that are derived from its definition or change with its members. */
export function segmentAuditOf({ definition, ...row }: SegmentRow, ref: ProjectRef): object {
  return {
    id: row.segment_id,
    tenant_id: ref.tenant_id,
    project_id: ref.project_id,
    name: row.name,
    description: row.description,
    definition,
    refresh_strategy: row.refresh_strategy,
    refresh_interval_minutes: row.refresh_interval_minutes,
    created_at: row.created_at,
    updated_at: row.updated_at,
    deleted_at: row.deleted_at,
  };
}

/**
 * The segment resource (spec part 2). `compiled_query` is compiled from the definition at each call, so it is never out
 * of date; a definition that another version has stored and this one cannot read compiles to nothing.
 * `refresh_lag_seconds`: how long a scheduled refresh is overdue.
 */
export function segmentResourceOf(
  row: SegmentRow,
  { tenant_id, project_id }: ProjectRef,
  now_ms: number,
): Record<string, unknown> {
  return {
    id: row.segment_id,
    tenant_id,
    project_id,
    name: row.name,
    description: row.description,
    definition: row.definition,
    compiled_query: compiledQueryOf(row.definition),
    estimated_size: Number(row.estimated_size),
    last_computed_at: row.last_computed_at,
    last_error: row.last_error,
    refresh_progress: row.refresh_progress,
    refresh_lag_seconds:
      row.next_refresh_at && Math.max(0, Math.floor((now_ms - row.next_refresh_at.getTime()) / 1_000)),
    refresh_strategy: row.refresh_strategy,
    refresh_interval_minutes: row.refresh_interval_minutes,
    created_at: row.created_at,
    updated_at: row.updated_at,
    deleted_at: row.deleted_at,
  };
}

function compiledQueryOf(definition: unknown): string {
  try {
    return compileMembers(readDefinition(definition)).sql;
  } catch {
    return '';
  }
}
