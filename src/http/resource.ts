import type { z } from 'zod';
import type { Role } from './auth/roles.ts';
import type { ErrorCode } from '../errors.ts';
import type { PageOf, TimePosition } from '../platform/postgres/keyset.ts';
import type { Tx } from '../platform/postgres/port.ts';
import type { AuditedResource, Auditing, RecordImage } from './audit.ts';
import type { OwnerOf, RecordKind, RecordRef, Scope } from './record.ts';

interface Operation<Run> {
  summary: string;
  /** Errors in addition to the kind's NOT_FOUND and, for operations with a body, FIELD_NOT_WRITABLE. */
  errors?: readonly ErrorCode[];
  /** Runs in a transaction of its own, in which it records the change; rejects with the errors above. */
  run: Run;
}

interface OperationWithBody<Body, Run> extends Operation<Run> {
  body: z.ZodType<Body>;
  /** Fields that the body must not set; a body that sets one is refused with FIELD_NOT_WRITABLE. */
  read_only: ReadonlySet<string>;
}

/** The declaration of a resource's list. */
export interface Listing<S extends Scope, Id extends string, Row, Filters> {
  /** The name in the path: `/v1/<collection>`. */
  collection: string;
  kind: RecordKind<S, Id>;
  /** The schema of one record in a response. */
  response: z.ZodType;
  /** The same of one record in a list, where that has less. */
  listed?: z.ZodType;
  toJson: (row: Row, owner: OwnerOf<S>, now_ms: number) => unknown;
  /** Query parameters in addition to `cursor` and `limit`. */
  filters: { readonly [name in keyof Filters]: z.ZodType<Filters[name]> };
  /** Selects at most `limit` rows that are not deleted, sorted by created_at and id, newest first. */
  list: (
    tx: Tx,
    owner: OwnerOf<S>,
    filters: Filters,
    after: TimePosition | undefined,
    limit: number,
  ) => PageOf<Row>;
}

/**
 * The declaration of records under `/v1/<collection>` that are listed, read, created, changed and soft-deleted (spec
 * parts 1 and 4). Other operations on these records are declared as ordinary endpoints.
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
  /** The resource that audit rows of its changes name. */
  audited: AuditedResource;
  /** The record as the audit log shows it before a change: its version is made from that. */
  image: (row: Row, owner: OwnerOf<S>) => RecordImage;
  /** The longest body; absent: as of other endpoints. */
  max_body_bytes?: number;
  /** The lowest role that may create, change and delete; viewers may read. */
  writer: Role;
  /** Returns the record, whether deleted or not. */
  find: (deps: Deps, ref: RecordRef<S, Id>) => Promise<Row>;
  create: OperationWithBody<Create, (deps: Deps & Auditing, owner: OwnerOf<S>, body: Create) => Promise<Row>>;
  /** Absent: the PATCH needs more than its body, and is declared as an ordinary endpoint. */
  change?: OperationWithBody<
    Change,
    (deps: Deps & Auditing, ref: RecordRef<S, Id>, body: Change) => Promise<Row>
  >;
  remove: Operation<(deps: Deps & Auditing, ref: RecordRef<S, Id>) => Promise<Row>>;
}
