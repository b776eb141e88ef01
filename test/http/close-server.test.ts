import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import fastify from 'fastify';
import { expect, it } from 'vitest';
import { closeServer } from '../../src/http/close-server.ts';
import { serverOptions } from '../../src/http/server-options.ts';
import { createLogger } from '../../src/platform/logger.ts';

it('closing waits for the answer to a request under way, then ends its kept-alive connection', async () => {
  const app = fastify(serverOptions(createLogger('silent')));
  let answer: ((body: string) => void) | undefined;
  const body = new Promise<string>((resolve) => (answer = resolve));
  const arrived = new Promise<void>((resolve) => {
    app.get('/', () => {
      resolve();
      return body;
    });
  });
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  // A client that keeps its connection open after the request.
  const agent = new Agent({ keepAlive: true });
  const asked = request(url, { agent }).end();
  const answered = once(asked, 'response') as Promise<[IncomingMessage]>;
  await arrived;
  const closed = closeServer(app);
  expect(await Promise.race([closed.then(() => 'closed'), sleep(200).then(() => 'open')])).toBe('open');
  answer?.('late');
  const [response] = await answered;
  expect([response.statusCode, await text(response)]).toEqual([200, 'late']);
  expect(await Promise.race([closed.then(() => 'closed'), sleep(10_000).then(() => 'open')])).toBe('closed');
  agent.destroy();
});
