/** The embedded engine's client refuses such a number, though a double is asked for; as text it is the same double. */
function isBeyondIntegers(value: unknown): boolean {
  return typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
}

/**
 * The values of one statement: they are bound, never written into its text. Equal values share a placeholder, so that
 * equal conditions have equal texts, which are computed once.
 */
export class Bindings {
  readonly #placeholders = new Map<string, string>();
  readonly #params: Record<string, unknown> = {};

  /** The placeholder of a value of a ClickHouse type. */
  bind(type: string, value: unknown): string {
    const key = `${type} ${JSON.stringify(value)}`;
    const known = this.#placeholders.get(key);
    if (known !== undefined) return known;
    const name = `p${this.#placeholders.size}`;
    const placeholder = `{${name}:${type}}`;
    this.#placeholders.set(key, placeholder);
    this.#params[name] = isBeyondIntegers(value) ? String(value) : value;
    return placeholder;
  }

  /** By placeholder name. */
  get params(): Record<string, unknown> {
    return { ...this.#params };
  }
}
