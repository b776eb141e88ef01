import { BoundedCache } from '../../../platform/bounded-cache.ts';
import { retryPauseMs } from '../../../platform/retry-pause.ts';
import type { SendOutcome } from '../../providers/message.ts';
import type { ProviderRef, ProviderRow } from '../../providers/queries.ts';
import type { Platform } from '../../../platform/platform.ts';

/** The back-off of a provider: 2 s after its first failure, twice as long after each further one, at most 5 minutes. */
const BACK_OFFS = {
  first_ms: 2_000,
  longest_ms: 5 * 60_000,
  /** By Retry-After. */
  longest_asked_ms: 3_600_000,
};
/** When nothing probes it for so long after its back-off, no message waits for it: its length is not reported any more. */
const REPORTED_AFTER_MS = 60_000;
/** Beyond this number of failing providers the one used least is forgotten; it then begins anew. */
const MAX_FAILING = 10_000;

/** A provider that fails: it gets no message until `until_ms`; then one message probes whether it works again. */
interface BackOff {
  /** Failures in a row; those of messages that were on their way together count once. */
  failures: number;
  began_ms: number;
  until_ms: number;
  /** The place of the message that probes it. */
  probe: HeldPlaces | undefined;
  /** The row that failed: a row that was changed since is tried at once. */
  row: Pick<ProviderRow, 'tenant_id' | 'provider_id' | 'kind' | 'updated_at'>;
}

type Deps = Pick<Platform, 'clock' | 'logger' | 'metrics'>;

/**
 * The providers that fail. A provider fails when it is unavailable, asks for a pause, refuses its credentials, or leaves
 * unknown whether messages went out. Then it gets none for longer and longer, and its messages stay queued. An answer
 * about one recipient, a refusal too, shows that it works. Each process knows its own failures only.
 */
export class ProviderBackOffs {
  readonly #deps: Deps;
  readonly #failing: BoundedCache<string, BackOff>;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#failing = new BoundedCache<string, BackOff>({
      max: MAX_FAILING,
      dispose: ({ row: { provider_id, kind } }, _key, reason) => {
        if (reason !== 'set') deps.metrics.providerRest.remove({ provider_id, kind });
      },
    });
  }

  /** The providers that fail. */
  get failing(): ProviderRef[] {
    return [...this.#failing.values()].map(({ row: { tenant_id, provider_id } }) => ({
      tenant_id,
      provider_id,
    }));
  }

  /**
   * Forgets the failing providers that are not among those that still exist, and reports no back-off that is over and
   * that nothing probes.
   */
  tidy(existing: ReadonlySet<string>): void {
    const now_ms = this.#deps.clock.now_ms();
    for (const [provider_id, { row, until_ms, probe }] of this.#failing.entries()) {
      if (!existing.has(provider_id)) this.#failing.delete(provider_id);
      else if (until_ms + REPORTED_AFTER_MS < now_ms && (probe?.count ?? 0) === 0) {
        this.#deps.metrics.providerRest.remove({ provider_id, kind: row.kind });
      }
    }
  }

  /** Whether the provider failed last, also while it is probed. */
  isFailing(row: ProviderRow): boolean {
    return this.#backOffOf(row) !== undefined;
  }

  /** How many messages may begin: all, one that probes the provider, or none. */
  most(row: ProviderRow): number {
    const back_off = this.#backOffOf(row);
    if (back_off === undefined) return Infinity;
    const is_over = back_off.until_ms <= this.#deps.clock.now_ms();
    return is_over && (back_off.probe?.count ?? 0) === 0 ? 1 : 0;
  }

  /** Places were taken for messages that may begin; of a failing provider it is the place of the probe. */
  begin(row: ProviderRow, places: HeldPlaces): void {
    const back_off = this.#backOffOf(row);
    if (back_off !== undefined) back_off.probe = places;
  }

  /** Notes the outcome of a message that was handed over at `begun_ms`. */
  note(row: ProviderRow, outcome: SendOutcome, begun_ms: number): void {
    const back_off = this.#backOffOf(row);
    // What began before the back-off was over belongs to the same failure; its success does not end the back-off.
    const is_probe = back_off !== undefined && begun_ms >= back_off.until_ms;
    if (!isFailure(outcome)) {
      if (is_probe) this.#recover(back_off);
      return;
    }
    const now_ms = this.#deps.clock.now_ms();
    const asked_ms = outcome.kind === 'retry' ? (outcome.retry_after_ms ?? 0) : 0;
    const asked_until_ms = now_ms + Math.min(asked_ms, BACK_OFFS.longest_asked_ms);
    if (back_off !== undefined && !is_probe) {
      back_off.until_ms = Math.max(back_off.until_ms, asked_until_ms);
      return;
    }
    const failures = (back_off?.failures ?? 0) + 1;
    const until_ms = now_ms + retryPauseMs(BACK_OFFS, { attempt: failures, asked_ms });
    this.#begin(row, { failures, began_ms: back_off?.began_ms ?? now_ms, until_ms }, outcome.reason);
  }

  #begin(row: ProviderRow, back_off: Omit<BackOff, 'probe' | 'row'>, reason: string): void {
    const { logger, metrics, clock } = this.#deps;
    const { tenant_id, provider_id, kind, updated_at } = row;
    const failed = { tenant_id, provider_id, kind, updated_at };
    this.#failing.set(provider_id, { ...back_off, probe: undefined, row: failed });
    const pause_ms = back_off.until_ms - clock.now_ms();
    metrics.providerRest.set({ provider_id, kind }, pause_ms / 1_000);
    const { failures } = back_off;
    logger.warn(
      { provider_id, kind, failures, pause_ms, reason },
      'a messaging provider fails and gets no messages for a while',
    );
  }

  #recover({ row: { provider_id, kind }, began_ms }: BackOff): void {
    const failed_ms = this.#deps.clock.now_ms() - began_ms;
    this.#failing.delete(provider_id);
    this.#deps.logger.info({ provider_id, kind, failed_ms }, 'a messaging provider works again');
  }

  #backOffOf({ provider_id, updated_at }: ProviderRow): BackOff | undefined {
    const back_off = this.#failing.get(provider_id);
    if (back_off === undefined || back_off.row.updated_at.getTime() === updated_at.getTime()) return back_off;
    this.#failing.delete(provider_id);
    return undefined;
  }
}

