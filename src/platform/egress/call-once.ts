import type { Egress } from './egress.ts';

const USER_AGENT = 'player-engagement-service';

/** One HTTP request to an address that a tenant wrote. */
export interface OutgoingCall {
  method: 'GET' | 'POST';
  url: string;
  headers: Readonly<Record<string, string>>;
  body?: string;
  /** For the whole call, from the look-up of the name to the end of the answer. */
  timeout_ms: number;
  /** No more of an answer is read. */
  max_answer_bytes: number;
  /** The first byte leaves until then (`performance.now()`), or none does. */
  depart_by_ms?: number;
  /** Ends the call. */
  signal?: AbortSignal;
}

/** An answer with any status. */
export interface HttpAnswer {
  kind: 'answered';
  status: number;
  /** A header by its name in lower case; null: it is absent, or there several times. */
  header: (name: string) => string | null;
  /** What was read of the body. */
  body: Buffer;
  /** Whether the body is longer than what may be read. */
  is_cut: boolean;
  /** Why the body ended before its end; null: it did not. Then `body` is empty. */
  broken: NoAnswer | null;
}

/**
 * Why there is no answer. `timeout`: `timeout_ms` passed. `aborted`: by `signal`. `late`: it would have left after
 * `depart_by_ms`; the connection that it waited for is open now. `error`: all else.
 */
export interface NoAnswer {
  kind: 'unanswered';
  why: 'timeout' | 'aborted' | 'late' | 'error';
  /** The code of the error, or its name: never its message, which may quote the request. */
  code: string;
  /** False: the other side cannot have had a byte of the request. True: it may have acted on it. */
  may_have_left: boolean;
}

class TooLate extends Error {
  override readonly name = 'TooLate';
}

/**
 * Makes one call through the egress guard, without following redirects and without repeating anything. Never rejects:
 * also a request that cannot be made is `unanswered`.
 */
export async function callOnce(egress: Egress, call: OutgoingCall): Promise<HttpAnswer | NoAnswer> {
  const { method, url, headers, body, timeout_ms, max_answer_bytes, depart_by_ms = Infinity, signal } = call;
  const ended = new AbortController();
  let why: 'timeout' | 'aborted' | undefined;
  const end = (reason: 'timeout' | 'aborted') => {
    why ??= reason;
    ended.abort();
  };
  const abort = () => end('aborted');
  let may_have_left = false;
  const unanswered = (error: unknown): NoAnswer => ({
    kind: 'unanswered',
    why: error instanceof TooLate ? 'late' : (why ?? 'error'),
    code: codeOf(error),
    may_have_left,
  });
  const timer = setTimeout(() => end('timeout'), timeout_ms);
  signal?.addEventListener('abort', abort, { once: true });
  if (signal?.aborted === true) abort();
  try {
    const answer = await egress.request(url, {
      method,
      headers: { 'User-Agent': USER_AGENT, ...headers },
      ...(body === undefined ? {} : { body }),
      signal: ended.signal,
      onSend: () => {
        if (performance.now() > depart_by_ms) throw new TooLate();
        may_have_left = true;
      },
    });
    const header = (name: string) => {
      const value = answer.headers[name];
      return typeof value === 'string' ? value : null;
    };
    const begun = { kind: 'answered', status: answer.statusCode, header } as const;
    try {
      return { ...begun, ...(await readUpTo(answer.body, max_answer_bytes)), broken: null };
    } catch (error) {
      return { ...begun, body: Buffer.alloc(0), is_cut: false, broken: unanswered(error) };
    }
  } catch (error) {
    return unanswered(error);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

async function readUpTo(
  body: AsyncIterable<Uint8Array> & { on(event: 'error', listener: () => void): unknown },
  max_bytes: number,
): Promise<{ body: Buffer; is_cut: boolean }> {
  // Leaving the loop destroys the body, which reports that as an error.
  body.on('error', () => undefined);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    const room = max_bytes - bytes;
    chunks.push(chunk.subarray(0, room));
    bytes += chunk.length;
    if (chunk.length > room) return { body: Buffer.concat(chunks), is_cut: true };
  }
  return { body: Buffer.concat(chunks), is_cut: false };
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'ERROR';
  const { code, cause, errors } = error as {
    code?: unknown;
    cause?: { code?: unknown };
    errors?: { code?: unknown }[];
  };
  const found = code ?? cause?.code ?? errors?.[0]?.code;
  return typeof found === 'string' ? found : error.name;
}
