import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { z } from 'zod';
import type { ApiKeyPrincipal } from './auth/api-key.ts';
import type { Maybe } from './auth/maybe.ts';
import type { Needed } from './auth/roles.ts';
import type { SessionPrincipal, UserPrincipal } from './auth/session.ts';
import type { ApiError, ErrorCode } from '../errors.ts';
import type { Tx } from '../platform/postgres/port.ts';
import type { RecordImage, AuditDeclaration, AuditChange, AuditedCall } from './audit.ts';
import type { EventStream } from './event-stream.ts';
import type { PreparedAnswer } from './prepared-answer.ts';

/**
 * Who may call an endpoint (spec part 5). `scope: 'project'` resolves the X-Project-Id header; `named_in: 'query'`: the
 * parameters `tenant_id` and `project_id` name the two as well, for callers that cannot set headers. A webhook is signed: its
 * handler checks the signature over the request as received, and refuses a bad one with `signatureRefused`.
 * `session_or_internal` works on a project: with a session as `session` does, with the internal secret on the one that the
 * headers X-Tenant-Id and X-Project-Id name, both of which are required then. `user` is a session, too, of a member of
 * any tenants or of none: the headers are not read. With `kind: 'server'` a client key is refused with KEY_KIND_FORBIDDEN.
 */
export type Access =
  | { mode: 'public' }
  | { mode: 'webhook' }
  | { mode: 'internal' }
  | { mode: 'api_key'; rate: 'identify' | 'none'; kind?: 'server' }
  | { mode: 'session'; role: Needed; scope: 'tenant' | 'project'; named_in?: 'query' }
  | { mode: 'user' }
  | { mode: 'session_or_internal'; role: Needed };

/** The ids of a project. */
interface ProjectRef {
  tenant_id: string;
  project_id: string;
}

/** An admin session, with the project it works on. */
export interface ProjectSession extends SessionPrincipal {
  project_id: string;
}

/** A session of a project, or the internal secret: then `user_id` and `role` are null. */
export type SessionOrInternal = ProjectSession | (ProjectRef & { user_id: null; role: null });

