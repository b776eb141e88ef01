import { createClient } from '@clickhouse/client';
import { wrapClient } from './client.ts';
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
    }),
  );
}
