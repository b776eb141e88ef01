import { BoundedCache } from '../../../platform/bounded-cache.ts';
import { selectExistingProviders, type ProviderRow } from '../../providers/queries.ts';
import type { Platform } from '../../../platform/platform.ts';
import type { Message, SendOutcome, Transport } from '../../providers/message.ts';
import { noteOutcomes } from '../../providers/note-credentials.ts';
import { openTransport } from './open.ts';
import { ProviderBackOffs, ProviderPlaces, type HeldPlaces } from './provider-state.ts';

const MAX_OPEN = 200;

/** A provider's transport, and how many messages it may be given now. */
export interface OpenedTransport {
  /**
   * Whether a message may begin now: the provider is active, is in no back-off after failures, and has free places. When
   * it has too few, the queue is reported to `onPlace` once they are free.
   */
  mayBegin(queue_id: string): boolean;
  /** Whether the provider failed last, also while it is probed. */
  is_failing: boolean;
  /**
   * Takes places for up to `wanted` messages; one only when it is to probe a provider that failed, and none while the
   * provider is in its back-off or its rate is used up. For a provider with a rate, `countDue` counts the due messages
   * first, because permits that are taken cannot be returned. The caller frees the places, or gives them to `deliver`.
   */
  reserve(wanted: number, countDue: (most: number) => Promise<number>): Promise<HeldPlaces>;
  /** Hands messages over, and frees the place of each when it ends; outcomes in their order. Never rejects. */
  deliver(messages: readonly Message[], places: HeldPlaces): Promise<SendOutcome[]>;
}

type Deps = Pick<Platform, 'postgres' | 'clock' | 'logger' | 'metrics' | 'rateLimiter' | 'egress'>;

