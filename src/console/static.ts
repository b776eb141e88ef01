import { readdir } from 'node:fs/promises';
import { extname, join } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../errors.ts';
import { packageRoot } from '../package-root.ts';
import { setConsoleHeaders } from './headers.ts';

/** Where the build writes the console. */
export const CONSOLE_DIR = join(packageRoot, 'dist/console');

const PAGE = 'index.html';
/** Files with a hash of their content in their name: they never change. */
const IMMUTABLE = 'assets/';

/**
 * Serves the built console under `/console/`: its files, and its page for every other path, which the page's own router
 * reads. Each file is sent compressed as the build has compressed it. Without a built console nothing is served, and the
 * API stays as it is.
 */
export async function serveConsole(app: FastifyInstance, { https }: { https: boolean }): Promise<void> {
  const files = await builtFiles();
  if (!files.has(PAGE)) return;
  await app.register(fastifyStatic, {
    root: CONSOLE_DIR,
    serve: false,
    preCompressed: true,
    cacheControl: false,
    lastModified: false,
  });
  const send = (request: FastifyRequest, reply: FastifyReply) => {
    const path = (request.params as { '*'?: string })['*'] ?? '';
    const file = files.has(path) ? path : PAGE;
    if (file === PAGE && extname(path) !== '' && path !== PAGE) {
      throw new ApiError('NOT_FOUND', `the console has no file ${path.slice(0, 200)}`);
    }
    setConsoleHeaders(reply, { https });
    const cached = file.startsWith(IMMUTABLE) ? 'public, max-age=31536000, immutable' : 'no-cache';
    return reply.header('cache-control', cached).sendFile(file);
  };
  app.get('/console/*', send);
  app.get('/console', (_request, reply) => reply.redirect('/console/', 308));
}

/**
 * Sends browsers that open the bare address to the console. Other clients get the 404 that an API without a resource `/`
 * gives them. Install it before the handling of errors, which answers unknown paths.
 */
export function redirectBrowsers(app: FastifyInstance): void {
  app.addHook('onRequest', async ({ url, method, headers }, reply) => {
    if (url === '/' && method === 'GET' && headers.accept?.includes('text/html') === true) {
      return reply.redirect('/console/', 302);
    }
    return undefined;
  });
}

/** Relative paths of the built files, without their compressed copies; empty when the console was not built. */
async function builtFiles(): Promise<ReadonlySet<string>> {
  try {
    const entries = await readdir(CONSOLE_DIR, { recursive: true, withFileTypes: true });
    const paths = entries
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name).slice(CONSOLE_DIR.length + 1));
    return new Set(paths.filter((path) => !/\.(br|gz)$|^\./.test(path)));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Set();
    throw error;
  }
}
