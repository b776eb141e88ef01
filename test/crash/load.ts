import { setTimeout as sleep } from 'node:timers/promises';
import type { Model, PlannedEvent } from './model.ts';
import type { Random } from './random.ts';

const WORKERS = 8;
const MAX_BATCH = 30;
const REQUEST_TIMEOUT_MS = 10_000;
const PAUSE_WHILE_DOWN_MS = 5;
/** Accepted events that may be sent again, to verify that a repetition changes nothing. */
const REMEMBERED = 500;

/** Sends the model's events over HTTP, some of them again, and records the answers in the model. */
export class Load {
  /** Whether the service is expected to answer now. */
  up = false;
  requests = 0;
  /** Number of sends of events that may have been accepted before. */
  repeated = 0;
  /** Number of 500 answers: the service should answer 503 when it cannot take events. */
  faults = 0;
  #model: Model;
  #random: Random;
  #ingest_url: string;
  #api_key: string;
  #pause_ms: number;
  #retry: PlannedEvent[] = [];
  #accepted: PlannedEvent[] = [];
  #stopping = false;
  #workers: Promise<void>[];

  /** `pause_ms`: the pause of each of the {@link WORKERS} after a request, for a run that need not be as fast as it can. */
  constructor(options: {
    model: Model;
    random: Random;
    ingest_url: string;
    api_key: string;
    pause_ms?: number;
  }) {
    this.#model = options.model;
    this.#random = options.random;
    this.#ingest_url = options.ingest_url;
    this.#api_key = options.api_key;
    this.#pause_ms = options.pause_ms ?? 0;
    this.#workers = Array.from({ length: WORKERS }, () => this.#work());
    // An error of a worker is rethrown by `finish`.
    for (const worker of this.#workers) worker.catch(() => undefined);
  }

  /** Plans no new events, and resolves when every event with an id has been accepted. */
  async finish(): Promise<void> {
    this.#stopping = true;
    await Promise.all(this.#workers);
  }

  async #work(): Promise<void> {
    while (!this.#stopping || this.#retry.length > 0) {
      if (this.up) {
        await this.#send(this.#next());
        if (this.#pause_ms > 0) await sleep(this.#pause_ms);
      } else await sleep(PAUSE_WHILE_DOWN_MS);
    }
  }

  #next(): PlannedEvent[] {
    const size = this.#random.chance(0.3) ? 1 : this.#random.integer(1, MAX_BATCH);
    const events = this.#retry.splice(0, size);
    while (events.length < size && !this.#stopping) {
      const repeat = this.#accepted.length > 0 && this.#random.chance(0.05);
      events.push(repeat ? this.#random.pick(this.#accepted) : this.#model.plan());
    }
    return events;
  }

  async #send(events: readonly PlannedEvent[]): Promise<void> {
    const [first] = events;
    if (first === undefined) return;
    this.requests++;
    for (const event of events) if (event.accepted + event.ambiguous > 0) this.repeated++;
    const single = events.length === 1;
    const body = single ? first.body : { events: events.map((event) => event.body) };
    const answer = await this.#post(single ? '/v1/events' : '/v1/events/batch', body);
    for (const event of events) {
      if (answer === 'accepted') {
        event.accepted++;
        event.accepted_ms ??= Date.now();
        if (event.has_id) this.#remember(event);
      } else {
        event.ambiguous++;
        if (event.has_id) this.#retry.push(event);
      }
    }
  }

  /** No answer, an incomplete one and a 503 leave the outcome open; every other refusal is a fault of this test. */
  async #post(path: string, body: object): Promise<'accepted' | 'ambiguous'> {
    let status: number;
    let text: string;
    try {
      const response = await fetch(`${this.#ingest_url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${this.#api_key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      });
      status = response.status;
      text = await response.text();
    } catch {
      // The service is down: the pause keeps the workers from spinning until the test marks it as down.
      await sleep(PAUSE_WHILE_DOWN_MS);
      return 'ambiguous';
    }
    if (status === 202 && !text.includes('"reason"')) return 'accepted';
    if (status === 503 || status === 500) {
      if (status === 500) this.faults++;
      await sleep(PAUSE_WHILE_DOWN_MS);
      return 'ambiguous';
    }
    throw new Error(`the load was refused: ${status} ${text}`);
  }

  #remember(event: PlannedEvent): void {
    if (this.#accepted.length < REMEMBERED) this.#accepted.push(event);
    else this.#accepted[this.#random.integer(0, REMEMBERED - 1)] = event;
  }
}
