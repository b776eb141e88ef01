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
