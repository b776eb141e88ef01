import { createClient } from '@clickhouse/client';
import { wrapClient } from './client.ts';
import type { ClickHouseAccess } from './migrate.ts';
import type { ClickHouse } from './port.ts';

/** How long a statement may run on the server, unless it sets its own limit; only rewrites set a higher one. */
const STATEMENT_LIMIT_S = 60;
/** How long a rewrite may run on the server. */
const REWRITE_LIMIT_S = 600;
/**
 * The client waits this much longer than the limit, so that it receives the server's error: the server checks the time
 * only between two blocks of rows.
 */
const GRACE_S = 30;
/**
 * A server without rows to send yet sends a progress header at this interval; otherwise a proxy may close the idle
 * connection. It must not be shorter: Node accepts 16 KiB of headers, and a rewrite receives 200 bytes per interval.
 */
const PROGRESS_INTERVAL_MS = 20_000;
const MAX_CONNECTIONS = 10;
/** Below ClickHouse's default keep-alive of 3 s, or the server closes a socket that is about to be used. */
const IDLE_SOCKET_TTL_MS = 2_000;

/** How long statements and rewrites may run, and how often the server reports progress. Absent: the defaults above. */
export interface Patience {
  statement_limit_s?: number;
  rewrite_limit_s?: number;
  grace_s?: number;
  progress_interval_ms?: number;
}

/** A client of a ClickHouse server; `url` contains user, password and database. */
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
    // The client's limit for an idle connection. Statements have deadlines of their own.
    request_timeout: rewrite_deadline_ms,
    max_open_connections: MAX_CONNECTIONS,
    keep_alive: { enabled: true, idle_socket_ttl: IDLE_SOCKET_TTL_MS },
    // Parameters of queries over 4 KiB are sent in the body; those of commands are always in the URL.
    use_multipart_params_auto: true,
    clickhouse_settings: {
      max_execution_time: statement_limit_s,
      send_progress_in_http_headers: 1,
      http_headers_progress_interval_ms: String(progress_interval_ms),
      // Cancels a query whose caller has closed the connection.
      cancel_http_readonly_queries_on_client_close: 1,
    },
  });
  return wrapClient(client, {
    max_questions: MAX_CONNECTIONS,
    database: new URL(url).pathname.slice(1) || 'default',
    statement_deadline_ms: (statement_limit_s + grace_s) * 1_000,
    rewrite_limit_s,
    rewrite_deadline_ms,
  });
}

/** User and password of a server's `url`; undefined if it has neither, so that ClickHouse uses the user `default`. */
export function accessOf(url: string): ClickHouseAccess | undefined {
  const { username, password } = new URL(url);
  if (username === '' && password === '') return undefined;
  return { user: decodeURIComponent(username) || 'default', password: decodeURIComponent(password) };
}
