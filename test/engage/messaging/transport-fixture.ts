import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach } from 'vitest';
import { LOOPBACK_NETWORKS } from '../../../src/platform/egress/addresses.ts';
import { Egress } from '../../../src/platform/egress/egress.ts';
import type { Message, Transport } from '../../../src/engage/providers/message.ts';

export const SEND_ID = '018f0000-0000-7000-8000-000000000001';
export const PROVIDER_ID = '018f0000-0000-7000-8000-000000000002';
export const TENANT_ID = '018f0000-0000-7000-8000-000000000003';
export const NOW_MS = Date.UTC(2026, 0, 1);
export const clock = { now_ms: () => NOW_MS };

/** The guard of a service that listens on loopback: the servers of the tests are there. */
export const egress = new Egress({ allow: LOOPBACK_NETWORKS });

export const MESSAGE: Message = {
  channel: 'email',
  recipient: 'ann@example.com',
  subject: 'Grüße, Ann',
  preheader: 'Look &amp; see',
  body: '<html><body class="x"><p>Hello</p></body></html>',
  text: 'Hello',
  data: {},
  headers: {
    'List-Unsubscribe': `<http://localhost:3000/v1/unsubscribe?token=${'t'.repeat(300)}>`,
    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
  },
  send_id: SEND_ID,
};

/** Closers of everything the running test has opened; called after the test, clients before their servers, which wait for them. */
export const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of cleanUps.splice(0).reverse()) await close();
});

interface Seen {
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
}

/** A provider on a socket that answers with `answer`. */
export async function serve(
  answer: (response: ServerResponse, seen: Seen, request: IncomingMessage) => void,
) {
  const seen: Seen[] = [];
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const one = {
        path: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
      };
      seen.push(one);
      answer(response, one, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUps.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

export const reply = (status: number, body = '', headers: Record<string, string> = {}) => {
  return (response: ServerResponse) => {
    response.writeHead(status, headers);
    response.end(body);
  };
};

export function opened<T extends Transport>(transport: T): T {
  cleanUps.push(() => transport.close());
  return transport;
}

/** A certificate for the name, signed by itself. */
export async function certificateFor(name: string): Promise<{ key: string; cert: string }> {
  const dir = await mkdtemp(join(tmpdir(), 'engagement-smtp-'));
  cleanUps.push(() => rm(dir, { recursive: true }));
  const [key, cert] = [join(dir, 'key.pem'), join(dir, 'cert.pem')];
  const kind = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', `/CN=${name}`];
  const names = ['-addext', `subjectAltName=DNS:${name}`];
  await promisify(execFile)('openssl', ['req', ...kind, ...names, '-keyout', key, '-out', cert]);
  return { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') };
}
