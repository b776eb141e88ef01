import { createClient } from '@clickhouse/client';
import { wrapClient } from './client.ts';
import type { ClickHouseAccess } from './migrate.ts';
import type { ClickHouse } from './port.ts';

/**
 * What a statement may take on the server where it does not say itself; none says more. The client waits longer, so that
 * it hears what became of it: the server looks at the time between two blocks of rows.
 */
const STATEMENT_LIMIT_S = 60;
const REWRITE_LIMIT_S = 600;
const GRACE_S = 30;
/**
 * A server that has nothing to answer yet says so in a header, or what lies between may close the connection for idle.
 * Not oftener: Node takes 16 KiB of headers, and a rewrite gets one of 200 bytes for each of these.
 */
const PROGRESS_INTERVAL_MS = 20_000;
const MAX_CONNECTIONS = 10;
/** Below ClickHouse's default keep-alive of 3 s, or the server closes a socket that is about to be used. */
const IDLE_SOCKET_TTL_MS = 2_000;

/** How long statements and rewrites may run, and how often the server says that they do. */
export interface Patience {
  statement_limit_s?: number;
  rewrite_limit_s?: number;
  grace_s?: number;
  progress_interval_ms?: number;
}

/** A ClickHouse server; `url` carries user, password and database. */
export function connectClickHouse(
  url: string,
  {
    statement_limit_s = STATEMENT_LIMIT_S,
    rewrite_limit_s = REWRITE_LIMIT_S,
    grace_s = GRACE_S,
    progress_interval_ms = PROGRESS_INTERVAL_MS,
  }: Patience = {},
): ClickHouse {
  const rewrite_deadline_ms = (rewrite_limit_s + grace_s) * 1_000;
  const client = createClient({
    url,
    // Of a connection on which nothing happens. Statements have deadlines of their own.
    request_timeout: rewrite_deadline_ms,
    max_open_connections: MAX_CONNECTIONS,
    keep_alive: { enabled: true, idle_socket_ttl: IDLE_SOCKET_TTL_MS },
    // Parameters go in the URL, which has no room for thousands of ids: over 4 KiB of them go in the body.
    use_multipart_params_auto: true,
    clickhouse_settings: {
      max_execution_time: statement_limit_s,
      send_progress_in_http_headers: 1,
      http_headers_progress_interval_ms: String(progress_interval_ms),
      // A question that nobody waits for any more.
      cancel_http_readonly_queries_on_client_close: 1,
    },
  });
  return wrapClient(client, {
    database: new URL(url).pathname.slice(1) || 'default',
    statement_deadline_ms: (statement_limit_s + grace_s) * 1_000,
    rewrite_limit_s,
    rewrite_deadline_ms,
  });
}

/** User and password of a server's `url`; undefined where it has neither, and ClickHouse takes the user `default`. */
export function accessOf(url: string): ClickHouseAccess | undefined {
  const { username, password } = new URL(url);
  if (username === '' && password === '') return undefined;
  return { user: decodeURIComponent(username) || 'default', password: decodeURIComponent(password) };
}
