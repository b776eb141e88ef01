import { LRUCache } from 'lru-cache';
import type { ProviderRow } from '../../providers/queries.ts';
import type { Platform } from '../../../wiring/platform.ts';
import type { Message, Outcome, Transport } from '../../providers/message.ts';
import { openTransport } from './open.ts';

const MAX_OPEN = 200;
/**
 * The limits of the pause of a provider that is unavailable or asks for a pause. Each message has a pause of its own
 * besides.
 */
const SHORTEST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 15 * 60_000;

/** A provider's transport, and how many messages it may be given now. */
export interface OpenedTransport {
  /** Whether the provider is active and not paused after failures. */
  is_ready: boolean;
  /**
   * How many messages it may be given at once, up to `wanted`; 0 while the provider's rate is used up. For a provider
   * with a rate, `countDue` counts the due messages first, because permits that are taken cannot be returned.
   */
  permits(wanted: number, countDue: (most: number) => Promise<number>): Promise<number>;
  /** Hands messages over; outcomes in their order. Never rejects. */
  deliver(messages: readonly Message[]): Promise<Outcome[]>;
}

type Deps = Pick<Platform, 'postgres' | 'clock' | 'logger' | 'rateLimiter' | 'egress'>;

/** The transports of providers, opened at their first use, and again after the provider's row has changed. */
export class Transports {
  readonly #deps: Deps;
  readonly #settings: { public_url: string };
  readonly #secretsOf: (row: ProviderRow) => Record<string, unknown>;
  readonly #closing = new Set<Promise<void>>();
  readonly #open = new LRUCache<string, Transport>({
    max: MAX_OPEN,
    dispose: (transport) => this.#closeLater(transport),
  });
  readonly #paused_until_ms = new Map<string, number>();

  constructor(
    deps: Deps,
    settings: { public_url: string },
    secretsOf: (row: ProviderRow) => Record<string, unknown>,
  ) {
    this.#deps = deps;
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

  async close(): Promise<void> {
    this.#open.clear();
    await Promise.all(this.#closing);
  }

  #watched(row: ProviderRow, transport: Transport): OpenedTransport {
    const is_paused = (this.#paused_until_ms.get(row.provider_id) ?? 0) > this.#deps.clock.now_ms();
    return {
      is_ready: row.status === 'active' && !is_paused,
      permits: (wanted, countDue) => this.#permits(row, transport, wanted, countDue),
      deliver: async (messages) => {
        const outcomes =
          transport.sendMany === undefined
            ? await Promise.all(messages.map((message) => transport.send(message)))
            : await transport.sendMany(messages);
        this.#pauseAfter(row, outcomes);
        return outcomes;
      },
    };
  }

  async #permits(
    row: ProviderRow,
    transport: Transport,
    wanted: number,
    countDue: (most: number) => Promise<number>,
  ): Promise<number> {
    const { rateLimiter } = this.#deps;
    const at_once = transport.sendMany === undefined ? Math.min(wanted, transport.concurrency) : wanted;
    if (row.rate_per_second === null) return at_once;
    const policy = { name: 'provider', per_second: row.rate_per_second, burst: row.rate_per_second };
    const due = await countDue(at_once);
    let permits = 0;
    while (permits < due && (await rateLimiter.take(policy, row.provider_id)).allowed) permits += 1;
    return permits;
  }

  /**
   * Pauses a provider that is unavailable or asks for a pause. A retry that concerns one recipient only does not pause
   * the provider: a few such recipients in a hundred would stop all messages.
   */
  #pauseAfter({ provider_id }: ProviderRow, outcomes: readonly Outcome[]): void {
    const asked = outcomes.flatMap((one) =>
      one.kind === 'retry' && one.is_of_recipient !== true ? [one.retry_after_ms ?? 0] : [],
    );
    if (asked.length === 0) return;
    const pause_ms = Math.min(Math.max(SHORTEST_PAUSE_MS, ...asked), LONGEST_PAUSE_MS);
    this.#paused_until_ms.set(provider_id, this.#deps.clock.now_ms() + pause_ms);
  }

  #closeLater(transport: Transport): void {
    const closing: Promise<void> = transport
      .close()
      .catch((error: unknown) => this.#deps.logger.warn({ err: error }, 'a transport did not close'))
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }
}
