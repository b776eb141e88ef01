import type { FastifyInstance } from 'fastify';
import { ApiError } from '../errors.ts';

const TICK_MS = 100;
/** A turn of the event loop that lasts so long. A request takes several turns, and most callers have given up by then. */
const LATE_MS = 1_000;
/** So many late turns in a row are an overload. A single one is over before anyone could be refused. */
const TURNS = 3;
const RETRY_AFTER_S = 2;

/**
 * Measures by a timer whether the event loop is late for several turns in a row. A request starts the timer. It stops
 * after a tick without requests, because it would wake an idle process.
 */
class LoopWatch {
  #late_turns = 0;
  #due_ms = 0;
  #has_request = false;
  #timer: NodeJS.Timeout | undefined;

  /** Starts the timer if needed; returns whether the event loop is overloaded. */
  noteRequest(): boolean {
    this.#has_request = true;
    if (this.#timer === undefined) {
      this.#timer = setTimeout(() => this.#tick(), TICK_MS).unref();
      this.#due_ms = performance.now() + TICK_MS;
    }
    return this.#late_turns >= TURNS;
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #tick(): void {
    const now_ms = performance.now();
    this.#late_turns = now_ms - this.#due_ms > LATE_MS ? this.#late_turns + 1 : 0;
    if (!this.#has_request && this.#late_turns === 0) {
      this.#timer = undefined;
      return;
    }
    this.#has_request = false;
    this.#due_ms = now_ms + TICK_MS;
    this.#timer?.refresh();
  }
}

/**
 * Refuses requests with SERVICE_UNAVAILABLE while the event loop is late, before they are authenticated or read; except
 * those of the paths in `vital`. Install it before the routes and their hooks.
 */
export function installLoadShedding(app: FastifyInstance, vital: readonly string[]): void {
  const spared = new Set(vital);
  const watch = new LoopWatch();
  app.addHook('onClose', (_app, done) => {
    watch.close();
    done();
  });
  app.addHook('onRequest', ({ routeOptions }, _reply, done) => {
    const { url } = routeOptions;
    if (!watch.noteRequest() || (url !== undefined && spared.has(url))) return done();
    return done(
      new ApiError('SERVICE_UNAVAILABLE', 'the service is overloaded; try again later', {
        retry_after_s: RETRY_AFTER_S,
      }),
    );
  });
}
