import type { SessionPrincipal } from './auth/session.ts';
import { ApiError, type ErrorCode } from '../errors.ts';
import { isUuid } from '../platform/ids.ts';

/** Whether records belong to a tenant or to a project. */
export type Scope = 'tenant' | 'project';

/** The ids of an owner. */
export type OwnerOf<S extends Scope> = S extends 'project'
  ? { tenant_id: string; project_id: string }
  : { tenant_id: string };

/** One kind of record: its scope, its names, and the error for a missing record. */
export interface RecordKind<S extends Scope, Id extends string> {
  scope: S;
  /** The name in messages, in the singular: `messaging provider`. */
  noun: string;
  /** The field of refs and rows that contains the id: `provider_id`. */
  id: Id;
  not_found: ErrorCode;
}

/** The key of a record: the ids of its owner and its own id. */
export type RecordRef<S extends Scope, Id extends string> = OwnerOf<S> & Record<Id, string>;

/** The owner that a caller works for: only the ids, without the other fields of the caller. */
export function ownerOf<S extends Scope>(
  scope: S,
  { tenant_id, project_id }: SessionPrincipal & { project_id?: string },
): OwnerOf<S> {
  // `register` has resolved the project when the access has that scope.
  return (scope === 'project' ? { tenant_id, project_id } : { tenant_id }) as OwnerOf<S>;
}

/**
 * The key of the record that an id in a path names. The id is in lower case, as Postgres writes it. Throws the kind's
 * NOT_FOUND when the id is not a UUID, so that queries need not check it again.
 */
export function refOf<S extends Scope, Id extends string>(
  kind: RecordKind<S, Id>,
  caller: SessionPrincipal,
  id = '',
): RecordRef<S, Id> {
  if (!isUuid(id)) throw notFound(kind, id);
  // TypeScript does not infer the type of a computed key.
  return { ...ownerOf(kind.scope, caller), [kind.id]: id.toLowerCase() } as RecordRef<S, Id>;
}

/** Returns the row that was looked up. Throws the kind's NOT_FOUND when there is none. */
export function requireRow<Id extends string, Row>(
  kind: RecordKind<Scope, Id>,
  ref: Record<Id, string>,
  row: Row | undefined,
): Row {
  if (row === undefined) throw notFound(kind, ref[kind.id]);
  return row;
}

/** Returns the row that was looked up. Throws the kind's NOT_FOUND when there is none, or when it is deleted. */
export function requireLiveRow<Id extends string, Row extends { deleted_at: Date | null }>(
  kind: RecordKind<Scope, Id>,
  ref: Record<Id, string>,
  row: Row | undefined,
): Row {
  return requireRow(kind, ref, row?.deleted_at === null ? row : undefined);
}

/** The kind's NOT_FOUND; the message names the id (spec part 7). */
export function notFound({ noun, not_found }: RecordKind<Scope, string>, id: string): ApiError {
  return new ApiError(not_found, `${noun} ${id.slice(0, 64)} does not exist`);
}
