import type { IncomingHttpHeaders } from 'node:http';
import type { z } from 'zod';
import type { ApiKeyPrincipal } from '../auth/api-key.ts';
import type { Maybe } from '../auth/maybe.ts';
import type { Role } from '../auth/roles.ts';
import type { SessionPrincipal } from '../auth/session.ts';
import type { ErrorCode } from '../errors.ts';
import type { Tx } from '../platform/postgres/port.ts';
import type { AuditDeclaration, RecordChange } from './audit.ts';

/**
 * Who may call an endpoint (spec part 5). `scope: 'project'` resolves the X-Project-Id header. A webhook is signed: its
 * handler checks the signature over the request as it came, and refuses a bad one with `signatureRefused`.
 */
export type Access =
  | { mode: 'public' }
  | { mode: 'webhook' }
  | { mode: 'internal' }
  | { mode: 'api_key'; rate: 'identify' | 'none' }
  | { mode: 'session'; role: Role; scope: 'tenant' | 'project' };

/** An admin session, with the project it works on. */
export interface ProjectSession extends SessionPrincipal {
  project_id: string;
}

/** A webhook as it came; what it says is to be believed once its signature is checked. */
export interface SignedRequest {
  /** Path and query, with every character as it was sent. */
  url: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** What a handler knows of its caller. */
export type CallerOf<A extends Access> = A extends { mode: 'session'; scope: 'project' }
  ? ProjectSession
  : A extends { mode: 'session' }
    ? SessionPrincipal
    : A extends { mode: 'api_key' }
      ? ApiKeyPrincipal
      : A extends { mode: 'webhook' }
        ? SignedRequest
        : undefined;

/** One request, authorised and checked. `params` are the path's. */
export interface Call<Caller, Query, Body> {
  caller: Caller;
  params: Readonly<Record<string, string>>;
  query: Query;
  body: Body;
  /** Writes what the call changes to the audit log, as the endpoint's `audit` declares. */
  record: RecordChange;
}

declare const stored: unique symbol;

/** A response body that was stored together with its effect: only {@link Once} makes one. */
export type StoredBody = string & { readonly [stored]: true };

/**
 * Runs `work` like `postgres.asTenant`, once per Idempotency-Key: in one transaction, `work` writes its effect and
 * returns the whole response body as text, which is stored under the request's key. A later request with the same key
 * gets that text, and `work` does not run. What rejects rolls back and leaves no record, so that it may be tried
 * again. Without a key it is `asTenant`. Effects beyond Postgres must be such that repeating them does no harm.
 *
 * Rejects with IDEMPOTENCY_KEY_REUSED or IDEMPOTENCY_IN_PROGRESS. It may be called again only after it rejected.
 */
export type Once = (tenant_id: string, work: (tx: Tx) => Promise<string>) => Promise<StoredBody>;

/** One request of an idempotent endpoint. */
export interface IdempotentCall<Caller, Query, Body> extends Call<Caller, Query, Body> {
  once: Once;
}

/** One endpoint: what is served, to whom, with which inputs; the OpenAPI document is made from the same. */
export interface Endpoint<A extends Access, Query, Body, Idempotent extends boolean> {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** With `:name` for parameters. */
  path: string;
  summary: string;
  access: A;
  /** Absent: a query string is ignored. */
  query?: z.ZodType<Query>;
  /** Absent: a body is ignored. */
  body?: z.ZodType<Body>;
  /** Media types of a body that is not parsed: left to the handler of a webhook, else ignored. Absent: JSON, parsed. */
  raw_types?: readonly string[];
  /** Runs on the body before its schema, to refuse something with a code of its own. */
  refuse?: (body: unknown) => void;
  /** Of success. */
  status: 200 | 201;
  /** The shape of `data`, for the documentation. */
  response: z.ZodType;
  /** `list` carries `meta.next_cursor`; `raw` stands outside the envelope. */
  shape?: 'list' | 'raw';
  /** Absent: JSON. */
  content_type?: string;
  /** The errors of its own, beside those that its access, query and body imply. */
  errors: readonly ErrorCode[];
  /** Required unless it is a GET, for sessions and the internal secret. */
  audit?: AuditDeclaration;
  /** True: it takes an Idempotency-Key header (spec part 1), and runs its effect in `call.once`. */
  idempotent?: Idempotent;
  /** Returns the whole response body as text: of an idempotent endpoint, what `call.once` resolved with. */
  handle(
    call: Idempotent extends true ? IdempotentCall<CallerOf<A>, Query, Body> : Call<CallerOf<A>, Query, Body>,
  ): Idempotent extends true ? Promise<StoredBody> : Maybe<string>;
}

/** An endpoint whose caller and inputs are known only to its own handler. */
export type AnyEndpoint = Endpoint<Access, unknown, unknown, boolean>;

/** Declares an endpoint: the handler's caller, query and body follow from `access`, `query` and `body`. */
export function endpoint<
  const A extends Access,
  Query = undefined,
  Body = undefined,
  const Idempotent extends boolean = false,
>(declared: Endpoint<A, Query, Body, Idempotent>): AnyEndpoint {
  // Sound because `register` passes each handler what its own declaration produced.
  return declared;
}

/** An endpoint as far as the documentation is concerned. */
export interface DocumentedEndpoint extends Pick<
  AnyEndpoint,
  'method' | 'path' | 'summary' | 'access' | 'response' | 'errors' | 'idempotent'
> {
  status: 200 | 201 | 202;
  query?: z.ZodType;
  body?: z.ZodType;
  raw_types?: readonly string[];
  shape?: 'list' | 'raw';
  content_type?: string;
  /** Absent: the API host. */
  server?: 'ingestion';
}
