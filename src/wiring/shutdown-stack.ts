import type { Logger } from '../platform/logger.ts';

/** What has been opened, to be closed once, in reverse order; one failure does not keep the others open. */
export class ShutdownStack {
  #logger: Logger;
  #stopping: AbortSignal | undefined;
  #entries: { name: string; close: () => Promise<void> }[] = [];

  /** Once `stopping` is aborted, nothing more is to be opened. */
  constructor(logger: Logger, stopping?: AbortSignal) {
    this.#logger = logger;
    this.#stopping = stopping;
  }

  /** Remembers what was just opened; throws after that when everything is to stop. */
  add(name: string, close: () => Promise<void>): void {
    this.addAll([{ name, close }]);
  }

  /** The same of several that were opened at the same time. */
  addAll(opened: readonly { name: string; close: () => Promise<void> }[]): void {
    this.#entries.push(...opened);
    this.#stopping?.throwIfAborted();
  }

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
