import { Queue, type Entry, type Limits } from '../../clients/js/src/events/queue.ts';
import { Sender, type Callbacks, type Sent } from '../../clients/js/src/events/sender.ts';
import type { Answer, RejectedRow } from '../../clients/js/src/events/answers.ts';

/** A time that passes only while nothing else can happen. */
export class World {
  now_ms = Date.UTC(2026, 0, 1);
  readonly #timers: { at_ms: number; fire: () => void }[] = [];

  sleep(ms: number): Promise<void> {
    return new Promise((fire) => this.#timers.push({ at_ms: this.now_ms + ms, fire }));
  }

  /** Lets that time pass, timer by timer. */
  async pass(ms: number): Promise<void> {
    const end_ms = this.now_ms + ms;
    for (;;) {
      await settle();
      this.#timers.sort((a, b) => a.at_ms - b.at_ms);
      const [next] = this.#timers;
      if (next === undefined || next.at_ms > end_ms) break;
      this.#timers.shift();
      this.now_ms = Math.max(this.now_ms, next.at_ms);
      next.fire();
    }
    this.now_ms = end_ms;
  }
}

/** Lets everything happen that waits for no timer. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** What a server does to the next requests, in turn. */
export type Behaviour = 'take' | 'cut' | 'unreachable' | 429 | 503 | 500 | 413;

/** A service that takes events as ours does: what has the same key and place is the same event, and the first stands. */
export class ModelServer {
  /** Every event that is there, in the order of arrival. */
  readonly events: { id: string; player: string }[] = [];
  readonly requests: Sent[] = [];
  is_offline = false;
  /** Larger bodies are 413. */
  body_bytes = Number.POSITIVE_INFINITY;
  next: Behaviour[] = [];
  refuses_key = false;
  readonly #named = new Set<string>();

  answer(request: Sent): Answer {
    this.requests.push(request);
    const behaviour = this.next.shift() ?? 'take';
    if (this.is_offline || behaviour === 'unreachable') throw new TypeError('fetch failed');
    if (this.refuses_key) return { status: 401, body: '{"error":{"code":"UNAUTHORIZED"}}' };
    if (request.body.length > this.body_bytes) return { status: 413, body: 'too large' };
    if (behaviour === 429)
      return { status: 429, retry_after: '7', body: '{"error":{"code":"RATE_LIMITED"}}' };
    if (behaviour === 503) return { status: 503, retry_after: '1', body: '' };
    if (behaviour === 500) return { status: 500, body: '<html>' };
    const answer = this.#take(request);
    if (behaviour === 'cut') throw new TypeError('terminated');
    return answer;
  }

  #take({ kind, body, key }: Sent): Answer {
    if (kind === 'identify') return { status: 200, body: '{"data":{"player_id":"p"}}' };
    const { events } = JSON.parse(body) as {
      events: { event: string; anonymous_id: string; properties: { id: string } }[];
    };
    if (events.length > 100 || body.length > 256 * 1024) throw new Error('a batch is too large');
    const rejected: RejectedRow[] = [];
    for (const [index, { event, anonymous_id, properties }] of events.entries()) {
      if (event === 'custom_bad') rejected.push({ index, code: 'PROPERTIES_INVALID', reason: 'bad' });
      else if (!this.#named.has(`${key} ${index}`)) {
        this.#named.add(`${key} ${index}`);
        this.events.push({ id: properties.id, player: anonymous_id });
      }
    }
    const data = { accepted: events.length - rejected.length, rejected };
    return { status: 202, body: JSON.stringify({ data }) };
  }
}

/** What tabs share, and what outlives them. */
export class SharedStore {
  entries: Entry[] = [];
  /** The last holder of the lock: the next waits for it, or for its death. */
  lock: Promise<void> = Promise.resolve();
}

export const LIMITS: Limits = {
  entries: 1_000,
  bytes: 5 * 1024 * 1024,
  age_ms: 30 * 86_400_000,
  batch_entries: 100,
  batch_bytes: 60 * 1024,
};

/** A page with a sender, until it is killed: then nothing of it happens any more, and nothing that it waits for comes. */
export class Tab {
  readonly sender: Sender;
  #kill: () => void = () => undefined;
  readonly #killed = new Promise<void>((resolve) => (this.#kill = resolve));
  #is_killed = false;
  #ids = 0;

  constructor(
    world: World,
    server: ModelServer,
    store: SharedStore,
    callbacks: Callbacks = {},
    limits = LIMITS,
  ) {
    const alive = async <T>(work: () => T | Promise<T>): Promise<T> => {
      await this.#step();
      const result = await work();
      await this.#step();
      return result;
    };
    const name = `${store.entries.length}-${world.now_ms}-${Math.random()}`;
    this.sender = new Sender(
      { flush_entries: 20, flush_ms: 1_000, ...callbacks },
      {
        now_ms: () => world.now_ms,
        random: () => 0.5,
        newId: () => `${name}-${this.#ids++}`,
        sleep: (ms) => alive(() => world.sleep(ms)),
        post: (request) =>
          alive(async () => {
            await world.sleep(50);
            return server.answer(request);
          }),
        exclusively: async (work) => {
          const before = store.lock;
          let free: () => void = () => undefined;
          store.lock = Promise.race([this.#killed, new Promise<void>((resolve) => (free = resolve))]);
          store.lock = Promise.all([before, store.lock]).then(() => undefined);
          await alive(() => before);
          await work();
          free();
        },
        store: {
          update: (work) =>
            alive(() => {
              // A transaction reads copies, and all of it is there at once.
              const queue = new Queue(structuredClone(store.entries), limits);
              const result = work(queue);
              store.entries = queue.entries;
              return result;
            }),
        },
      },
    );
  }

  kill(): void {
    this.#is_killed = true;
    this.#kill();
  }

  #step(): Promise<void> {
    return this.#is_killed ? new Promise(() => undefined) : Promise.resolve();
  }
}
