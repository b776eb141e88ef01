const BACK_OFF_MS = 5_000;

/** Keys whose last attempt failed: each is left alone for 5 seconds, so that it holds up nothing else. */
export class BackOff {
  readonly #until_ms = new Map<string, number>();

  /** The key backs off from now on. */
  begin(key: string): void {
    this.#until_ms.set(key, performance.now() + BACK_OFF_MS);
  }

  /** The keys that back off now. */
  keys(): string[] {
    for (const [key, until_ms] of this.#until_ms)
      if (until_ms <= performance.now()) this.#until_ms.delete(key);
    return [...this.#until_ms.keys()];
  }
}
