import { ApiError, InvalidIdError } from './errors.ts';
import { parseExactly, withBigints } from './json.ts';
import { writeExactly } from './write.ts';

/** The project that calls are about; without one, the session's only tenant and that tenant's oldest project. */
export interface ProjectRef {
  tenant_id?: string;
  project_id?: string;
}

type Headers = Readonly<Record<string, string>>;

/** How a client calls the service. */
export interface ClientOptions {
  /** Of the API host; default: the origin of the page. */
  base_url?: string;
  /** Of the ingestion host, which takes events; default: `base_url`. */
  ingest_url?: string;
  /** The bearer token: a session or an API key. */
  token?: string | (() => string | Promise<string>);
  /** Further headers of each request: `{'x-console': '1'}` with the cookie of the console, or the internal secret. */
  headers?: () => Headers | Promise<Headers>;
  project?: ProjectRef;
  /** How long to wait for an answer, in milliseconds; default: 30,000. */
  timeout_ms?: number;
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

/** What one call may have in addition to its input. */
export interface CallOptions {
  signal?: AbortSignal | undefined;
  timeout_ms?: number | undefined;
  /** See `actionKey`. Only operations that document the header take it. */
  idempotency_key?: string | undefined;
  /** The version of the record that a change was made from: `etag` of the answer that had it. */
  if_match?: string | undefined;
  project?: ProjectRef | undefined;
  headers?: Headers | undefined;
  /** Query parameters of an operation that has a body, too. */
  query?: Query | undefined;
  /** Called with what an answer says in addition to its data. */
  onAnswer?: ((about: AnswerAbout) => void) | undefined;
}

/** What an answer says in addition to its data. */
export interface AnswerAbout {
  status: number;
  etag: string | undefined;
  request_id: string | undefined;
  /** Whether it is the answer to an earlier request with the same Idempotency-Key. */
  is_replayed: boolean;
}

/** One page of a list; `next_cursor` is null on the last. */
export interface Page<T> {
  data: T[];
  next_cursor: string | null;
}

type Query = Readonly<Record<string, string | number | bigint | boolean | undefined>>;

/** An operation as the generated table has it. */
export interface Operation {
  method: string;
  /** With `{name}` for parameters. */
  path: string;
  /** `b` has a body, `q` a query; `l` a page; `t` text, `r` JSON without envelope; `i` the ingestion host; `p` of a project. */
  flags: string;
  /** See `withBigints`; relative to `data`. */
  int64: readonly string[];
}

interface Envelope {
  data?: unknown;
  meta?: Readonly<Record<string, unknown>> & { next_cursor?: string | null };
  error?: { code?: string; message?: string; details?: Record<string, unknown> };
}

const TIMEOUT_MS = 30_000;
const SHOWN = 100;

/**
 * Calls one operation: `args` are its path parameters, its body or query if it has one, and {@link CallOptions}. Resolves
 * with the data; a list with a {@link Page}. Rejects with {@link ApiError}, with
 * {@link InvalidIdError} before anything is asked, or with the reason of `signal`.
 */
export async function call(
  client: ClientOptions,
  operation: Operation,
  args: readonly unknown[],
): Promise<unknown> {
  const { path, flags } = operation;
  const names = path.match(/\{\w+\}/g) ?? [];
  const hasInput = /[bq]/.test(flags);
  const input = hasInput ? args[names.length] : undefined;
  const options = (args[names.length + Number(hasInput)] ?? {}) as CallOptions;
  const hasBody = flags.includes('b');
  const host = (flags.includes('i') ? client.ingest_url : undefined) ?? client.base_url ?? '';
  const query = (hasBody ? options.query : (input as Query | undefined)) ?? {};
  const url = `${host}${filled(path, args)}${queryOf(query)}`;
  const body = hasBody ? input : undefined;
  const headers = await headersOf(client, operation, body, options);
  const { status, ok, head, text } = await send(client, options, url, {
    method: operation.method,
    headers,
    // A bearer token must not follow a redirection, and no page of a proxy is an answer.
    redirect: 'error',
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : writeExactly(body) }),
  });
  const result = read(operation, { status, ok, head, text });
  options.onAnswer?.({
    status,
    etag: head('etag'),
    request_id: head('x-request-id'),
    is_replayed: head('idempotent-replayed') === 'true',
  });
  return result;
}

