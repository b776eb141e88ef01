import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isPublicAddress, LOOPBACK_NETWORKS, networkList } from '../../../src/platform/egress/addresses.ts';
import { Egress, EgressRefused } from '../../../src/platform/egress/egress.ts';
import { hostileHosts, PRIVATE_V4, v4Forms } from './address-forms.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

function guard(options: ConstructorParameters<typeof Egress>[0]): Egress {
  const egress = new Egress(options);
  closers.push(() => egress.close());
  return egress;
}

/** A listener that counts its connections, on every address of the machine or on one. */
async function trap(host = '::', server: Server = createServer()) {
  const sockets: Socket[] = [];
  server.on('connection', (socket: Socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, host, resolve);
  });
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { port, connections: () => sockets.length };
}
const answering = () => createHttpServer((_request, response) => response.end('hello'));

/** The code with which an attempt fails; `connected` if it does not. */
async function codeOf(attempt: Promise<unknown>): Promise<string> {
  try {
    await attempt;
    return 'connected';
  } catch (error) {
    const { code, cause, name } = error as { code?: string; cause?: { code?: string }; name: string };
    return cause?.code ?? code ?? name;
  }
}
const smtp = (host: string, port: number) => ({ host, port, usual_ports: [25] });

/** The request of a webhook. */
function requested(egress: Egress, url: string, headers: Record<string, string> = {}) {
  const signal = AbortSignal.timeout(5_000);
  return egress.request(url, { method: 'POST', headers, body: '{}', signal });
}

async function post(egress: Egress, url: string): Promise<number> {
  const { statusCode, body } = await requested(egress, url);
  await body.dump();
  return statusCode;
}

describe('addresses that are not public', () => {
  let listener: Awaited<ReturnType<typeof trap>>;
  beforeEach(async () => {
    listener = await trap();
  });

  it('are not connected to, in any of over 1,000 spellings, as URL or as host', async () => {
    const hosts = hostileHosts();
    expect(new Set(hosts).size).toBeGreaterThan(1_000);
    // A hostile name server: whatever the guard takes for a name leads to this machine.
    const egress = guard({ allow: [], resolve: () => Promise.resolve(['127.0.0.1']) });
    const { port } = listener;
    const codes = new Map<string, string[]>();
    const note = (code: string, host: string) => codes.set(code, [...(codes.get(code) ?? []), host]);
    for (const host of hosts) {
      note(await codeOf(post(egress, `http://${host}:${port}/`)), host);
      note(await codeOf(egress.connect(smtp(host, port))), host);
      note(await codeOf(egress.check(smtp(host, port))), host);
      note(await codeOf(egress.checkUrl(`https://${host}:${port}/`)), host);
    }
    expect([...codes.keys()]).toEqual(['EGRESS_REFUSED']);
    expect(listener.connections()).toBe(0);
  });

  it('would have been connected to by these spellings', async () => {
    const egress = guard({ allow: LOOPBACK_NETWORKS, resolve: () => Promise.reject(new Error('no name')) });
    const reached = [];
    for (const host of v4Forms('127.0.0.1')) {
      const socket = await egress.connect(smtp(host, listener.port)).catch(() => undefined);
      socket?.destroy();
      if (socket !== undefined) reached.push(host);
    }
    expect(reached).toContain('2130706433');
    expect(reached).toContain('0x7f.1');
    expect(reached.length).toBeGreaterThan(15);
  });

  it('are told apart from public ones at the edges of their networks', () => {
    for (const address of PRIVATE_V4) expect([address, isPublicAddress(address)]).toEqual([address, false]);
    const around =
      '9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 169.253.255.255';
    const more =
      '172.15.255.255 172.32.0.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255';
    const v6 = '2001:200::1 2606:4700::1111 2a00:1450:4001::1 3ffe::1';
    for (const address of `${around} ${more} ${v6} 1.1.1.1`.split(' ')) {
      expect([address, isPublicAddress(address)]).toEqual([address, true]);
    }
    for (const text of ['', 'example.com', '1.1.1.1 ', '2606:4700::1%eth0', '1.1.1']) {
      expect(isPublicAddress(text)).toBe(false);
    }
  });
});

