import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TOPICS } from '../../src/platform/event-log/topics.ts';
import { startTestService } from '../../test/engines/service.ts';
import { serve } from '../child.ts';
import { openBenchPlatform } from '../platform.ts';

const ANSWER = '{"data":{"accepted":100}}';

// A batch server without checks: it parses the body and appends the same events to the same log with the same client.
const service = await startTestService({ roles: new Set(['api', 'intake']) }, openBenchPlatform);
const { eventLog } = service.platform;

interface Batch {
  events: { anonymous_id: string }[];
}

async function append(body: string, response: ServerResponse): Promise<void> {
  const { events } = JSON.parse(body) as Batch;
  const records = events.map((event) => ({ key: event.anonymous_id, value: JSON.stringify(event) }));
  await eventLog.append(TOPICS.events, records);
  response.writeHead(202, { 'content-type': 'application/json', 'content-length': ANSWER.length });
  response.end(ANSWER);
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => void append(Buffer.concat(chunks).toString(), response));
});
server.listen(0, '127.0.0.1', () => {
  serve((server.address() as AddressInfo).port, {}, async () => {
    server.close();
    server.closeAllConnections();
    await service.close();
  });
});
