import type { Surroundings } from './sender.ts';

const TIMEOUT_MS = 10_000;

interface Target {
  key: string;
  /** The ingestion host, and the API host. */
  ingest_url: string;
  base_url: string | undefined;
  /** Requests of up to so many bytes outlive their page. */
  keepalive_bytes?: number;
  /** The program that sends, for a backend: a page cannot say it without a preflight. */
  user_agent?: string;
}

/** Throws without the address of the API host. */
export function needApiHost(base_url: string | undefined): void {
  if (base_url === undefined)
    throw new TypeError('identify needs base_url, the API host: the ingestion host takes events only');
}

/** Sends requests by `fetch`. An answer that takes over 10 s is none. */
export function transportTo({
  key,
  ingest_url,
  base_url,
  keepalive_bytes = 0,
  user_agent,
}: Target): Surroundings['post'] {
  return async ({ kind, body, key: batch, signal }) => {
    const is_event = kind === 'event';
    // Left by a page that knew the host.
    if (!is_event && base_url === undefined)
      return { status: 400, body: '{"error":{"code":"BASE_URL_MISSING"}}' };
    const url = is_event ? `${ingest_url}/v1/events/batch` : `${base_url}/v1/players/identify`;
    const answer = await fetch(url, {
      method: 'POST',
      body,
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        ...(is_event ? { 'idempotency-key': batch } : {}),
        ...(user_agent === undefined ? {} : { 'user-agent': user_agent }),
      },
      credentials: 'omit',
      // A bearer token must not follow a redirection, and no page of a proxy is an answer.
      redirect: 'error',
      keepalive: new Blob([body]).size <= keepalive_bytes,
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    return {
      status: answer.status,
      retry_after: answer.headers.get('retry-after'),
      date: answer.headers.get('date'),
      body: await answer.text(),
    };
  };
}