describe('a name', () => {
  it('that changes its address is refused at the next connection', async () => {
    const [ours, theirs] = [await trap('127.0.0.2', answering()), await trap('127.0.0.1', answering())];
    const answers = [['127.0.0.2'], ['127.0.0.2'], ['127.0.0.1']];
    let asked = 0;
    const egress = guard({
      allow: ['127.0.0.2'],
      resolve: () => Promise.resolve(answers[asked++] ?? ['127.0.0.1']),
    });
    const url = `http://rebinding.example:${ours.port}/`;
    await egress.checkUrl(url.replace('http:', 'https:'));
    const { body } = await requested(egress, url, { connection: 'close' });
    expect(await body.text()).toBe('hello');
    // One look-up for the check and one for the connection, which went to the address of that look-up.
    expect([asked, ours.connections()]).toEqual([2, 1]);
    expect(await codeOf(post(egress, `http://rebinding.example:${theirs.port}/`))).toBe('EGRESS_REFUSED');
    expect(await codeOf(egress.connect(smtp('rebinding.example', theirs.port)))).toBe('EGRESS_REFUSED');
    expect(theirs.connections()).toBe(0);
  });

  it('that is public when it is checked and private when it is connected to is refused, 1,000 times', async () => {
    const listener = await trap();
    let asked = 0;
    const egress = guard({
      allow: [],
      resolve: () => Promise.resolve([asked++ % 2 === 0 ? '93.184.216.34' : '127.0.0.1']),
    });
    const codes = new Set<string>();
    for (let n = 0; n < 1_000; n++) {
      const url = `http://flipping-${n}.example:${listener.port}/`;
      await egress.checkUrl(url.replace('http:', 'https:'));
      codes.add(await codeOf(post(egress, url)));
    }
    expect([...codes]).toEqual(['EGRESS_REFUSED']);
    expect([asked, listener.connections()]).toEqual([2_000, 0]);
  });

  it('with a public and a private address is refused', async () => {
    const listener = await trap();
    for (const addresses of [
      ['93.184.216.34', '127.0.0.1'],
      ['127.0.0.1', '93.184.216.34'],
      ['2606:4700::1', '::1'],
      ['93.184.216.34', 'fe80::1%lo'],
    ]) {
      const egress = guard({ allow: [], resolve: () => Promise.resolve(addresses) });
      const url = `http://both.example:${listener.port}/`;
      expect(await codeOf(post(egress, url))).toBe('EGRESS_REFUSED');
      expect(await codeOf(egress.connect(smtp('both.example', listener.port)))).toBe('EGRESS_REFUSED');
    }
    expect(listener.connections()).toBe(0);
  });

  it('is not to be written with http://, except that of this machine, where it may be reached', async () => {
    const resolve = () => Promise.resolve(['93.184.216.34']);
    const egress = guard({ allow: LOOPBACK_NETWORKS, resolve });
    const refused = /must begin with https:\/\/ and not with http:\/\//;
    for (const url of ['http://public.example/', 'http://93.184.216.34', 'http://localhost.example/']) {
      await expect(egress.checkUrl(url), url).rejects.toThrow(refused);
      expect(egress.problemOf(url), url).toMatch(refused);
    }
    for (const url of ['http://127.0.0.1:9/', 'http://[::1]:9/', 'http://2130706433:9/']) {
      expect(egress.problemOf(url), url).toBeUndefined();
      expect(egress.mayBePlain(new URL(url).hostname)).toBe(true);
      expect(guard({ allow: [], resolve }).problemOf(url), url).toMatch(/is not public|may not/);
    }
    await egress.checkUrl('https://public.example/');
  });

  it('that has no address at present is accepted, but not connected to', async () => {
    const missing = () => Promise.reject(Object.assign(new Error('none'), { code: 'ENOTFOUND' }));
    const egress = guard({ allow: [], resolve: missing });
    await egress.checkUrl('https://later.example/');
    expect(await codeOf(post(egress, 'https://later.example/'))).toBe('ENOTFOUND');
    expect(await codeOf(egress.connect(smtp('later.example', 25)))).toBe('ENOTFOUND');
  });

  it('stays the name in TLS', async () => {
    const names: string[] = [];
    const server = createTlsServer({ SNICallback: (name, done) => (names.push(name), done(null)) });
    server.on('tlsClientError', () => undefined);
    const { port } = await trap('127.0.0.1', server);
    const egress = guard({ allow: LOOPBACK_NETWORKS, resolve: () => Promise.resolve(['127.0.0.1']) });
    expect(await codeOf(post(egress, `https://mail.casino.example:${port}/`))).not.toBe('connected');
    expect(names).toEqual(['mail.casino.example']);
  });
});

it('redirects are not followed', async () => {
  const inside = await trap('127.0.0.1', answering());
  const away = createHttpServer(({ url = '' }, response) => {
    response.writeHead(Number(url.slice(1)), { location: `http://127.0.0.1:${inside.port}/` }).end();
  });
  const { port } = await trap('127.0.0.2', away);
  const egress = guard({ allow: LOOPBACK_NETWORKS });
  for (const status of [301, 302, 303, 307, 308]) {
    const url = `http://127.0.0.2:${port}/${status}`;
    expect(await post(egress, url)).toBe(status);
  }
  expect(inside.connections()).toBe(0);
});

it('a request is given up at once although its connection is not open yet, and is never sent', async () => {
  // Closed after the trap, because it waits for its connection.
  const egress = guard({ allow: LOOPBACK_NETWORKS, connect_ms: 3_600_000 });
  // It takes connections and never says a word of TLS.
  const silent = await trap('127.0.0.1');
  const given_up = new AbortController();
  const reason = new Error('given up');
  let sent = 0;
  const request = egress.request(`https://127.0.0.1:${silent.port}/`, {
    method: 'GET',
    headers: {},
    signal: given_up.signal,
    onSend: () => sent++,
  });
  await expect.poll(silent.connections).toBe(1);
  given_up.abort(reason);
  await expect(request).rejects.toBe(reason);
  expect(sent).toBe(0);
});

it('ports below 1024 are those of the protocol, except in allowed networks', async () => {
  const egress = guard({ allow: ['10.0.0.0/8'] });
  await egress.check(smtp('1.1.1.1', 25));
  await egress.check(smtp('1.1.1.1', 2525));
  await egress.check(smtp('10.1.2.3', 22));
  await egress.checkUrl('https://1.1.1.1/');
  await expect(egress.check(smtp('1.1.1.1', 22))).rejects.toThrow(
    'port 22 of "1.1.1.1" may not be used: give 25',
  );
  await expect(egress.checkUrl('http://1.1.1.1:25/')).rejects.toThrow(EgressRefused);
  await expect(egress.check(smtp('192.168.0.1', 25))).rejects.toThrow(/"192.168.0.1" .* EGRESS_ALLOW/);
});

it.each([
  '10.0.0.0/33',
  '10.0.0/8',
  'example.com',
  '',
  '::/129',
  '10.0.0.0/8/8',
  'fe80::%1/64',
  '10.0.0.0/-1',
])('a network is written as address and length: not %j', (network) => {
  expect(() => networkList([network])).toThrow(RangeError);
});
