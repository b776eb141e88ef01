import { connect } from 'node:net';

/** The bytes of a request, encoded once and sent many times. */
export function rawRequest(
  method: string,
  path: string,
  headers: Record<string, string>,
  body: string | Buffer = '',
): Buffer {
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: 127.0.0.1', 'Connection: keep-alive'];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  if (body !== '') lines.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`);
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), Buffer.from(body)]);
}

/**
 * Sends `total` requests over `connections` keep-alive connections, one at a time on each, and takes them in turn from
 * `requests`. Rejects on the first answer with another status than `status`, because errors must not be measured.
 */
export async function load(
  port: number,
  requests: readonly Buffer[],
  options: { connections: number; total: number; status: number },
): Promise<void> {
  const { connections, total, status } = options;
  let sent = 0;
  const expected = `HTTP/1.1 ${status}`;
  const next = () => (sent < total ? requests[sent++ % requests.length] : undefined);
  await Promise.all(Array.from({ length: connections }, () => oneConnection(port, next, expected)));
}

function oneConnection(port: number, next: () => Buffer | undefined, expected: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let received = '';
    const send = () => {
      const request = next();
      if (request === undefined) socket.end(() => resolve());
      else socket.write(request);
    };
    socket.setNoDelay(true);
    socket.on('connect', send);
    socket.on('error', reject);
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      if (!isWhole(received)) return;
      if (!received.startsWith(expected)) {
        socket.destroy();
        reject(new Error(`unexpected answer: ${received.slice(0, 400)}`));
        return;
      }
      received = '';
      send();
    });
  });
}

/** Whether the whole answer was received, by its Content-Length. */
function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return false;
  const length = /content-length: (\d+)/i.exec(text);
  return length !== null && text.length >= end + 4 + Number(length[1]);
}
