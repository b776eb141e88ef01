/** A whole number as the API writes it: a `bigint` where a `number` would lose digits. */
export type Int = number | bigint;

/** The context that engines pass to a reviver: the text that the value was read from. */
interface Source {
  source?: string;
}

/**
 * Parses JSON without losing digits of whole numbers: those beyond 2^53 become `bigint`, from their text. Throws
 * SyntaxError for other text than JSON.
 */
export function parseExactly(text: string): unknown {
  return JSON.parse(text, (_key, value: unknown, context?: Source) => {
    if (typeof value !== 'number' || Number.isSafeInteger(value) || context?.source === undefined)
      return value;
    return /^-?\d+$/.test(context.source) ? BigInt(context.source) : value;
  });
}

/** Writes JSON, with so many spaces of `indent`; a `bigint` becomes a number with all its digits. */
export function writeExactly(value: unknown, indent = 0): string {
  const raw = (JSON as unknown as { rawJSON: (text: string) => unknown }).rawJSON;
  const exactly = (_key: string, one: unknown) => (typeof one === 'bigint' ? raw(String(one)) : one);
  return JSON.stringify(value, exactly, indent);
}
