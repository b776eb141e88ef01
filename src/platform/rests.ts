const REST_MS = 5_000;

/** What failed is left alone for a while, so that it holds up nothing else. */
export class Rests {
  readonly #until_ms = new Map<string, number>();

  begin(id: string): void {
    this.#until_ms.set(id, performance.now() + REST_MS);
  }

  /** Those that rest now. */
  ids(): string[] {
    for (const [id, until_ms] of this.#until_ms) if (until_ms <= performance.now()) this.#until_ms.delete(id);
    return [...this.#until_ms.keys()];
  }
}
