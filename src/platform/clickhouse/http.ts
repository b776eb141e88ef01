import { createClient } from '@clickhouse/client';
import { wrapClient } from './client.ts';
import type { ClickHouseAccess } from './migrate.ts';
import type { ClickHouse } from './port.ts';

const REQUEST_TIMEOUT_MS = 60_000;
const MAX_CONNECTIONS = 10;
/** Below ClickHouse's default keep-alive of 3 s, or the server closes a socket that is about to be used. */
const IDLE_SOCKET_TTL_MS = 2_000;

/** A ClickHouse server; `url` carries user, password and database. */
export function connectClickHouse(url: string): ClickHouse {
  return wrapClient(
    createClient({
      url,
      request_timeout: REQUEST_TIMEOUT_MS,
      max_open_connections: MAX_CONNECTIONS,
      keep_alive: { enabled: true, idle_socket_ttl: IDLE_SOCKET_TTL_MS },
      // Parameters go in the URL, which has no room for thousands of ids: over 4 KiB of them go in the body.
      use_multipart_params_auto: true,
    }),
  );
}

/** User and password of a server's `url`; undefined where it has neither, and ClickHouse takes the user `default`. */
export function accessOf(url: string): ClickHouseAccess | undefined {
  const { username, password } = new URL(url);
  if (username === '' && password === '') return undefined;
  return { user: decodeURIComponent(username) || 'default', password: decodeURIComponent(password) };
}
