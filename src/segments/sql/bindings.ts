import { exactJson } from '../../platform/exact-json.ts';
/** Bytes of a statement, or of one parameter: by default a ClickHouse server accepts 128 KiB per form field. */
export const MAX_FIELD = 120_000;

/** The bytes of a parameter in the request, or a little more: quotes and backslashes are escaped twice. */
export function parameterBytes(value: unknown): number {
  const text = exactJson(value);
  return Buffer.byteLength(text) + 3 * (text.match(/['\\]/g)?.length ?? 0);
}

/** The values in as few lists as parameters may hold. */
export function parameterLists(values: readonly unknown[]): unknown[][] {
  const lists: unknown[][] = [];
  let bytes = MAX_FIELD;
  for (const value of values) {
    const more = parameterBytes(value) + 1;
    if (bytes + more >= MAX_FIELD) {
      lists.push([]);
      bytes = 2;
    }
    bytes += more;
    lists.at(-1)?.push(value);
  }
  return lists;
}

/**
 * Whether the number is an integer beyond the safe range (2^53). The client of the embedded ClickHouse refuses such a
 * number even for a Float64 parameter; as text it gives the same double.
 */
function isBeyondIntegers(value: unknown): boolean {
  return typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
}

/**
 * The parameters of one statement: values are bound, never written into the text. Equal values share a placeholder, so
 * that equal conditions have equal text, which ClickHouse computes once.
 */
export class Bindings {
  readonly #placeholders = new Map<string, string>();
  readonly #params: Record<string, unknown> = {};

  /** Binds a value as a ClickHouse type; returns its placeholder, like `{p0:String}`. */
  bind(type: string, value: unknown): string {
    const key = `${type} ${exactJson(value)}`;
    const known = this.#placeholders.get(key);
    if (known !== undefined) return known;
    const name = `p${this.#placeholders.size}`;
    const placeholder = `{${name}:${type}}`;
    this.#placeholders.set(key, placeholder);
    this.#params[name] = isBeyondIntegers(value) ? String(value) : value;
    return placeholder;
  }

  /** The bound values by placeholder name. */
  get params(): Record<string, unknown> {
    return { ...this.#params };
  }
}
