import type { PendingQuery, Row } from 'postgres';
import type { AuditedAction, AuditedResource } from '../../http/audit.ts';
import type { Role } from '../../http/auth/roles.ts';
import { isUuid } from '../../platform/ids.ts';
import { beyond, microseconds, type TimePosition } from '../../platform/postgres/keyset.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import type { ProjectRef } from '../project-ref.ts';

/**
 * A row of the audit log. `user_id` and `role` are null for the internal secret; `before` and `after` are JSON text.
 */
export interface AuditRow {
  tenant_id: string;
  audit_id: string;
  occurred_at: Date;
  user_id: string | null;
  role: Role | null;
  project_id: string | null;
  action: AuditedAction;
  resource_type: AuditedResource;
  resource_id: string;
  before: string | null;
  after: string | null;
  request_id: string;
}

export type ListedAuditRow = AuditRow & { occurred_us: bigint };

/** The filters of the list; `from` is inclusive, `to` is exclusive. */
export interface AuditFilters {
  user_id?: string | undefined;
  action?: AuditedAction | undefined;
  resource_type?: AuditedResource | undefined;
  resource_id?: string | undefined;
  project_id?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

/** Inserts rows of the audit log. */
export async function insertAuditRows(tx: Tx, rows: readonly AuditRow[]): Promise<void> {
  await tx`
    insert into audit_log (tenant_id, audit_id, occurred_at, user_id, role, project_id, action, resource_type,
      resource_id, before, after, request_id)
    select * from ${rowsOf(tx, 'r', rows, {
      tenant_id: 'uuid',
      audit_id: 'uuid',
      occurred_at: 'timestamptz',
      user_id: 'text',
      role: 'text',
      project_id: 'uuid',
      action: 'text',
      resource_type: 'text',
      resource_id: 'text',
      before: 'jsonb',
      after: 'jsonb',
      request_id: 'text',
    })}`;
}

/** A page of the tenant's audit log, the newest first. */
export function listAuditRows(
  tx: Tx,
  tenant_id: string,
  { from, to, resource_id, ...equal }: AuditFilters,
  after: TimePosition | undefined,
  limit: number,
): PendingQuery<ListedAuditRow[]> {
  const nothing = tx``;
  const equals = (column: keyof typeof equal) => {
    const value = equal[column];
    return value === undefined ? nothing : tx`and ${tx(column)} = ${value}`;
  };
  return tx<ListedAuditRow[]>`
    select ${columns(tx)}
    from audit_log
    where tenant_id = ${tenant_id}
      ${equals('user_id')} ${equals('action')} ${equals('resource_type')} ${equals('project_id')}
      ${resource_id === undefined ? nothing : tx`and resource_id in (${resource_id}, ${canonical(resource_id)})`}
      ${from === undefined ? nothing : tx`and occurred_at >= ${from}`}
      ${to === undefined ? nothing : tx`and occurred_at < ${to}`}
      ${beyond(tx, 'occurred_at', 'audit_id', after)}
    order by occurred_at desc, audit_id desc
    limit ${limit}`;
}

function columns(tx: Tx) {
  return tx`tenant_id, audit_id, occurred_at, user_id, role, project_id, action, resource_type, resource_id,
    before::text as before, after::text as after, request_id, ${microseconds(tx, 'occurred_at')} as occurred_us`;
}

/**
 * A page of the changes of resources of a project that have one of these ids, the newest first: of each id at most `limit`
 * rows are read, in the order of the index. `ids`: a statement that selects the column `resource_id`.
 */
export function listAuditRowsOf(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  ids: PendingQuery<Row[]>,
  after: TimePosition | undefined,
  limit: number,
): PendingQuery<ListedAuditRow[]> {
  return tx<ListedAuditRow[]>`
    with named as materialized (${ids})
    select a.* from named n
    cross join lateral (
      select ${columns(tx)} from audit_log
      where tenant_id = ${tenant_id} and resource_id = n.resource_id and project_id = ${project_id}
        ${beyond(tx, 'occurred_at', 'audit_id', after)}
      order by occurred_at desc, audit_id desc limit ${limit}) a
    order by a.occurred_at desc, a.audit_id desc
    limit ${limit}`;
}

/** A UUID in lower case, as the service writes ids. A user's id is text of the identity provider: it may be neither. */
function canonical(resource_id: string): string {
  return isUuid(resource_id) ? resource_id.toLowerCase() : resource_id;
}
