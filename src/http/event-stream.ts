import type { ServerResponse } from 'node:http';
import { ANSWER_HEADERS } from './server-options.ts';

/** The `content_type` of an endpoint that answers with server-sent events. */
export const EVENT_STREAM = 'text/event-stream; charset=utf-8';

/** A client whose connection takes nothing for this long is cut off. */
const DRAIN_MS = 5_000;
/** When a client whose stream was ended comes again: not all at once, so by the id of its request. */
const RETRY_MS = { least: 1_000, more: 4_000 };

/** The open stream of one client. */
export interface StreamOut {
  /**
   * Writes one event; `data` is JSON text without line breaks. False: the client has not taken what was written before, and
   * this event was not written.
   */
  send: (event: { event?: string; id?: string; data: string }) => boolean;
  /** Writes a comment, which keeps the connection alive; clients do not show it. */
  beat: () => void;
  /** Ends the stream; the client comes again after a pause. */
  end: () => void;
}

/** Writes the events of a stream from its opening on; returns what stops it, called once when the stream has ended. */
export type EventStream = (out: StreamOut) => () => void;

/**
 * Opens a stream of server-sent events as the answer of a request. It ends when the client leaves, when {@link StreamOut}
 * is ended, when the client takes nothing for {@link DRAIN_MS}, and when `closing` is aborted, before the server closes.
 */
export function openEventStream(
  raw: ServerResponse,
  stream: EventStream,
  { request_id, closing }: { request_id: string; closing: AbortSignal | undefined },
): void {
  // The client has left while the request was looked at.
  if (raw.destroyed) return;
  let stalled: NodeJS.Timeout | undefined;
  const write = (text: string): boolean => {
    if (stalled !== undefined || raw.destroyed || raw.writableEnded) return false;
    if (!raw.write(text)) stalled = setTimeout(() => raw.destroy(), DRAIN_MS);
    return true;
  };
  const end = () => {
    if (raw.destroyed || raw.writableEnded) return;
    raw.end(`retry: ${RETRY_MS.least + (Number.parseInt(request_id.slice(-4), 16) % RETRY_MS.more)}\n\n`);
    // What the client has not taken would keep the connection, and a closing server, open.
    stalled ??= setTimeout(() => raw.destroy(), DRAIN_MS);
  };
  raw.on('drain', () => {
    clearTimeout(stalled);
    stalled = undefined;
  });
  raw.writeHead(200, {
    'content-type': EVENT_STREAM,
    ...ANSWER_HEADERS,
    // Proxies that collect answers before they pass them on would hold events back.
    'x-accel-buffering': 'no',
    'x-request-id': request_id,
  });
  write(': open\n\n');
  const stop = stream({
    send: ({ event, id, data }) =>
      write(
        `${event === undefined ? '' : `event: ${event}\n`}${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`,
      ),
    beat: () => void write(': heartbeat\n\n'),
    end,
  });
  closing?.addEventListener('abort', end, { once: true });
  raw.once('close', () => {
    clearTimeout(stalled);
    closing?.removeEventListener('abort', end);
    stop();
  });
  if (closing?.aborted === true) end();
}
