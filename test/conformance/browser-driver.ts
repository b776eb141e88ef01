import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Browser, BrowserContext, Request } from 'playwright-core';
import { until } from '../engines/until.ts';
import { CLIENTS, type Driver, type Task } from './driver.ts';
import { messagesOf } from './messages.ts';

const PAGE =
  '<!doctype html><title>A casino</title><script src="client.js"></script><script src="drive.js"></script>';
/** As analytics.js itself decides: it sends again after these, and after every 5xx but 501, 505 and 511. */
const SENT_AGAIN = new Set([408, 410, 429, 460]);
const PATIENCE_MS = 600_000;

/** The server of a page that has analytics.js. */
export interface ClientPage {
  /** Its origin. */
  origin: string;
  close(): Promise<void>;
}

/** Serves the page on a free port. */
export async function serveClientPage(): Promise<ClientPage> {
  const files = new Map([
    ['/', ['text/html', PAGE]],
    [
      '/client.js',
      [
        'text/javascript',
        await text(join(CLIENTS, 'node_modules/@segment/analytics-next/dist/umd/index.js')),
      ],
    ],
    [
      '/drive.js',
      ['text/javascript', await text(join(import.meta.dirname, 'drivers/analytics-next.page.js'))],
    ],
  ]);
  const server = createServer((request, response) => {
    const [type, body] = files.get(request.url ?? '') ?? [];
    response
      .writeHead(body === undefined ? 404 : 200, { 'content-type': `${type}; charset=utf-8` })
      .end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** Of analytics.js: each visitor has a page. It ends when every event was delivered or refused for good. */
export function browserDriver(browser: Browser, { origin }: ClientPage): Driver {
  return async (task) => {
    const done = new Set<string>();
    let sent_batches = 0;
    const errors: string[] = [];
    const settle = (request: Request, status: number) => {
      if (request.method() !== 'POST') return;
      const is_sent = status >= 200 && status < 300;
      if (!is_sent && (status < 400 || status >= 500 || SENT_AGAIN.has(status))) return;
      if (is_sent) sent_batches += 1;
      else errors.push(String(status));
      for (const { messageId } of messagesOf(request.postDataBuffer() ?? Buffer.alloc(0)))
        done.add(messageId);
    };
    const visit = async (sequences: Task['sequences'], context: BrowserContext) => {
      const page = await context.newPage();
      page.on('pageerror', (error) => errors.push(error.message));
      // Not `requestfinished`: the client reads no body, so a request may never be finished.
      page.on('response', (response) => settle(response.request(), response.status()));
      await page.goto(`${origin}/`);
      await page.evaluate(`drive(${JSON.stringify({ ...task, sequences })})`);
    };
    const visitors = new Set(
      task.sequences.flatMap(({ events }) => events.map(({ anonymousId }) => anonymousId)),
    );
    const contexts = await Promise.all([...visitors].map(() => browser.newContext()));
    try {
      await Promise.all(
        [...visitors].map((visitor, i) => {
          const sequences = task.sequences.map(({ delayMs, events }) => {
            return { delayMs, events: events.filter(({ anonymousId }) => anonymousId === visitor) };
          });
          return visit(sequences, contexts[i] as BrowserContext);
        }),
      );
      const given = task.sequences.reduce((sum, { events }) => sum + events.length, 0);
      await until('every event was delivered or refused', (saw) => saw(done.size) === given, PATIENCE_MS);
    } finally {
      for (const context of contexts) await context.close();
    }
    const [error] = errors;
    return {
      success: error === undefined,
      sentBatches: sent_batches,
      ...(error === undefined ? {} : { error }),
    };
  };
}

function text(file: string): Promise<string> {
  return readFile(file, 'utf8');
}
