import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serve } from '../child.ts';

const ANSWER = '{"data":{"accepted":true}}';

// The minimum that a server does with an event: read the body, parse it, answer 202. No log, no checks.
const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    JSON.parse(Buffer.concat(chunks).toString());
    response.writeHead(202, { 'content-type': 'application/json', 'content-length': ANSWER.length });
    response.end(ANSWER);
  });
});
server.listen(0, '127.0.0.1', () => {
  serve((server.address() as AddressInfo).port, {}, async () => {
    server.close();
    server.closeAllConnections();
  });
});
