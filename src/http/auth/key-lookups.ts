import { withinTime } from '../../platform/time-limit.ts';
import type { StoredKey } from './queries.ts';

const MAX_PER_QUERY = 500;
const QUERY_LIMIT_MS = 5_000;

/** Finds keys by their public ids: those that exist and are not revoked. */
type FindKeys = (public_ids: readonly string[]) => Promise<StoredKey[]>;

interface Waiting {
  public_id: string;
  resolve: (key: StoredKey | undefined) => void;
  reject: (error: unknown) => void;
}

/**
 * Looks keys up in Postgres, one query at a time: what is asked for meanwhile waits, and shares the next query. So any
 * number of unknown keys costs one connection at most, or a few while Postgres is slow: a query that is given up after
 * 5 s may still run during the next one.
 */
export class KeyLookups {
  #find: FindKeys;
  #waiting: Waiting[] = [];
  #is_running = false;

  constructor(find: FindKeys) {
    this.#find = find;
  }

  /** The key with this public id; undefined when there is none. Rejects when Postgres does not answer within 5 s. */
  find(public_id: string): Promise<StoredKey | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ public_id, resolve, reject });
      if (!this.#is_running) void this.#run();
    });
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    this.#is_running = true;
    while (this.#waiting.length > 0) {
      await this.#query(this.#waiting.splice(0, MAX_PER_QUERY));
    }
    this.#is_running = false;
  }

  async #query(batch: readonly Waiting[]): Promise<void> {
    try {
      const found = await withinTime(
        QUERY_LIMIT_MS,
        this.#find(batch.map(({ public_id }) => public_id)),
        () => new Error(`Postgres did not find API keys within ${QUERY_LIMIT_MS} ms`),
      );
      const by_id = new Map(found.map((key) => [key.public_id, key]));
      for (const { public_id, resolve } of batch) resolve(by_id.get(public_id));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