/** A webhook request as received. Its content must not be trusted before its signature has been checked. */
export interface SignedRequest {
  /** Path and query, exactly as sent. */
  url: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** The caller that a handler receives for each kind of access. */
export type CallerOf<A extends Access> = A extends { mode: 'session'; scope: 'project' }
  ? ProjectSession
  : A extends { mode: 'session' }
    ? SessionPrincipal
    : A extends { mode: 'session_or_internal' }
      ? SessionOrInternal
      : A extends { mode: 'api_key' }
        ? ApiKeyPrincipal
        : A extends { mode: 'user' }
          ? UserPrincipal
          : A extends { mode: 'webhook' }
            ? SignedRequest
            : undefined;

/** One request, authorised and validated. `params` are the path parameters. */
export interface Call<Caller, Query, Body> {
  caller: Caller;
  params: Readonly<Record<string, string>>;
  query: Query;
  body: Body;
  headers: IncomingHttpHeaders;
  /** Writes a change of this call to the audit log, as the endpoint's `audit` declares. */
  audit: AuditChange;
  /** Sends the version of the answered record as its ETag; `image` is the record as the audit log shows it. */
  sendVersion: (image: RecordImage) => void;
  /** Makes a browser save the answer as a file of this name: ASCII letters, digits, `-` and `.`. */
  sendFileName: (name: string) => void;
  /** Who calls and what the endpoint declares, for changes that are written together with those of other calls. */
  audited: () => AuditedCall;
  /**
   * A signal for work that takes long: aborted when the client has left without an answer, or the server begins to close.
   * Call it before anything is awaited.
   */
  leaves: () => AbortSignal;
  /**
   * Checks once more that the caller still has the session and the role, for answers that last. Rejects with UNAUTHORIZED or
   * FORBIDDEN; takes nothing from the caller's rate.
   */
  recheck: () => Promise<void>;
}

declare const stored: unique symbol;

/** A response body that was stored together with its effect; only {@link Once} returns one. */
export type StoredBody = string & { readonly [stored]: true };

/**
 * Runs `work` like `postgres.asTenant`, once per Idempotency-Key. In one transaction, `work` writes its effect and
 * returns the whole response body as text, which is stored under the request's key. A later request with the same key
 * receives that text, and `work` does not run. When `work` rejects, the transaction is rolled back and no record is
 * stored, so that the request can be retried. Without a key it is the same as `asTenant`. Effects outside Postgres must
 * be idempotent.
 *
 * Rejects with IDEMPOTENCY_KEY_REUSED or IDEMPOTENCY_IN_PROGRESS. It may be called again only after it has rejected.
 */
export type Once = (tenant_id: string, work: (tx: Tx) => Promise<string>) => Promise<StoredBody>;

/** What the transactions of a request read and write under its Idempotency-Key. */
export interface AnswerKey {
  tenant_id: string;
  /** Method and declared path: the same key on another endpoint is another record. */
  route: string;
  key: string;
  request_hash: Buffer;
  /** The status of a success, which is stored with the response. */
  status: number;
  now_ms: number;
}

/** The final answer to an earlier request with the same key. */
export interface StoredAnswer {
  status: number;
  response: string;
}

/**
 * Work whose effect is outside of Postgres, so that no single transaction holds the effect and its record. The steps run
 * their transactions themselves, so that requests can share them; `claimKeys` and `storeAnswers` are to be called in them.
 */
export interface Saga<Intent, Outcome> {
  /**
   * Commits the intent, and with it the answer to repeated requests for the case that this process dies before it gives
   * another. Until a time that is stored with it, repeated requests get IDEMPOTENCY_IN_PROGRESS. `before`: the key has an
   * answer, and nothing was done. When it rejects, nothing must have been stored.
   */
  prepare: (key: AnswerKey | undefined) => Promise<{ intent: Intent } | { before: StoredAnswer }>;
  /** Outside of a transaction, with the committed intent. */
  execute: (intent: Intent) => Promise<Outcome>;
  /**
   * Commits the outcome, together with the answer, which is the response body or an error. Either is stored under the key.
   */
  settle: (key: AnswerKey | undefined, intent: Intent, outcome: Outcome) => Promise<string | ApiError>;
}

/**
 * As {@link Once}, for a {@link Saga}: each answer of `settle` is stored under the request's key and given again, errors with
 * their status, too. Without a key it runs the same way. Rejects with the error that `settle` has resolved with, too.
 */
export type RunSaga = <Intent, Outcome>(
  tenant_id: string,
  saga: Saga<Intent, Outcome>,
) => Promise<StoredBody>;

/**
 * The answer that is stored under the request's key; undefined when there is none, or no key. For handlers that ask
 * others before {@link Once} or {@link RunSaga}: a repeated request must not ask again, nor fail because what it asks is
 * gone since. Rejects with the stored error, IDEMPOTENCY_KEY_REUSED or IDEMPOTENCY_IN_PROGRESS.
 */
export type Replay = (tenant_id: string) => Promise<StoredBody | undefined>;

/** One request of an idempotent endpoint; the handler uses `once` or `runSaga`. */
export interface IdempotentCall<Caller, Query, Body> extends Call<Caller, Query, Body> {
  once: Once;
  runSaga: RunSaga;
  replay: Replay;
}

/** The declaration of one endpoint: access, inputs, response and handler. The OpenAPI document is made from it too. */
export interface Endpoint<A extends Access, Query, Body, Idempotent extends boolean> {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path, with `:name` for parameters. */
  path: string;
  summary: string;
  access: A;
  /** The schema of the query string. Absent: it is ignored. */
  query?: z.ZodType<Query>;
  /** The schema of the body, which is required unless the schema accepts undefined. Absent: it is ignored. */
  body?: z.ZodType<Body>;
  /**
   * Media types of bodies that are not parsed. The handler of a webhook receives the body; otherwise it is ignored.
   * Absent: the endpoint accepts JSON, which is parsed.
   */
  raw_types?: readonly string[];
  /** The longest body; absent: 128 KiB, and of webhooks and internal endpoints 1 MiB. */
  max_body_bytes?: number;
  /** Pages of other origins may call it with a client key, and its body may be compressed. */
  from_pages?: true;
  /** Runs on the body before the schema; it throws to refuse a body with a more specific error code. */
  refuse?: (body: unknown) => void;
  /** The status of a success; absent: 200. */
  status?: 200 | 201 | 202;
  /** The shape of `data`, for the documentation. */
  response: z.ZodType;
  /** `list` has `meta.next_cursor`; `raw` is not in the envelope. Absent: `data` only. */
  shape?: 'list' | 'raw';
  /** What the `meta` of a list has besides `next_cursor`. */
  meta?: z.ZodType;
  /** The Content-Type of a success. Absent: JSON. */
  content_type?: string;
  /** Further headers of a success. */
  headers?: Readonly<Record<string, string>>;
  /** The endpoint's own errors, in addition to those that its access, query and body imply. */
  errors?: readonly ErrorCode[];
  /**
   * Its answers carry the record's ETag, by `call.sendVersion`. A PATCH with If-Match is refused with PRECONDITION_FAILED
   * when the record that it records as changed is another version. Without the header nothing is checked.
   */
  versioned?: boolean;
  /** The audit rows of its changes. Required for sessions and the internal secret unless the method is GET. */
  audit?: AuditDeclaration;
  /**
   * How its requests are treated under load. `vital`: never refused, and any number at once. `slow`: they keep a
   * connection of the API for seconds, so very few at once. `elsewhere`: they take seconds, which they spend in
   * ClickHouse, at a provider, or in sessions for requests (`Postgres.requestSession`), of which the endpoint bounds the
   * share of each tenant; any number at once. `grouped`: they share transactions, and bound the connections that they hold;
   * a few more at once. Absent: a few at once. See `EndpointBulkhead`.
   */
  load?: 'vital' | 'slow' | 'grouped' | 'elsewhere';
  /** True: the endpoint accepts an Idempotency-Key header (spec part 1) and writes its effect in `call.once`. */
  idempotent?: Idempotent;
  /**
   * Returns the whole response body as text; an idempotent endpoint returns the result of `call.once`, `runSaga` or `replay`.
   * An endpoint whose `content_type` is `EVENT_STREAM` returns what writes the events, from then on. One that answers with a
   * file returns what the file is read from. One whose answer is the same for everybody returns it prepared, not as a
   * promise.
   */
  handle(
    call: Idempotent extends true ? IdempotentCall<CallerOf<A>, Query, Body> : Call<CallerOf<A>, Query, Body>,
  ): Idempotent extends true ? Promise<StoredBody> : Maybe<string | EventStream | Readable> | PreparedAnswer;
}

/** An endpoint of any access and inputs; only its own handler knows their types. */
export interface AnyEndpoint extends Endpoint<Access, unknown, unknown, boolean> {
  status: 200 | 201 | 202;
  errors: readonly ErrorCode[];
}

/** Declares an endpoint: the types of the handler's caller, query and body follow from `access`, `query` and `body`. */
export function endpoint<
  const A extends Access,
  Query = undefined,
  Body = undefined,
  const Idempotent extends boolean = false,
>(declared: Endpoint<A, Query, Body, Idempotent>): AnyEndpoint {
  // Sound because `register` passes each handler what its own declaration produced.
  return { status: 200, errors: [], ...declared };
}

/** The fields of an endpoint from which the documentation is made. */
export interface DocumentedEndpoint extends Pick<
  AnyEndpoint,
  'method' | 'path' | 'summary' | 'access' | 'response' | 'errors' | 'idempotent' | 'versioned'
> {
  status: 200 | 201 | 202;
  query?: z.ZodType;
  body?: z.ZodType;
  raw_types?: readonly string[];
  shape?: 'list' | 'raw';
  meta?: z.ZodType;
  content_type?: string;
  /** The host that serves the endpoint. Absent: the API host. */
  server?: 'ingestion';
  /** What an Idempotency-Key does that is any text of 1 to 256 characters, and not that of `idempotent`. */
  names_batch?: string;
}
