import { hash, randomBytes } from 'node:crypto';
import { BoundedCache } from '../../platform/bounded-cache.ts';
import type { AccessChanges } from './session.ts';
import type { BrowserSessions } from './browser-session.ts';
import type { Maybe } from './maybe.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Notifications } from '../../platform/postgres/notifications.ts';
import type { Db, Tx } from '../../platform/postgres/port.ts';
import {
  deleteSession,
  deleteSessionsOf,
  deleteSessionWithin,
  findSession,
  insertSession,
  listSessions,
  touchSession,
  type ListedSession,
  type NewSession,
  type SessionRow,
  type SessionScope,
} from './console-session-queries.ts';

/** NOTIFY channel; the payload is the hash of a session that has ended, in hexadecimal. */
const ENDED_CHANNEL = 'console_session_ended';

const ID_BYTES = 32;
/** Longest life of a session, used or not. */
export const ABSOLUTE_MS = 12 * 3_600_000;
/** A session that is not used for so long has ended. */
export const IDLE_MS = 30 * 60_000;
/** How stale `last_seen_at` may be, so that not every request writes. */
const TOUCH_MS = 60_000;
const CACHE_TTL_MS = 30_000;
const MAX_CACHED = 10_000;

interface Cached extends SessionRow {
  checked_at_ms: number;
}

interface Deps {
  /** The service role. */
  sql: Db;
  clock: Clock;
  notifications: Notifications;
  /** Called with each session that has ended. */
  access_changes: AccessChanges;
}

/** Sessions of the console's users, by the random id in their cookie. Only hashes of ids are stored. */
export class ConsoleSessions implements BrowserSessions {
  readonly #deps: Deps;
  readonly #cache = new BoundedCache<string, Cached>({ max: MAX_CACHED });
  /** Grows with each ended session: a look-up that began before must not fill the cache after it. */
  #epoch = 0;

  private constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Opens the sessions and listens for those that other processes end. */
  static async open(deps: Deps): Promise<ConsoleSessions> {
    const sessions = new ConsoleSessions(deps);
    await deps.notifications.on(
      ENDED_CHANNEL,
      (key) => sessions.#forget([key]),
      () => sessions.#forgetAll(),
    );
    return sessions;
  }

  /** Begins a session and returns its id, which only the browser keeps. */
  async begin(session: NewSession): Promise<string> {
    const id = randomBytes(ID_BYTES).toString('base64url');
    const now_ms = this.#deps.clock.now_ms();
    const times = { now: new Date(now_ms), expires_at: new Date(now_ms + ABSOLUTE_MS) };
    await insertSession(this.#deps.sql, hashOf(id), session, times);
    return id;
  }

  userOf(id: string): Maybe<string | undefined> {
    const key = keyOf(id);
    const cached = this.#cache.get(key);
    if (cached !== undefined && this.#isFresh(cached)) return cached.user_id;
    return this.#find(id).then((found) => found?.user_id);
  }

  /** The session itself; undefined when it has ended. */
  async find(id: string): Promise<SessionRow | undefined> {
    return this.#find(id);
  }

  /** Ends a session. Returns the ID token with which the identity provider ends its own, if there is one. */
  async end(id: string): Promise<string | null> {
    const ended = await deleteSession(this.#deps.sql, hashOf(id));
    await this.#announce([keyOf(id)]);
    return ended?.id_token ?? null;
  }

  /** Ends the sessions that the identity provider says have ended; returns how many. */
  async endOf(ended: { provider_sid: string } | { user_id: string }): Promise<number> {
    const hashes = await deleteSessionsOf(this.#deps.sql, ended);
    await this.#announce(hashes.map((id_hash) => id_hash.toString('hex')));
    return hashes.length;
  }

  /** At most `limit` sessions of the scope that have not ended, the newest first. */
  async list(
    scope: SessionScope,
    after: readonly [time_us: string, id: string] | undefined,
    limit: number,
  ): Promise<ListedSession[]> {
    const now_ms = this.#deps.clock.now_ms();
    const times = { now: new Date(now_ms), idle_since: new Date(now_ms - IDLE_MS) };
    return listSessions(this.#deps.sql, scope, times, after, limit);
  }

  /**
   * Ends a session of the scope by its listed id; false when there is none. `record` runs in the same transaction.
   */
  async endListed(
    scope: SessionScope,
    id: string,
    record: (tx: Tx, ended: SessionRow) => Promise<void>,
  ): Promise<boolean> {
    const ended = await this.#deps.sql.begin(async (tx) => {
      const row = await deleteSessionWithin(tx, scope, Buffer.from(id, 'hex'));
      if (row !== undefined) await record(tx, row);
      return row;
    });
    if (ended !== undefined) await this.#announce([id]);
    return ended !== undefined;
  }

  async #announce(keys: readonly string[]): Promise<void> {
    this.#forget(keys);
    const { notifications, sql } = this.#deps;
    for (const key of keys) await notifications.notify(sql, ENDED_CHANNEL, key);
  }

  #isFresh({ checked_at_ms, expires_at }: Cached): boolean {
    const now_ms = this.#deps.clock.now_ms();
    return now_ms - checked_at_ms < CACHE_TTL_MS && now_ms < expires_at.getTime();
  }

  async #find(id: string): Promise<SessionRow | undefined> {
    const { sql, clock } = this.#deps;
    const epoch = this.#epoch;
    const now_ms = clock.now_ms();
    const now = new Date(now_ms);
    const found = await findSession(sql, hashOf(id), { now, idle_since: new Date(now_ms - IDLE_MS) });
    if (found === undefined) return undefined;
    if (now_ms - found.last_seen_at.getTime() > TOUCH_MS) await touchSession(sql, hashOf(id), now);
    if (epoch === this.#epoch) this.#cache.set(keyOf(id), { ...found, checked_at_ms: now_ms });
    return found;
  }

  #forget(keys: readonly string[]): void {
    this.#epoch++;
    for (const key of keys) this.#cache.delete(key);
    this.#deps.access_changes.tell(undefined);
  }

  #forgetAll(): void {
    this.#epoch++;
    this.#cache.clear();
    this.#deps.access_changes.tell(undefined);
  }
}

function hashOf(id: string): Buffer {
  return Buffer.from(keyOf(id), 'hex');
}

function keyOf(id: string): string {
  return hash('sha256', id, 'hex');
}

/** The id in lists of the session with the id of a cookie. */
export function listedIdOf(id: string): string {
  return keyOf(id);
}
