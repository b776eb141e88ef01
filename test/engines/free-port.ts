import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that systems give to connections and to servers without a port of their own (32,768 on Linux). */
const FIRST = 12_000;
/** Ports of one process; processes that start one after the other have different ones. */
const PER_PROCESS = 200;
const SLICES = 100;

let drawn = 0;

/**
 * A TCP port that is free on the loopback interface. Nobody else takes it while its server starts, or is down to be
 * started again: no connection gets it, other test processes draw from other ports, and this one draws it only once.
 */
export async function freePort(): Promise<number> {
  for (let tried = 0; tried < PER_PROCESS; tried++) {
    const port = FIRST + (process.pid % SLICES) * PER_PROCESS + (drawn++ % PER_PROCESS);
    if (await isFree(port)) return port;
  }
  throw new Error(`none of the ${PER_PROCESS} ports of process ${process.pid} is free`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