/** The transports of providers, opened at their first use, and again after the provider's row has changed. */
export class Transports {
  readonly #deps: Deps;
  readonly #settings: { public_url: string };
  readonly #secretsOf: (row: ProviderRow) => Record<string, unknown>;
  readonly #closing = new Set<Promise<void>>();
  readonly #open = new BoundedCache<string, Transport>({
    max: MAX_OPEN,
    dispose: (transport) => this.#closeLater(transport),
  });
  readonly #back_offs: ProviderBackOffs;
  readonly #places = new Map<string, ProviderPlaces>();
  /** The queues that wait for a place, by provider; the first one is reported when a place is free. */
  readonly #waiting = new Map<string, Set<string>>();
  readonly #onPlace: (queue_id: string) => void;

  constructor(
    deps: Deps,
    settings: { public_url: string },
    secretsOf: (row: ProviderRow) => Record<string, unknown>,
    onPlace: (queue_id: string) => void = () => undefined,
  ) {
    this.#onPlace = onPlace;
    this.#deps = deps;
    this.#back_offs = new ProviderBackOffs(deps);
    this.#settings = settings;
    this.#secretsOf = secretsOf;
  }

  /** The provider's transport. Throws when its secrets cannot be decrypted: its messages stay queued. */
  open(row: ProviderRow): OpenedTransport {
    const key = `${row.provider_id} ${row.updated_at.getTime()}`;
    const known = this.#open.get(key);
    if (known !== undefined) return this.#watched(row, known);
    const opened: Transport = openTransport(row, this.#secretsOf(row), { ...this.#deps, ...this.#settings });
    this.#open.set(key, opened);
    return this.#watched(row, opened);
  }

  /** Forgets failures of providers that were deleted. Rejects when Postgres does not answer. */
  async tidyBackOffs(): Promise<void> {
    const { failing } = this.#back_offs;
    if (failing.length === 0) return;
    this.#back_offs.tidy(new Set(await selectExistingProviders(this.#deps.postgres.service, failing)));
  }

  async close(): Promise<void> {
    this.#open.clear();
    await Promise.all(this.#closing);
  }

  #watched(row: ProviderRow, transport: Transport): OpenedTransport {
    const { provider_id } = row;
    const places = this.#placesOf(provider_id, transport);
    return {
      mayBegin: (queue_id) => {
        if (row.status !== 'active' || this.#back_offs.most(row) === 0) return false;
        if (places.is_worth_a_claim) return true;
        this.#wait(provider_id, queue_id);
        return false;
      },
      is_failing: this.#back_offs.isFailing(row),
      reserve: async (wanted, countDue) => {
        const held = places.take(Math.min(wanted, this.#back_offs.most(row)));
        if (held.count > 0) this.#back_offs.begin(row, held);
        try {
          held.keep(await this.#permits(row, held.count, countDue));
          return held;
        } catch (error) {
          held.keep(0);
          throw error;
        }
      },
      deliver: async (messages, held) => {
        const begun_ms = this.#deps.clock.now_ms();
        const note = (outcome: SendOutcome) => this.#back_offs.note(row, outcome, begun_ms);
        const outcomes = await handOver(transport, messages, held, note);
        await this.#noteCredentials(row, outcomes);
        return outcomes;
      },
    };
  }

  /** Without an answer of Postgres the next batch notes it. */
  async #noteCredentials(row: ProviderRow, outcomes: readonly SendOutcome[]): Promise<void> {
    const { postgres, clock, logger } = this.#deps;
    const { provider_id } = row;
    await noteOutcomes(postgres.service, row, outcomes, clock.now_ms()).catch((error: unknown) =>
      logger.warn({ err: error, provider_id }, 'whether a provider refuses its credentials was not noted'),
    );
  }

  /** The places of a provider stay the same when its row changes: what it works on under the old row still counts. */
  #placesOf(provider_id: string, { concurrency }: Transport): ProviderPlaces {
    const known = this.#places.get(provider_id);
    if (known !== undefined) return known;
    const made = new ProviderPlaces(concurrency, () => {
      if (made.is_worth_a_claim) this.#reportPlace(provider_id);
    });
    this.#places.set(provider_id, made);
    return made;
  }

  #wait(provider_id: string, queue_id: string): void {
    const waiting = this.#waiting.get(provider_id);
    if (waiting === undefined) this.#waiting.set(provider_id, new Set([queue_id]));
    else waiting.add(queue_id);
  }

  #reportPlace(provider_id: string): void {
    const waiting = this.#waiting.get(provider_id);
    const [first] = waiting ?? [];
    if (waiting === undefined || first === undefined) return;
    waiting.delete(first);
    if (waiting.size === 0) this.#waiting.delete(provider_id);
    this.#onPlace(first);
  }

  /** How many of `wanted` messages the provider's rate lets begin now. */
  async #permits(
    { provider_id, rate_per_second }: ProviderRow,
    wanted: number,
    countDue: (most: number) => Promise<number>,
  ): Promise<number> {
    if (rate_per_second === null || wanted === 0) return wanted;
    const { rateLimiter } = this.#deps;
    const policy = { name: 'provider', per_second: rate_per_second, burst: rate_per_second };
    const due = await countDue(wanted);
    let permits = 0;
    while (permits < due && (await rateLimiter.take(policy, provider_id)).allowed) permits += 1;
    return permits;
  }

  #closeLater(transport: Transport): void {
    const closing: Promise<void> = transport
      .close()
      .catch((error: unknown) => this.#deps.logger.warn({ err: error }, 'a transport did not close'))
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }
}

/** Hands messages over, one place each; the place of a message is free when its outcome is noted. */
async function handOver(
  transport: Transport,
  messages: readonly Message[],
  held: HeldPlaces,
  note: (outcome: SendOutcome) => void,
): Promise<SendOutcome[]> {
  held.keep(messages.length);
  if (transport.sendMany !== undefined) {
    const outcomes = await transport.sendMany(messages).finally(() => held.keep(0));
    for (const outcome of outcomes) note(outcome);
    return outcomes;
  }
  return Promise.all(
    messages.map(async (message) => {
      try {
        const outcome = await transport.send(message);
        note(outcome);
        return outcome;
      } finally {
        held.keep(held.count - 1);
      }
    }),
  );
}
