import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { Agent, request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import fastify from 'fastify';
import { expect, it } from 'vitest';
import { closerOf } from '../../src/http/close-server.ts';
import { serverOptions } from '../../src/http/server-options.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { until } from '../engines/until.ts';

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
  const close = closerOf(app);
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  // A client that keeps its connection open after the request.
  const agent = new Agent({ keepAlive: true });
  const asked = request(url, { agent }).end();
  const answered = once(asked, 'response') as Promise<[IncomingMessage]>;
  await arrived;
  const closed = close();
  expect(await Promise.race([closed.then(() => 'closed'), sleep(200).then(() => 'open')])).toBe('open');
  answer?.('late');
  const [response] = await answered;
  expect([response.statusCode, await text(response)]).toEqual([200, 'late']);
  expect(await Promise.race([closed.then(() => 'closed'), sleep(10_000).then(() => 'open')])).toBe('closed');
  agent.destroy();
});

it.each(['', 'GET / HTTP/1.1\r\nhost: '])(
  'closing does not wait for a connection that has sent only %j',
  async (sent) => {
    const app = fastify(serverOptions(createLogger('silent')));
    const close = closerOf(app);
    await app.listen({ port: 0, host: '127.0.0.1' });
    const { port } = app.server.address() as AddressInfo;
    const client = connect(port, '127.0.0.1').on('error', () => undefined);
    const [socket] = (await once(app.server, 'connection')) as [Socket];
    if (sent !== '') {
      client.write(sent);
      await until((saw) => saw(socket.bytesRead) === sent.length);
    }
    const closed = close();
    expect(await Promise.race([closed.then(() => 'closed'), sleep(10_000).then(() => 'open')])).toBe(
      'closed',
    );
    client.destroy();
  },
);
