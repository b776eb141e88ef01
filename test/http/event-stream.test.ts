import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { afterEach, expect, it, vi } from 'vitest';
import { openEventStream, type EventStream } from '../../src/http/event-stream.ts';
import { until } from '../engines/until.ts';

let server: Server | undefined;
afterEach(() => {
  vi.useRealTimers();
  server?.closeAllConnections();
  server?.close();
});

/** Serves the stream to whoever asks, and returns its port. */
async function serve(stream: EventStream, closing?: AbortSignal): Promise<number> {
  server = createServer((_request, response) => {
    openEventStream(response, stream, { request_id: '00000000-0000-4000-8000-0000000000ff', closing });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

it('a client that takes nothing for 5 s is cut off, and nothing is kept for it meanwhile', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const seen = { refused: 0, is_stopped: false };
  const port = await serve(({ send }) => {
    const data = JSON.stringify('x'.repeat(1_000_000));
    const timer = setInterval(() => {
      if (!send({ data })) seen.refused++;
    }, 5);
    return () => {
      seen.is_stopped = true;
      clearInterval(timer);
    };
  });
  const client = connect(port, '127.0.0.1').on('error', () => undefined);
  client.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  client.pause();
  while (seen.refused === 0) await setImmediate();
  vi.advanceTimersByTime(4_999);
  const more = seen.refused + 10;
  while (seen.refused < more) await setImmediate();
  expect(seen.is_stopped).toBe(false);
  vi.advanceTimersByTime(1);
  while (!seen.is_stopped) await setImmediate();
  client.destroy();
});

it('a client that takes what was written is told the rest', async () => {
  let sent = 0;
  const port = await serve(({ send, end }) => {
    const timer = setInterval(() => {
      if (sent < 20 && send({ event: 'part', id: String(sent), data: JSON.stringify('x'.repeat(500_000)) }))
        sent++;
      if (sent === 20) end();
    }, 1);
    return () => clearInterval(timer);
  });
  const text = await (await fetch(`http://127.0.0.1:${port}`)).text();
  expect(text.match(/^event: part\nid: \d+\ndata: "x{500000}"$/gm)).toHaveLength(20);
  expect(text).toMatch(/\nretry: \d{4}\n\n$/);
});

it('ends when the server begins to close, also when it began before', async () => {
  const closing = new AbortController();
  let stops = 0;
  const port = await serve(() => () => void stops++, closing.signal);
  const first = await fetch(`http://127.0.0.1:${port}`);
  closing.abort();
  expect(await first.text()).toMatch(/^: open\n\nretry: \d{4}\n\n$/);
  expect(await (await fetch(`http://127.0.0.1:${port}`)).text()).toMatch(/^: open\n\nretry: \d{4}\n\n$/);
  await until((saw) => saw(stops) === 2);
});
