import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { createClient } from '../../clients/js/src/server.ts';
import { keyClientOf } from '../../src/http/auth/key-clients.ts';

it('the service knows the SDK of a backend by its User-Agent', async () => {
  const seen: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    seen.push(request.headers['user-agent']);
    response.writeHead(202, { 'content-type': 'application/json' });
    response.end('{"data":{"accepted":1,"rejected":[]}}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = createClient({ key: 'key', ingest_url: address, base_url: address });
  await client.track({ event: 'login', anonymous_id: 'visitor' });
  await client.close();
  server.closeAllConnections();
  server.close();
  expect(seen.map((user_agent) => keyClientOf({ user_agent }))).toEqual(['sdk']);
});
