import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A proxy before a server that a test puts out of reach, for those alone who connect through the proxy. */
export interface TcpProxy {
  port: number;
  /** Closes every connection, and refuses new ones until {@link TcpProxy.restore}. */
  refuse(): void;
  /** Passes nothing on any more, in either direction, as when packets are lost. */
  hang(): void;
  /** Passes new connections again, and what was held back on old ones. */
  restore(): void;
  /** How many pieces of data it has passed on to the server: as a rule one per round trip. */
  passed(): number;
  close(): Promise<void>;
}

/** Listens on a free port of the loopback address, and passes each connection on to `target`. */
export async function startTcpProxy(target: { host: string; port: number }): Promise<TcpProxy> {
  let mode: 'open' | 'refused' | 'hanging' = 'open';
  let passed = 0;
  const sockets = new Set<Socket>();
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
    if (mode === 'hanging') socket.pause();
  };
  const server = createServer((client) => {
    if (mode === 'refused') return client.destroy();
    const upstream = connect(target);
    client.on('data', () => (passed += 1));
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.on('data', (chunk) => to.write(chunk));
      from.once('close', () => to.destroy());
      keep(from);
    }
    return undefined;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const destroyAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    refuse() {
      mode = 'refused';
      destroyAll();
    },
    hang() {
      mode = 'hanging';
      for (const socket of sockets) socket.pause();
    },
    restore() {
      mode = 'open';
      for (const socket of sockets) socket.resume();
    },
    passed: () => passed,
    async close() {
      destroyAll();
      server.close();
      await once(server, 'close');
    },
  };
}
