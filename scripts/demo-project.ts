import { setTimeout as sleep } from 'node:timers/promises';
import type { DevCredentials } from '../src/app/greeting.ts';
import { call, CallFailed } from './service-api.ts';

const POLL_MS = 100;
const REACHED_TIMEOUT_MS = 120_000;
/** A call that meets a limit is made again so often, a second later each time. */
const MAX_TRIES = 60;
const CONNECTIONS = 4;
const BATCH = 100;

/** Where the demo's project is, and the keys of its owner. */
export type DemoKeys = Pick<DevCredentials, 'base_url' | 'ingest_url' | 'api_key' | 'session_token'>;

/**
 * The demo's project over HTTP, as its owner and by its key. Calls that meet a limit of the rate are made again for a
 * minute; every other refusal rejects with {@link CallFailed}.
 */
export class DemoProject {
  readonly keys: DemoKeys;

  constructor(keys: DemoKeys) {
    this.keys = keys;
  }

  /** Sends the events in batches. */
  async events(events: readonly object[]): Promise<void> {
    for (let i = 0; i < events.length; i += BATCH) {
      const batch = { events: events.slice(i, i + BATCH) };
      await this.#byKey(`${this.keys.ingest_url}/v1/events/batch`, batch);
    }
  }

  /** Gives the player of an anonymous id these traits. */
  async identify(anonymous_id: string, traits: object): Promise<void> {
    await this.#byKey(`${this.keys.base_url}/v1/players/identify`, { anonymous_id, traits });
  }

  /** Makes a resource, and returns its id. */
  async make(path: string, body: object): Promise<string> {
    return (await this.post<{ data: { id: string } }>(path, body)).data.id;
  }

  /** Posts as the owner. */
  post<Answer>(path: string, body?: object): Promise<Answer> {
    const headers = { authorization: `Bearer ${this.keys.session_token}` };
    return this.#patiently(() =>
      call<Answer>(this.keys.base_url + path, {
        method: 'POST',
        headers,
        ...(body === undefined ? {} : { body }),
      }),
    );
  }

  /** Reads as the owner. */
  get<Answer>(path: string): Promise<Answer> {
    const headers = { authorization: `Bearer ${this.keys.session_token}` };
    return this.#patiently(() => call<Answer>(this.keys.base_url + path, { headers }));
  }

  /** Waits until it is so; rejects after two minutes. */
  async until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    const deadline_ms = Date.now() + REACHED_TIMEOUT_MS;
    while (!(await isSo())) {
      if (Date.now() > deadline_ms) throw new Error(`not within two minutes: ${what}`);
      await sleep(POLL_MS);
    }
  }

  #byKey(url: string, body: object): Promise<unknown> {
    const headers = { authorization: `Bearer ${this.keys.api_key}` };
    return this.#patiently(() => call(url, { method: 'POST', headers, body }));
  }

  async #patiently<Answer>(make: () => Promise<Answer>): Promise<Answer> {
    for (let tries = 1; ; tries++) {
      try {
        return await make();
      } catch (error) {
        if (!(error instanceof CallFailed) || error.status !== 429 || tries === MAX_TRIES) throw error;
        await sleep(1_000);
      }
    }
  }
}

/** Does the work for each, {@link CONNECTIONS} at once. */
export async function eachOf<Item>(
  items: readonly Item[],
  work: (item: Item, n: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const some = async () => {
    for (let n = next++; n < items.length; n = next++) await work(items[n] as Item, n);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, some));
}
