import { contentOf, type EventInput, type IdentifyInput } from './events/content.ts';
import { memoryStore } from './events/memory-store.ts';
import type { Limits } from './events/queue.ts';
import {
  BATCH_BYTES,
  Sender,
  type Callbacks,
  type Content,
  type Counts,
  type Store,
} from './events/sender.ts';
import { needApiHost, transportTo } from './events/transport.ts';
import { openSpool } from './server/spool.ts';

export type { EventInput, IdentifyInput } from './events/content.ts';
export type { Callbacks, Content, Counts, Lost } from './events/sender.ts';
export { SpoolInUseError } from './server/spool.ts';

/** How a backend sends events. */
export interface ClientOptions extends Callbacks {
  /** An API key of the kind `server`: it is secret. */
  key: string;
  /** The ingestion host, which takes events. */
  ingest_url: string;
  /** The API host. `identify` rejects without it: the ingestion host does not take these calls. */
  base_url?: string | undefined;
  /** A file that keeps events about money, exclusions, limits and KYC until they are sent, also over a crash. */
  spool?: string | undefined;
}

/** A client of a backend. */
export interface ServerClient {
  /**
   * Sends an event. Resolves when it waits to be sent; with a spool an event about money when it is on the disk. Rejects when
   * it could not be written, or the client is closed.
   */
  track(event: EventInput): Promise<void>;
  /** Says who a player is, after the events before it and before those after it. */
  identify(ids: IdentifyInput): Promise<void>;
  /** Sends now. Resolves when nothing waits, or nothing is sent any more. */
  flush(): Promise<void>;
  /** Sends what waits, for at most that long (default: 10 s), and takes nothing any more. Says how much was not sent. */
  close(options?: { timeout_ms?: number }): Promise<{ unsent: number }>;
  readonly counts: Counts;
}

const LIMITS: Limits = {
  entries: 20_000,
  bytes: 64 * 1024 * 1024,
  age_ms: 30 * 86_400_000,
  batch_entries: 100,
  batch_bytes: BATCH_BYTES,
};
const CLOSE_MS = 10_000;

/** Creates the client of a backend (docs/clients.md). Its timers do not keep the process. */
export function createClient(options: ClientOptions): ServerClient {
  const { key, ingest_url, base_url, spool } = options;
  const opened = spool === undefined ? undefined : openSpool(spool, LIMITS);
  // Every use says it again.
  opened?.catch(() => undefined);
  const memory = memoryStore(LIMITS);
  const newId = () => crypto.randomUUID();
  const now_ms = () => Date.now();
  const store: Store = { update: async (work) => ((await opened) ?? memory).update(work) };
  const sender = new Sender(
    { ...options, flush_entries: 50, flush_ms: 200 },
    {
      store,
      now_ms,
      newId,
      random: () => Math.random(),
      sleep: (ms) => new Promise((resolve) => void setTimeout(resolve, ms).unref()),
      exclusively: (work) => work(),
      post: transportTo({ key, ingest_url, base_url, user_agent: 'player-engagement-client' }),
    },
  );
  // What a crash has left.
  if (opened !== undefined) void sender.flush();
  let closing: Promise<{ unsent: number }> | undefined;
  const end = async (timeout_ms: number) => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, timeout_ms)));
    await Promise.race([sender.flush(), late]);
    clearTimeout(timer);
    sender.close();
    const unsent = await store.update(({ entries }) => entries.length);
    await (await opened)?.close();
    return { unsent };
  };
  const add = async (kind: 'event' | 'identify', content: Content) => {
    if (closing !== undefined) throw new Error('the client is closed');
    return sender.add(kind, content);
  };
  return {
    counts: sender.counts,
    track: async (event) => add('event', contentOf(event, now_ms(), newId)),
    identify: async (ids) => {
      needApiHost(base_url);
      return add('identify', { ...ids });
    },
    flush: () => sender.flush(),
    close: ({ timeout_ms = CLOSE_MS } = {}) => (closing ??= end(timeout_ms)),
  };
}
