import { limitTransaction } from '../../platform/postgres/limits.ts';
import type { Db } from '../../platform/postgres/port.ts';
import { withinTime } from '../../platform/time-limit.ts';
import type { KeyClient } from './key-clients.ts';
import { touchKeys, type KeyUse } from './queries.ts';
import type { Platform } from '../../platform/platform.ts';

/** How often a process writes when its keys were used: a time that is shown may be so much too early. */
export const KEY_USES_MS = 60_000;
/** Uses of one statement: of a key by a kind of client. Further ones wait for the next. */
const MAX_PER_WRITE = 5_000;
/** Uses that wait to be written; further ones are forgotten. */
const MAX_WAITING = 50_000;
const STATEMENT_MS = 5_000;
const LOCK_MS = 1_000;
const WRITE_LIMIT_MS = 10_000;

/** Writes when keys were used; a later time that is stored already stays. */
export type WriteKeyUses = (uses: readonly KeyUse[]) => Promise<void>;

interface KeyUsesOptions extends Pick<Platform, 'clock' | 'logger'> {
  write: WriteKeyUses;
  /** How often is written. */
  every_ms?: number;
}

/**
 * When the API keys of this process were used last, by each kind of client. A use is noted in memory, so no request
 * waits for it or fails by it. At most once in `every_ms` one statement writes up to 5,000; {@link KeyUses.close} writes
 * what is left. What cannot be written is logged, kept, and written with the next. A process that crashes loses the uses since its last
 * write: then `last_used_at` is a minute or so too early until the key is used again.
 */
export class KeyUses {
  readonly #options: KeyUsesOptions;
  /** By the kind of client and the id of the key. */
  readonly #uses = new Map<string, KeyUse>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;

  constructor(options: KeyUsesOptions) {
    this.#options = options;
  }

  /** Starts to write from time to time. */
  start(): this {
    this.#timer ??= setInterval(() => void this.flush(), this.#options.every_ms ?? KEY_USES_MS).unref();
    return this;
  }

  /** Notes that the key is used now, by a client of this kind. */
  note({ tenant_id, key_id }: Pick<KeyUse, 'tenant_id' | 'key_id'>, client?: KeyClient): void {
    const at_ms = this.#options.clock.now_ms();
    const name = nameOf({ key_id, client });
    const known = this.#uses.get(name);
    if (known !== undefined) known.at_ms = at_ms;
    else if (this.#uses.size < MAX_WAITING) this.#uses.set(name, { tenant_id, key_id, client, at_ms });
  }

  /** Writes what was noted, unless that is under way. Never rejects. */
  flush(): Promise<void> {
    this.#writing ??= this.#write().finally(() => (this.#writing = undefined));
    return this.#writing;
  }

  /** Writes what is left, and nothing after that. Never rejects. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#writing;
    await this.flush();
  }

  async #write(): Promise<void> {
    const lot = [...this.#uses.values()].slice(0, MAX_PER_WRITE).map((use) => ({ ...use }));
    if (lot.length === 0) return;
    const { write, logger } = this.#options;
    try {
      await withinTime(
        WRITE_LIMIT_MS,
        write(lot),
        () => new Error(`Postgres did not store uses of API keys within ${WRITE_LIMIT_MS} ms`),
      );
    } catch (error) {
      logger.warn({ err: error, uses: lot.length }, 'uses of API keys are not stored; they are kept');
      return;
    }
    for (const use of lot) {
      // Used again meanwhile: the later time is written with the next.
      const name = nameOf(use);
      if (this.#uses.get(name)?.at_ms === use.at_ms) this.#uses.delete(name);
    }
  }
}

function nameOf({ key_id, client }: Pick<KeyUse, 'key_id' | 'client'>): string {
  return `${client ?? ''} ${key_id}`;
}

/** Writes uses as the service role, in one statement with time-outs of its own. */
export function keyUsesWriter(sql: Db): WriteKeyUses {
  return (uses) =>
    sql.begin(async (tx) => {
      await Promise.all([limitTransaction(tx, STATEMENT_MS, LOCK_MS), touchKeys(tx, uses)]);
    });
}
