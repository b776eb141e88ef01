import { ApiError } from './errors.ts';
import { parseExactly, writeExactly } from './json.ts';

/** The project that a request is about. */
export interface ProjectRef {
  tenant_id: string;
  project_id: string;
}

export type QueryValues = Readonly<Record<string, string | number | boolean | undefined>>;

/** One request of the API; `path` with its ids filled in. */
export interface ApiRequest {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  query?: QueryValues | undefined;
  body?: unknown;
  project?: ProjectRef | undefined;
  /** For requests that act: the same key for each attempt of one action. */
  idempotency_key?: string | undefined;
  /** The version of the record that the change was made from. */
  if_match?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** A success: the data of the envelope, the cursor of the next page, and the version of the record. */
export interface Answer<T> {
  data: T;
  next_cursor: string | null;
  etag: string | undefined;
  request_id: string | undefined;
}

const TIMEOUT_MS = 30_000;

/** Sends a request of this page to its own service. Rejects with {@link ApiError}, or with the reason of `signal`. */
export async function call<T>(request: ApiRequest): Promise<Answer<T>> {
  const { method = 'GET', body, signal } = request;
  const limit = AbortSignal.timeout(TIMEOUT_MS);
  let response: Response;
  let text: string;
  try {
    response = await fetch(urlOf(request), {
      method,
      headers: headersOf(request),
      body: body === undefined ? null : writeExactly(body),
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
    });
    text = await response.text();
  } catch (cause) {
    if (signal?.aborted === true) throw cause;
    const [code, message] = limit.aborted
      ? ['TIMED_OUT', `no answer within ${TIMEOUT_MS / 1_000} seconds`]
      : ['UNREACHABLE', 'the service cannot be reached'];
    throw new ApiError(code, message, { status: 0, cause });
  }
  return answerOf<T>(response, text);
}

function urlOf({ path, query = {} }: ApiRequest): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const parameters = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return parameters.size === 0 ? path : `${path}?${parameters}`;
}

function headersOf({ body, project, idempotency_key, if_match }: ApiRequest): Record<string, string> {
  return {
    accept: 'application/json',
    'x-console': '1',
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(project === undefined
      ? {}
      : { 'x-tenant-id': project.tenant_id, 'x-project-id': project.project_id }),
    ...(idempotency_key === undefined ? {} : { 'idempotency-key': idempotency_key }),
    ...(if_match === undefined ? {} : { 'if-match': if_match }),
  };
}

interface Envelope {
  data?: unknown;
  meta?: { next_cursor?: string | null };
  error?: { code?: string; message?: string; details?: Record<string, unknown> };
}

function answerOf<T>(response: Response, text: string): Answer<T> {
  const { status, headers } = response;
  const request_id = headers.get('x-request-id') ?? undefined;
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  const rest = { status, request_id, retry_after_s: Number.isFinite(seconds) ? seconds : undefined };
  let parsed: Envelope | null;
  try {
    parsed = parseExactly(text) as Envelope | null;
  } catch (cause) {
    const message = `the answer (status ${status}) is not JSON: ${text.slice(0, 100)}`;
    throw new ApiError('ANSWER_UNREADABLE', message, { ...rest, cause });
  }
  if (response.ok && parsed !== null && typeof parsed === 'object' && 'data' in parsed) {
    const etag = headers.get('etag') ?? undefined;
    return { data: parsed.data as T, next_cursor: parsed.meta?.next_cursor ?? null, etag, request_id };
  }
  const { code, message, details } = parsed?.error ?? {};
  if (code === undefined) {
    throw new ApiError('ANSWER_UNREADABLE', `the answer (status ${status}) has no data and no error`, rest);
  }
  throw new ApiError(code, message ?? code, { ...rest, details });
}
