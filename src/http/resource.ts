import type { z } from 'zod';
import type { Role } from '../auth/roles.ts';
import type { ErrorCode } from '../errors.ts';
import type { PageOf, TimePosition } from '../platform/postgres/keyset.ts';
import type { Tx } from '../platform/postgres/port.ts';
import type { AuditedResource, Recording } from './audit.ts';
import type { OwnerOf, RecordKind, RecordRef, Scope } from './record.ts';

interface Operation<Run> {
  summary: string;
  /** Beside the kind's NOT_FOUND and, where there is a body, FIELD_NOT_WRITABLE. */
  errors: readonly ErrorCode[];
  /** Works in a transaction of its own, in which it records what it changes; rejects with the errors above. */
  run: Run;
}

interface OperationWithBody<Body, Run> extends Operation<Run> {
  body: z.ZodType<Body>;
  /** Fields that the body may not set: FIELD_NOT_WRITABLE. */
  read_only: ReadonlySet<string>;
}

/** What the list of a resource is made of. */
export interface Listing<S extends Scope, Id extends string, Row, Filters> {
  /** In the path: `/v1/<collection>`. */
  collection: string;
  kind: RecordKind<S, Id>;
  /** The resource as JSON. */
  response: z.ZodType;
  toJson: (row: Row, owner: OwnerOf<S>, now_ms: number) => unknown;
  /** Query parameters beside `cursor` and `limit`. */
  filters: { readonly [name in keyof Filters]: z.ZodType<Filters[name]> };
  /** At most `limit` rows that are not deleted, by created_at and id, the newest first. */
  list: (
    tx: Tx,
    owner: OwnerOf<S>,
    filters: Filters,
    after: TimePosition | undefined,
    limit: number,
  ) => PageOf<Row>;
}

/**
 * Records under `/v1/<collection>` that are listed, read, created, changed and soft-deleted (spec parts 1 and 4). Other
 * operations on them are ordinary endpoints beside these.
 */
export interface Resource<
  Deps,
  S extends Scope,
  Id extends string,
  Row,
  Filters,
  Create,
  Change,
> extends Listing<S, Id, Row, Filters> {
  /** What changes of it are recorded as. */
  audited: AuditedResource;
  /** The least role that may create, change and delete; viewers read. */
  writer: Role;
  /** Deleted or not. */
  find: (deps: Deps, ref: RecordRef<S, Id>) => Promise<Row>;
  create: OperationWithBody<
    Create,
    (deps: Deps & Recording, owner: OwnerOf<S>, body: Create) => Promise<Row>
  >;
  change: OperationWithBody<
    Change,
    (deps: Deps & Recording, ref: RecordRef<S, Id>, body: Change) => Promise<Row>
  >;
  remove: Operation<(deps: Deps & Recording, ref: RecordRef<S, Id>) => Promise<Row>>;
}
