import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { requireOwnPage } from '../auth/browser-session.ts';
import { ApiError } from '../errors.ts';
import { isLoopback } from '../platform/egress/addresses.ts';

const LOCAL_HOSTS = new Set(['localhost', '127.0.0.1', '[::1]']);

/** The file in DATA_DIR in which the first start keeps its demo. */
export const DEMO_FILE = 'dev-credentials.json';

/**
 * Throws FORBIDDEN unless the request comes from a page of this very machine's service. Whoever can send such a request
 * can read the demo's credentials from its disk. A proxy's header or another host name (DNS rebinding) is refused.
 */
export function requireLocalPage(request: FastifyRequest): void {
  const { headers, socket } = request;
  const refuse = (why: string): never => {
    throw new ApiError('FORBIDDEN', `the development sign-in is for this machine only: ${why}`);
  };
  if (!isLoopback(socket.remoteAddress ?? '')) refuse('the connection comes from another machine');
  const host = (headers.host ?? '').replace(/:\d+$/, '').toLowerCase();
  if (!LOCAL_HOSTS.has(host)) refuse(`"${host.slice(0, 100)}" is not a loopback host`);
  const forwarded = Object.keys(headers).find(
    (name) => name.startsWith('x-forwarded-') || name === 'forwarded',
  );
  if (forwarded !== undefined) refuse(`it was sent through a proxy (${forwarded})`);
  requireOwnPage(request);
}

const demoFile = z.object({ user_id: z.string().min(1) });

/** The user of the demo that the first start created; rejects with NOT_FOUND when there is none. */
export async function demoUser(data_dir: string): Promise<string> {
  try {
    return demoFile.parse(JSON.parse(await readFile(join(data_dir, DEMO_FILE), 'utf8'))).user_id;
  } catch (cause) {
    const message = `there is no demo to sign in to: ${DEMO_FILE} in DATA_DIR is missing or unusable`;
    throw new ApiError('NOT_FOUND', message, { cause });
  }
}
