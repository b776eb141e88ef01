import { indexedDbStore } from './browser/indexed-db.ts';
import { clockOf } from './browser/clock.ts';
import { keptAs } from './browser/kept.ts';
import type { BrowserClient, ClientOptions } from './browser/client.ts';
import { contentOf } from './events/content.ts';
import { memoryStore } from './events/memory-store.ts';
import type { Limits } from './events/queue.ts';
import { Sender, type Counts } from './events/sender.ts';
import { needApiHost, transportTo } from './events/transport.ts';
import { visitorOf } from './browser/visitor.ts';
import { exclusively } from './browser/locks.ts';

export type { BrowserClient, ClientOptions, TrackOptions } from './browser/client.ts';
export type { IdentifyInput } from './events/content.ts';
export type { Callbacks, Content, Counts, Lost } from './events/sender.ts';

const LIMITS: Limits = {
  entries: 1_000,
  bytes: 5 * 1024 * 1024,
  age_ms: 30 * 86_400_000,
  batch_entries: 100,
  // A request that may outlive its page has at most 64 KiB, and a visit may end at any time.
  batch_bytes: 60 * 1024,
};

/** Creates the client of a page or webview (docs/clients.md). */
export function createClient(options: ClientOptions): BrowserClient {
  const { key, ingest_url = '', base_url, name = 'player-engagement' } = options;
  const visitor = visitorOf(`${name}:anonymous_id`);
  const counts: Counts = { accepted: 0, rejected: 0, dropped: 0 };
  const kept = indexedDbStore(name, LIMITS);
  let sender: Sender | undefined;
  /** The visitor has an id, which two pages that begin at once share. */
  let named: Promise<void> | undefined;
  const newId = () => crypto.randomUUID();
  const now_ms = () => Date.now();
  const offset = keptAs(`${name}:clock`);
  const clock = clockOf(now_ms, offset);
  const post = transportTo({ key, ingest_url, base_url, keepalive_bytes: LIMITS.batch_bytes });

  const newSender = () => {
    // A browser may keep nothing: then what waits ends with the page, or with the consent.
    const chosen = kept
      .update(() => undefined)
      .then(
        () => kept,
        () => memoryStore(LIMITS),
      );
    return new Sender(
      { ...options, flush_entries: 20, flush_ms: 1_000 },
      {
        store: { update: async (work) => (await chosen).update(work) },
        now_ms,
        newId,
        random: () => Math.random(),
        sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
        exclusively: (work) => exclusively(name, work),
        post: async (request) => {
          const sent_ms = now_ms();
          const answer = await post(request);
          // Nothing is kept after the consent.
          if (!request.signal.aborted) clock.learn(answer.date, sent_ms);
          return answer;
        },
      },
      counts,
    );
  };
  const revoke = async () => {
    sender?.close();
    sender = undefined;
    named = undefined;
    visitor.forget();
    offset.write(undefined);
    // What was kept of a browser that keeps nothing is gone with the sender.
    await kept.clear().catch(() => undefined);
  };
  addEventListener('online', () => void sender?.flush());
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'hidden') void sender?.flush();
  });
  // Another page of this origin has removed the id: the consent is revoked.
  addEventListener('storage', ({ key: changed, newValue }) => {
    if (changed === visitor.name && newValue === null) void revoke();
  });
  return {
    counts,
    get anonymous_id() {
      return sender && visitor.id();
    },
    consent: async (is_given) => {
      if (!is_given) return revoke();
      sender ??= newSender();
      await (named ??= exclusively(visitor.name, async () => {
        if (sender !== undefined) visitor.id();
      }));
      void sender?.flush();
    },
    track: async (event, properties, more) => {
      if (sender === undefined) return;
      const at_ms = clock.now_ms();
      await named;
      await sender?.add(
        'event',
        contentOf({ anonymous_id: visitor.id(), ...more, event, properties }, at_ms, newId),
      );
    },
    identify: async (external_id, more) => {
      needApiHost(base_url);
      await named;
      await sender?.add('identify', { anonymous_id: visitor.id(), ...more, external_id });
    },
    flush: async () => sender?.flush(),
    reset: () => {
      if (sender !== undefined) visitor.change();
    },
  };
}
