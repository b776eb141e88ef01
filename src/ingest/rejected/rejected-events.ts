import { hash } from 'node:crypto';
import type { ErrorCode } from '../../errors.ts';
import type { ApiKeyPrincipal } from '../../http/auth/api-key.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { Platform } from '../../platform/platform.ts';
import { withinTime } from '../../platform/time-limit.ts';
import type { RejectionRow } from './queries.ts';
import { shapeOf, withoutContacts, withoutQuotedContacts } from './shape.ts';

/** A cause is written at once when it is new, and then once in this time. */
const AGAIN_MS = 60_000;
/** How long after it was noted a new cause is written. */
const SOON_MS = 2_000;
/** Causes of a project that are kept one by one in {@link AGAIN_MS}; further ones are counted by their code. */
export const MAX_CAUSES = 30;
/** Causes of all projects in this process; further ones are dropped. */
const MAX_KNOWN = 10_000;
const MAX_PER_WRITE = 500;
const WRITE_LIMIT_MS = 10_000;
const DAY_MS = 86_400_000;
const MAX_REASON = 300;
const MAX_NAME = 100;
const MAX_CLIENT = 100;

/** The reason of the row that counts what is not kept one by one. */
export const FURTHER = 'further refusals with this code, which are counted together';

/** Something that intake refused to an API key. */
export interface Rejection {
  key: Pick<ApiKeyPrincipal, 'tenant_id' | 'project_id' | 'key_id'>;
  code: ErrorCode;
  /** For people. Values of the event stand in double quotes; the fewer, the better refusals are counted together. */
  reason: string;
  /** The name of the event as it was sent; a text, or anything else for none. */
  name?: unknown;
  /** The event as it was sent, parsed; absent: the request was refused as a whole. */
  sent?: unknown;
  /** The place of the event in its batch. */
  index?: number;
  /** The library that sent it, such as `analytics-node 3.1.0`, or the kind of client. */
  client: string;
}

/** Writes rows, each once. */
export type WriteRejections = (rows: readonly RejectionRow[]) => Promise<void>;

interface RejectedEventsOptions extends Pick<Platform, 'clock' | 'logger'> {
  metrics: Pick<Metrics, 'rejectionsDropped'>;
  write: WriteRejections;
}

interface Cause {
  row: Omit<RejectionRow, 'rejection_key' | 'rejections' | 'last_at'>;
  name: string;
  rejections: number;
  last_ms: number;
  due_ms: number;
}

/**
 * What intake refuses, for Events › Rejected. A refusal is noted in memory, and counted with those of the same cause: key, code,
 * reason, name and client. So requests do not wait for it, and ten thousand a second cost one row. Each cause is written
 * soon after its first refusal and then once a minute, at most {@link MAX_CAUSES} and a row for each code of a project. What
 * cannot be written is counted in `rejected_events_dropped_total` and forgotten.
 */
export class RejectedEvents {
  readonly #options: RejectedEventsOptions;
  readonly #causes = new Map<string, Cause>();
  /** The number of causes by project. */
  readonly #of_project = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #is_closed = false;

  constructor(options: RejectedEventsOptions) {
    this.#options = options;
  }