function filled(path: string, args: readonly unknown[]): string {
  let next = 0;
  return path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => {
    const value = args[next++];
    // `.` and `..` are not escaped and would lead to another path.
    if (typeof value !== 'string' || /^\.{0,2}$/.test(value)) {
      throw new InvalidIdError(`${name} must be the id of a record, not ${JSON.stringify(value)}`);
    }
    return encodeURIComponent(value);
  });
}

function queryOf(query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.append(name, String(value));
  }
  const text = parameters.toString();
  return text === '' ? '' : `?${text}`;
}

async function headersOf(
  client: ClientOptions,
  { flags }: Operation,
  body: unknown,
  options: CallOptions,
): Promise<Record<string, string>> {
  const { token } = client;
  const bearer = typeof token === 'function' ? await token() : token;
  const { tenant_id, project_id } = options.project ?? client.project ?? {};
  const found = {
    accept: flags.includes('t') ? '*/*' : 'application/json',
    'content-type': body === undefined ? undefined : 'application/json',
    authorization: bearer === undefined ? undefined : `Bearer ${bearer}`,
    'x-tenant-id': /[ps]/.test(flags) ? tenant_id : undefined,
    'x-project-id': flags.includes('p') ? project_id : undefined,
    'idempotency-key': options.idempotency_key,
    'if-match': options.if_match,
    ...(await client.headers?.()),
    ...options.headers,
  };
  const given = Object.entries(found).filter((one): one is [string, string] => one[1] !== undefined);
  return Object.fromEntries(given);
}

interface Received {
  status: number;
  ok: boolean;
  head: (name: string) => string | undefined;
  text: string;
}

async function send(
  client: ClientOptions,
  options: CallOptions,
  url: string,
  init: RequestInit,
): Promise<Received> {
  const { signal } = options;
  const timeout_ms = options.timeout_ms ?? client.timeout_ms ?? TIMEOUT_MS;
  const limit = AbortSignal.timeout(timeout_ms);
  try {
    const response = await (client.fetch ?? fetch)(url, {
      ...init,
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
    });
    const text = await response.text();
    const head = (name: string) => response.headers.get(name) ?? undefined;
    return { status: response.status, ok: response.ok, head, text };
  } catch (cause) {
    if (signal?.aborted === true) throw signal.reason;
    if (limit.aborted) {
      throw new ApiError('TIMED_OUT', `no answer within ${timeout_ms} ms`, { status: 0, cause });
    }
    throw new ApiError('UNREACHABLE', 'the service cannot be reached', { status: 0, cause });
  }
}

function read({ flags, int64 }: Operation, { status, ok, head, text }: Received): unknown {
  if (ok && flags.includes('t')) return text;
  const seconds = Number(head('retry-after') ?? Number.NaN);
  const rest = {
    status,
    request_id: head('x-request-id'),
    retry_after_s: Number.isFinite(seconds) ? seconds : undefined,
  };
  const unreadable = (what: string, cause?: unknown) =>
    new ApiError('ANSWER_UNREADABLE', `the answer (status ${status}) ${what}: ${text.slice(0, SHOWN)}`, {
      ...rest,
      cause,
    });
  let parsed: unknown;
  try {
    parsed = parseExactly(text);
  } catch (cause) {
    throw unreadable('is not JSON', cause);
  }
  const { data, meta, error } = (typeof parsed === 'object' && parsed !== null ? parsed : {}) as Envelope;
  if (!ok) {
    if (typeof error?.code !== 'string') throw unreadable('has no error');
    throw new ApiError(error.code, error.message ?? error.code, { ...rest, details: error.details });
  }
  if (flags.includes('r')) return withBigints(parsed, int64);
  if (data === undefined) throw unreadable('has no data');
  const exact = withBigints(data, int64);
  if (!flags.includes('l')) return exact;
  if (!Array.isArray(exact)) throw unreadable('is no list');
  return {
    ...meta,
    data: exact as unknown[],
    next_cursor: meta?.next_cursor ?? null,
  } satisfies Page<unknown>;
}
