import type { Logger } from '../../platform/logger.ts';

/** Closes what was opened, each part once, in reverse order; when one part fails to close, the others still close. */
export class ShutdownStack {
  #logger: Logger;
  #stopping: AbortSignal | undefined;
  #entries: { name: string; close: () => Promise<void> }[] = [];

  /** Once `stopping` is aborted, `add` throws, so that nothing more is opened. */
  constructor(logger: Logger, stopping?: AbortSignal) {
    this.#logger = logger;
    this.#stopping = stopping;
  }

  /** Registers a part that was just opened. Then throws if `stopping` is aborted; `close` still closes the part. */
  add(name: string, close: () => Promise<void>): void {
    this.addAll([{ name, close }]);
  }

  /** Like `add`, for several parts that were opened at the same time. */
  addAll(opened: readonly { name: string; close: () => Promise<void> }[]): void {
    this.#entries.push(...opened);
    this.#stopping?.throwIfAborted();
  }

  /** Closes every registered part. Never rejects: failures are logged. */
  async close(): Promise<void> {
    for (let entry = this.#entries.pop(); entry !== undefined; entry = this.#entries.pop()) {
      try {
        await entry.close();
      } catch (error) {
        this.#logger.error({ err: error, part: entry.name }, 'did not close cleanly');
      }
    }
  }
}
