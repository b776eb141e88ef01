import { isDeepStrictEqual } from 'node:util';
import { ApiError, validationError } from '../../../errors.ts';
import type { AuditChange, Auditing } from '../../../http/audit.ts';
import { requireLiveRow, requireRow, type RecordKind } from '../../../http/record.ts';
import { newId } from '../../../platform/ids.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import type { Platform } from '../../../platform/platform.ts';
import { selectLiveSegment } from '../../../segments/queries.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import { withoutValues } from '../audited.ts';
import {
  dashboardsWith,
  insertSaved,
  lockInsights,
  lockSaved,
  reportsOf,
  selectSaved,
  softDeleteSaved,
  updateSaved,
  type SavedRef,
  type SavedRow,
  type SavedTable,
} from './queries.ts';
import type { DashboardContent, InsightContent } from './schema.ts';

type Deps = Pick<Platform, 'postgres' | 'clock'>;

/** `before`: the content that it had; null: it was created. */
export interface WrittenChange<Content> {
  before: Content | null;
  content: Content;
  now: Date;
}

/** A kind of saved records. */
export interface SavedKind<Id extends string, Content, State extends object = object>
  extends RecordKind<'project', Id>, SavedTable<Id, State> {
  /** Rejects with CONFLICT when the project has as many as it may have. Absent: any number. */
  requireRoom?: ((tx: Tx, project: ProjectRef) => Promise<void>) | undefined;
  /** What follows from a record that was written, in its transaction. Absent: nothing. */
  written?: ((tx: Tx, ref: SavedRef<Id>, change: WrittenChange<Content>) => Promise<void>) | undefined;
  /**
   * Rejects with VALIDATION_ERROR when the content names what does not exist. In the transaction that stores it. `before`:
   * what is changed; undefined: the record is new.
   */
  requireSound: (tx: Tx, project: ProjectRef, content: Content, before?: Content) => Promise<void>;
  /** Rejects with CONFLICT while something uses the record. In the transaction that deletes it. */
  requireUnused: (tx: Tx, ref: SavedRef<Id>) => Promise<void>;
}

export const INSIGHT: SavedKind<'insight_id', InsightContent> = {
  scope: 'project',
  noun: 'insight',
  id: 'insight_id',
  not_found: 'INSIGHT_NOT_FOUND',
  table: 'insights',
  requireSound: async () => undefined,
  requireUnused: async (tx, ref) => {
    const users = await dashboardsWith(tx, ref, ref.insight_id);
    if (users.length === 0) return;
    const names = users.map(({ name }) => name).join(', ');
    throw new ApiError('CONFLICT', `dashboards show it: remove its tile from ${names} first`);
  },
};

export const DASHBOARD: SavedKind<'dashboard_id', DashboardContent> = {
  scope: 'project',
  noun: 'dashboard',
  id: 'dashboard_id',
  not_found: 'DASHBOARD_NOT_FOUND',
  table: 'dashboards',
  requireSound: async (tx, project, { tiles, segment_id }) => {
    const known = await lockInsights(tx, project, [...new Set(tiles.map(({ insight_id }) => insight_id))]);
    const issues = tiles.flatMap(({ insight_id }, i) =>
      known.has(insight_id)
        ? []
        : [{ path: `tiles.${i}.insight_id`, message: 'must be an insight of the project' }],
    );
    const segment = segment_id === null ? null : await selectLiveSegment(tx, { ...project, segment_id });
    if (segment === undefined)
      issues.push({ path: 'segment_id', message: 'must be a segment of the project' });
    if (issues.length > 0) throw validationError(issues);
  },
  requireUnused: async (tx, ref) => {
    const users = await reportsOf(tx, ref, ref.dashboard_id);
    if (users.length === 0) return;
    const names = users.map(({ name }) => name).join(', ');
    throw new ApiError('CONFLICT', `reports send it: delete ${names} first`);
  },
};

/** A record as the API returns it. */
export function savedJson<Id extends string>({ id }: SavedTable<Id>) {
  return (row: SavedRow<Id>, { tenant_id, project_id }: ProjectRef): Record<string, unknown> => ({
    id: row[id],
    tenant_id,
    project_id,
    name: row.name,
    ...(row.content as object),
    created_at: row.created_at,
    updated_at: row.updated_at,
    deleted_at: row.deleted_at,
  });
}

/** A content as the audit log shows it. */
function auditedContent(content: object): object {
  return 'query' in content ? { ...content, query: withoutValues(content.query) } : content;
}