  /** Notes one refusal. Never throws. */
  note(rejection: Rejection): void {
    const { key, code } = rejection;
    const reason = storable(rejection.reason, MAX_REASON);
    const name = typeof rejection.name === 'string' ? storable(rejection.name, MAX_NAME) : undefined;
    const client = storable(rejection.client, MAX_CLIENT);
    const exact = `${key.project_id}\n${key.key_id}\n${code}\n${name ?? ''}\n${client}\n${reason}`;
    if (this.#count(exact)) return;
    if ((this.#of_project.get(key.project_id) ?? 0) < MAX_CAUSES) {
      const shown = { reason: withoutQuotedContacts(reason), client: withoutContacts(client) };
      const event = name === undefined ? null : withoutContacts(name);
      const shape = rejection.sent === undefined ? null : shapeOf(rejection.sent);
      this.#add(exact, { ...refOf(rejection), ...shown, event, event_index: rejection.index ?? null, shape });
      return;
    }
    const further = `${key.project_id}\n${code}`;
    if (this.#count(further)) return;
    const nothing = { key_id: null, client: '', event: null, event_index: null, shape: null };
    this.#add(further, { ...refOf(rejection), ...nothing, reason: FURTHER });
  }

  /** Writes what is due, unless that is under way. Never rejects. */
  flush(): Promise<void> {
    this.#writing ??= this.#write(this.#options.clock.now_ms()).finally(() => (this.#writing = undefined));
    return this.#writing;
  }

  /** Writes what is left, and nothing after that. Never rejects. */
  async close(): Promise<void> {
    this.#is_closed = true;
    clearTimeout(this.#timer);
    await this.#writing;
    await this.#write(Infinity);
  }

  #count(name: string): boolean {
    const cause = this.#causes.get(name);
    if (cause === undefined) return false;
    cause.rejections++;
    cause.last_ms = this.#options.clock.now_ms();
    return true;
  }

  #add(name: string, row: Omit<Cause['row'], 'first_at'>): void {
    if (this.#causes.size >= MAX_KNOWN) {
      this.#options.metrics.rejectionsDropped.inc({ cause: 'too_many' });
      return;
    }
    const now_ms = this.#options.clock.now_ms();
    const cause = { row: { ...row, first_at: new Date(now_ms) }, name, rejections: 1, last_ms: now_ms };
    this.#causes.set(name, { ...cause, due_ms: now_ms });
    this.#of_project.set(row.project_id, (this.#of_project.get(row.project_id) ?? 0) + 1);
    this.#wake();
  }

  /** No timer runs while nothing was refused: it would wake an idle process. */
  #wake(): void {
    if (this.#timer !== undefined || this.#is_closed) return;
    this.#timer = setTimeout(() => {
      void this.flush().then(() => {
        this.#timer = undefined;
        if (this.#causes.size > 0) this.#wake();
      });
    }, SOON_MS).unref();
  }

  async #write(until_ms: number): Promise<void> {
    const due: Cause[] = [];
    for (const cause of this.#causes.values()) {
      if (cause.due_ms > until_ms) continue;
      if (cause.rejections === 0) this.#forget(cause);
      else due.push(cause);
    }
    const rows = merged(due.map(rowOf));
    for (const cause of due) {
      cause.rejections = 0;
      cause.due_ms = this.#options.clock.now_ms() + AGAIN_MS;
    }
    for (let from = 0; from < rows.length; from += MAX_PER_WRITE)
      await this.#store(rows.slice(from, from + MAX_PER_WRITE));
  }

  async #store(rows: readonly RejectionRow[]): Promise<void> {
    const { write, logger, metrics } = this.#options;
    try {
      await withinTime(
        WRITE_LIMIT_MS,
        write(rows),
        () => new Error(`Postgres did not store rejections within ${WRITE_LIMIT_MS} ms`),
      );
    } catch (error) {
      // Not tried again: it may have been stored, and would count twice.
      const rejections = rows.reduce((sum, row) => sum + row.rejections, 0);
      metrics.rejectionsDropped.inc({ cause: 'not_stored' }, rejections);
      logger.warn({ err: error, rejections }, 'rejected events are not stored, and forgotten');
    }
  }

  #forget({ name, row: { project_id } }: Cause): void {
    this.#causes.delete(name);
    const left = (this.#of_project.get(project_id) ?? 1) - 1;
    if (left === 0) this.#of_project.delete(project_id);
    else this.#of_project.set(project_id, left);
  }
}

/** The beginning of a text as Postgres takes it: one with NUL would fail the statement, and all rows with it. */
function storable(text: string, max: number): string {
  return text.slice(0, max).toWellFormed().replaceAll('\0', '\ufffd');
}

function refOf({ key: { tenant_id, project_id, key_id }, code }: Rejection) {
  return { tenant_id, project_id, key_id, code };
}

/** Causes that differ in a masked part only are one row. */
function merged(rows: readonly RejectionRow[]): RejectionRow[] {
  const by_key = new Map<string, RejectionRow>();
  for (const row of rows) {
    const same = by_key.get(row.rejection_key);
    if (same === undefined) {
      by_key.set(row.rejection_key, row);
      continue;
    }
    same.rejections += row.rejections;
    if (row.last_at > same.last_at) same.last_at = row.last_at;
  }
  return [...by_key.values()];
}

/** The row of the UTC day on which the cause came last. */
function rowOf({ row, rejections, last_ms }: Cause): RejectionRow {
  const { project_id, key_id, code, event, client, reason } = row;
  const day = Math.floor(last_ms / DAY_MS);
  const digest = hash('sha256', JSON.stringify([day, project_id, key_id, code, event, client, reason]));
  const last_at = new Date(last_ms);
  return { ...row, rejection_key: digest.slice(0, 32), rejections, last_at };
}