/** Whether the outcome is the provider's failure; a retry that concerns one recipient is not. */
function isFailure(outcome: SendOutcome): outcome is Extract<SendOutcome, { kind: 'retry' | 'unknown' }> {
  return outcome.kind === 'unknown' || (outcome.kind === 'retry' && outcome.is_of_recipient !== true);
}

/** A claim costs as much for one message as for many: it waits for a quarter of the places, or for this time. */
const WORTH_A_CLAIM = 0.25;
const CLAIM_PAUSE_MS = 100;

/** The places of a provider: as many messages as it works on at once. A place is taken before a message is claimed. */
export class ProviderPlaces {
  readonly #capacity: number;
  readonly #onFree: () => void;
  #taken = 0;
  #last_taken_ms = -Infinity;

  constructor(capacity: number, onFree: () => void) {
    this.#capacity = capacity;
    this.#onFree = onFree;
  }

  get free(): number {
    return this.#capacity - this.#taken;
  }

  /** Whether enough places are free for a claim. */
  get is_worth_a_claim(): boolean {
    if (this.free >= Math.max(1, this.#capacity * WORTH_A_CLAIM)) return true;
    return this.free > 0 && performance.now() - this.#last_taken_ms >= CLAIM_PAUSE_MS;
  }

  /** Takes up to `wanted` free places. */
  take(wanted: number): HeldPlaces {
    const count = Math.max(0, Math.min(wanted, this.free));
    this.#taken += count;
    if (count > 0) this.#last_taken_ms = performance.now();
    return new HeldPlaces(count, () => {
      this.#taken -= 1;
      this.#onFree();
    });
  }
}

/** Places that one batch holds. */
export class HeldPlaces {
  readonly #freeOne: () => void;
  #count: number;

  constructor(count: number, freeOne: () => void) {
    this.#count = count;
    this.#freeOne = freeOne;
  }

  get count(): number {
    return this.#count;
  }

  /** Frees all but so many places. */
  keep(count: number): void {
    while (this.#count > count) {
      this.#count -= 1;
      this.#freeOne();
    }
  }
}
