import type { Logger } from '../platform/logger.ts';

/** What has been opened, to be closed once, in reverse order; one failure does not keep the others open. */
export class Closers {
  #logger: Logger;
  #closers: { name: string; close: () => Promise<void> }[] = [];

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  add(name: string, close: () => Promise<void>): void {
    this.#closers.push({ name, close });
  }

  async close(): Promise<void> {
    for (let entry = this.#closers.pop(); entry !== undefined; entry = this.#closers.pop()) {
      try {
        await entry.close();
      } catch (error) {
        this.#logger.error({ err: error, part: entry.name }, 'did not close cleanly');
      }
    }
  }
}
