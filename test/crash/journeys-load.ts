import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from '../../src/platform/postgres/port.ts';
import type { Random } from './random.ts';

/** One event that starts a run, sent until it was accepted. */
export interface PlannedEntry {
  transaction_id: string;
  player_id: string;
  is_accepted: boolean;
}

/** What the load needs to know of the service. */
export interface JourneysTarget {
  sql: Db;
  base_url: string;
  ingest_url: string;
  api_key: string;
  session_token: string;
  journey_id: string;
  player_ids: readonly string[];
}

const WORKERS = 6;
const PAUSE_MS = 10;
const MAX_BATCH = 15;
const REQUEST_TIMEOUT_MS = 10_000;
/** Of the requests: events that start runs, awaited events, changes of players; the others cancel runs. */
const SHARES = { entry: 0.42, answer: 0.26, player: 0.1 };
const MAX_ANSWERED = 5;

/** Starts runs, answers those that wait, changes players and cancels runs, and remembers what the service accepted. */
export class JourneysLoad {
  /** Whether the service is expected to answer now. */
  up = false;
  readonly entries: PlannedEntry[] = [];
  /** Runs that were waiting for an event before it was sent, and the event was accepted. */
  readonly answered = new Set<string>();
  /** Runs of which the service said that they are cancelled. */
  readonly cancelled = new Set<string>();
  /** Players whose change was accepted. */
  readonly changed = new Set<string>();
  /** Requests without an answer. */
  unanswered = 0;
  readonly #target: JourneysTarget;
  readonly #random: Random;
  readonly #retry: PlannedEntry[] = [];
  readonly #workers: Promise<void>[];
  #stopping = false;

  constructor(target: JourneysTarget, random: Random) {
    this.#target = target;
    this.#random = random;
    this.#workers = Array.from({ length: WORKERS }, () => this.#work());
    // An error of a worker is rethrown by `finish`.
    for (const worker of this.#workers) worker.catch(() => undefined);
  }

  /** Plans nothing new, and resolves when every event that starts a run was accepted. */
  async finish(): Promise<void> {
    this.#stopping = true;
    await Promise.all(this.#workers);
  }

  /** Sends the awaited event for every run that waits for it. */
  async answerAll(): Promise<void> {
    const waiting = await this.#waiting(1_000);
    for (const player_id of new Set(waiting.map((run) => run.player_id)))
      await this.#answer(player_id, waiting);
  }

  async #work(): Promise<void> {
    while (!this.#stopping || this.#retry.length > 0) {
      if (!this.up) await sleep(PAUSE_MS);
      else if (this.#stopping) await this.#enter();
      else await this.#act();
      await sleep(PAUSE_MS);
    }
  }

  async #act(): Promise<void> {
    const drawn = this.#random.next();
    if (drawn < SHARES.entry) return this.#enter();
    if (drawn < SHARES.entry + SHARES.answer) {
      const waiting = await this.#waiting(MAX_ANSWERED);
      const [first] = waiting;
      if (first !== undefined) await this.#answer(first.player_id, waiting);
      return;
    }
    if (drawn < SHARES.entry + SHARES.answer + SHARES.player) return this.#change();
    await this.#cancel();
  }

  /** Sends events that start runs: those without an answer before, and new ones. */
  async #enter(): Promise<void> {
    const { ingest_url, api_key } = this.#target;
    const size = this.#random.integer(1, MAX_BATCH);
    const entries = this.#retry.splice(0, size);
    while (entries.length < size && !this.#stopping) entries.push(this.#plan());
    if (entries.length === 0) return;
    const events = entries.map(({ player_id, transaction_id }) => {
      const properties = { amount: 100, currency: 'EUR', transaction_id, payment_method: 'card' };
      return { event: 'deposit_confirmed', player_id, properties };
    });
    const status = await this.#send('POST', `${ingest_url}/v1/events/batch`, api_key, { events });
    if (status === 202) for (const entry of entries) entry.is_accepted = true;
    else this.#retry.push(...entries);
  }

  #plan(): PlannedEntry {
    const player_id = this.#random.pick(this.#target.player_ids);
    const entry = { transaction_id: `t-${this.entries.length + 1}`, player_id, is_accepted: false };
    this.entries.push(entry);
    return entry;
  }

  /** Runs that wait for the event, long before their time is out. */
  async #waiting(limit: number): Promise<{ run_id: string; player_id: string }[]> {
    const { sql, journey_id } = this.#target;
    return sql<{ run_id: string; player_id: string }[]>`
      with waiting as (
        select run_id, player_id from journey_runs
        where journey_id = ${journey_id} and status = 'running' and node_id = 'e' and entered_at is not null
          and woken_by is null
      )
      select w.* from waiting w
      join (select distinct player_id from waiting order by player_id limit ${limit}) p using (player_id)`;
  }

  async #answer(player_id: string, waiting: readonly { run_id: string; player_id: string }[]): Promise<void> {
    const { ingest_url, api_key } = this.#target;
    const body = { event: 'custom_answer', player_id, properties: { by: 'load' } };
    if ((await this.#send('POST', `${ingest_url}/v1/events`, api_key, body)) !== 202) return;
    for (const run of waiting) if (run.player_id === player_id) this.answered.add(run.run_id);
  }

  async #change(): Promise<void> {
    const { base_url, session_token, player_ids } = this.#target;
    const player_id = this.#random.pick(player_ids);
    const url = `${base_url}/v1/players/${player_id}`;
    const body = { custom_attributes: { changed: true } };
    if ((await this.#send('PATCH', url, session_token, body)) === 200) this.changed.add(player_id);
  }

  async #cancel(): Promise<void> {
    const { sql, base_url, session_token, journey_id } = this.#target;
    const [run] = await sql<{ run_id: string }[]>`
      select run_id from journey_runs where journey_id = ${journey_id} and status = 'running'
      order by hashtext(run_id::text || ${String(this.#random.next())}) limit 1`;
    if (run === undefined) return;
    const url = `${base_url}/v1/journeys/${journey_id}/runs/${run.run_id}/cancel`;
    if ((await this.#send('POST', url, session_token)) === 200) this.cancelled.add(run.run_id);
  }

  /** The status of the answer; undefined without one. Rejects for a status that tells of a fault. */
  async #send(method: string, url: string, token: string, body?: object): Promise<number | undefined> {
    let status: number;
    let text: string;
    try {
      const response = await fetch(url, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      });
      status = response.status;
      text = await response.text();
    } catch {
      this.unanswered += 1;
      return undefined;
    }
    // 409: the run to cancel has ended.
    const is_refused =
      ![200, 202, 409, 503].includes(status) || (status === 202 && text.includes('"reason"'));
    if (is_refused) throw new Error(`the load was refused: ${status} ${text}`);
    return status;
  }
}
