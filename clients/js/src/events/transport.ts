import type { Surroundings } from './sender.ts';

const TIMEOUT_MS = 10_000;

interface Target {
  key: string;
  /** The ingestion host, and the API host. */
  ingest_url: string;
  base_url: string;
  /** Requests of up to so many bytes outlive their page. */
  keepalive_bytes?: number;
}

/** Sends requests by `fetch`. An answer that takes over 10 s is none. */
export function transportTo({
  key,
  ingest_url,
  base_url,
  keepalive_bytes = 0,
}: Target): Surroundings['post'] {
  return async ({ kind, body, key: batch, signal }) => {
    const is_event = kind === 'event';
    const url = is_event ? `${ingest_url}/v1/events/batch` : `${base_url}/v1/players/identify`;
    const answer = await fetch(url, {
      method: 'POST',
      body,
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        ...(is_event ? { 'idempotency-key': batch } : {}),
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
      body: await answer.text(),
    };
  };
}
