/** The places of a provider: as many messages as it works on at once. A place is taken before a message is claimed. */
export class Places {
  readonly #capacity: number;
  readonly #onFree: () => void;
  #taken = 0;

  constructor(capacity: number, onFree: () => void) {
    this.#capacity = capacity;
    this.#onFree = onFree;
  }

  get free(): number {
    return this.#capacity - this.#taken;
  }

  /** Takes up to `wanted` free places. */
  take(wanted: number): HeldPlaces {
    const count = Math.max(0, Math.min(wanted, this.free));
    this.#taken += count;
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