/**
 * Writes a change to the audit log, without values of queries; `has_other_values` when only these differ. Resolves with
 * `after`.
 */
async function auditSaved<Id extends string, Row extends SavedRow<Id>>(
  kind: SavedTable<Id>,
  audit: AuditChange,
  tx: Tx,
  ref: SavedRef<Id>,
  before: Row | null,
  after: Row,
): Promise<Row> {
  const { tenant_id, project_id } = ref;
  const toJson = savedJson(kind);
  const [old, anew] = [before, after].map((row) => row && auditedContent(row.content as object));
  const have_other_values =
    before !== null && isDeepStrictEqual(old, anew) && !isDeepStrictEqual(before.content, after.content);
  await audit(tx, {
    tenant_id,
    project_id,
    resource_id: ref[kind.id],
    before: before && toJson({ ...before, content: old }, ref),
    after: {
      ...toJson({ ...after, content: anew }, ref),
      ...(have_other_values ? { has_other_values: true } : {}),
    },
    ...(before === null ? {} : { version: toJson(before, ref) }),
  });
  return after;
}

/** The functions of a kind's endpoints. Each rejects with the kind's NOT_FOUND, VALIDATION_ERROR or CONFLICT. */
export function savedRecords<Id extends string, Content extends object, State extends object>(
  kind: SavedKind<Id, Content, State>,
) {
  type Row = SavedRow<Id> & State;
  const audited = (audit: AuditChange, tx: Tx, ref: SavedRef<Id>, before: Row | null, after: Row) =>
    auditSaved<Id, Row>(kind, audit, tx, ref, before, after);
  const reread = async (tx: Tx, ref: SavedRef<Id>) => {
    const [row] = await selectSaved(tx, kind, ref);
    return requireRow<Id, Row>(kind, ref, row);
  };
  return {
    find: async ({ postgres }: Deps, ref: SavedRef<Id>): Promise<Row> => {
      const [row] = await postgres.readAsTenant(ref.tenant_id, (tx) => selectSaved(tx, kind, ref));
      return requireRow<Id, Row>(kind, ref, row);
    },
    create: async (
      { postgres, clock, audit }: Deps & Auditing,
      { tenant_id, project_id }: ProjectRef,
      { name, ...content }: Content & { name: string },
    ): Promise<Row> =>
      postgres.asTenant(tenant_id, async (tx) => {
        const ref = { tenant_id, project_id, [kind.id]: newId() } as SavedRef<Id>;
        await kind.requireRoom?.(tx, ref);
        await kind.requireSound(tx, ref, content as unknown as Content);
        const now = new Date(clock.now_ms());
        await insertSaved(tx, kind, ref, { name, content }, now);
        await kind.written?.(tx, ref, { before: null, content: content as unknown as Content, now });
        return audited(audit, tx, ref, null, await reread(tx, ref));
      }),
    change: async (
      { postgres, clock, audit }: Deps & Auditing,
      ref: SavedRef<Id>,
      {
        name,
        ...patch
      }: { [field in keyof Content]?: Content[field] | undefined } & {
        name?: string | undefined;
      },
    ): Promise<Row> =>
      postgres.asTenant(ref.tenant_id, async (tx) => {
        const row = requireLiveRow<Id, Row>(kind, ref, await lockSaved(tx, kind, ref));
        const before = row.content as Content;
        const content = { ...before, ...given(patch) };
        await kind.requireSound(tx, ref, content, before);
        const now = new Date(clock.now_ms());
        await updateSaved(tx, kind, ref, { name: name ?? row.name, content }, now);
        await kind.written?.(tx, ref, { before, content, now });
        return audited(audit, tx, ref, row, await reread(tx, ref));
      }),
    remove: async ({ postgres, clock, audit }: Deps & Auditing, ref: SavedRef<Id>): Promise<Row> =>
      postgres.asTenant(ref.tenant_id, async (tx) => {
        const row = await lockSaved(tx, kind, ref);
        // Deleted before, or it never existed.
        if (row === undefined) return reread(tx, ref);
        await kind.requireUnused(tx, ref);
        await softDeleteSaved(tx, kind, ref, new Date(clock.now_ms()));
        return audited(audit, tx, ref, row, await reread(tx, ref));
      }),
  };
}

/** The fields of a patch that were sent. */
function given(patch: object): object {
  return Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined));
}
