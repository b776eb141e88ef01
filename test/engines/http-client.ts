import type { FastifyInstance } from 'fastify';
import { request as send } from 'undici';
import type { TestService, TestTenant } from './service.ts';

/** Loose, because tests read arbitrary answers: a wrong path fails the assertion. */
export type Fields = Record<string, unknown> & { [index: number]: Record<string, unknown> };

/** The envelopes of the API in one. */
export interface Envelope<T = Fields> {
  data: T;
  meta: Fields & { next_cursor?: string | null };
  error: {
    code: string;
    message: string;
    details: Fields & { issues: { code: string; path: string; message: string }[] };
  };
}

/** An answer of the API. */
export interface Answer<T = Fields> {
  status: number;
  headers: Headers;
  text: string;
  /** The whole text, parsed; empty when it is not JSON. */
  body: Envelope<T>;
  data: T;
  meta: Envelope['meta'];
  error: Envelope['error'];
  /** The code of the error, if there is one. */
  code: string | undefined;
  next_cursor: string | null;
}

/** A request to the API. */
export interface Call {
  /** By default POST with a body, and GET without one. */
  method?: string;
  body?: unknown;
  /** Sent unchanged, instead of `body`. */
  raw?: string | Uint8Array;
  /** What is undefined is left out. */
  headers?: Record<string, string | undefined>;
}

/** Calls a host of a service over HTTP, with a session or an API key if there is one. */
export async function call<T = Fields>(
  url: string,
  token: string | undefined,
  request: Call = {},
): Promise<Answer<T>> {
  const { method, headers, payload } = sentOf(token, request);
  // Not `fetch`, whose streams take five times as much CPU time.
  const response = await send(url, { method: method as 'GET', headers, body: payload ?? null });
  return answerOf(response.statusCode, headersOf(response.headers), await response.body.text());
}

/** Calls an app without a socket. */
export async function callApp<T = Fields>(
  app: FastifyInstance,
  path: string,
  token: string | undefined,
  request: Call = {},
): Promise<Answer<T>> {
  const { method, headers, payload } = sentOf(token, request);
  const response = await app.inject({
    method: method as 'GET',
    url: path,
    headers,
    ...(payload === undefined
      ? {}
      : { payload: typeof payload === 'string' ? payload : Buffer.from(payload) }),
  });
  return answerOf(response.statusCode, headersOf(response.headers), response.body);
}

function headersOf(received: Record<string, string | string[] | number | undefined>): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(received)) {
    for (const one of [value ?? []].flat()) headers.append(name, String(one));
  }
  return headers;
}

/** Sends events of a tenant in one batch. */
export function sendBatch<T = Fields>(
  { ingest_url }: Pick<TestService, 'ingest_url'>,
  { api_key }: Pick<TestTenant, 'api_key'>,
  events: readonly object[],
): Promise<Answer<T>> {
  return call(`${ingest_url}/v1/events/batch`, api_key, { body: { events } });
}

/** Calls an internal endpoint; `path` is what comes after /v1/internal/. */
export function internally<T = Fields>(
  { base_url, internal_secret }: Pick<TestService, 'base_url' | 'internal_secret'>,
  path: string,
  body?: object,
): Promise<Answer<T>> {
  const headers = { 'x-internal-secret': internal_secret };
  return call(`${base_url}/v1/internal/${path}`, undefined, { headers, body });
}

function sentOf(token: string | undefined, { method, body, raw, headers = {} }: Call) {
  const payload = raw ?? (body === undefined ? undefined : JSON.stringify(body));
  const all = {
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
    ...headers,
  };
  const given = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return {
    method: method ?? (payload === undefined ? 'GET' : 'POST'),
    headers: Object.fromEntries(given),
    payload,
  };
}

function answerOf<T>(status: number, headers: Headers, text: string): Answer<T> {
  const is_json = headers.get('content-type')?.startsWith('application/json') === true;
  const body = (is_json ? JSON.parse(text) : {}) as Envelope<T>;
  const { error, meta } = body as Partial<Envelope<T>>;
  return {
    status,
    headers,
    text,
    body,
    data: body.data,
    meta: body.meta,
    error: body.error,
    code: error?.code,
    next_cursor: meta?.next_cursor ?? null,
  };
}
