/** What engines with source text access pass to a reviver: the text that a primitive was read from. */
interface Source {
  source?: string;
}

const hasSource = (() => {
  let found = false;
  JSON.parse('1', (_key, value: unknown, context?: Source) => {
    found = context?.source === '1';
    return value;
  });
  return found;
})();

/** Begins strings that stand for integers. Made afresh, so that no text of others can begin with it. */
const mark = `${String(Math.random())}${String(Math.random())}:`;
/** A string without its end is taken whole, too: otherwise each quote in it would be tried again. */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
/** Without leading zeros, which JSON does not have. */
const INTEGER = /^-?(?:0|[1-9]\d*)$/;

/**
 * Parses JSON without losing a digit of integers: those that a `number` cannot hold exactly become `bigint`. Throws
 * SyntaxError when it is not JSON.
 */
export function parseExactly(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  if (!hasSource) return parseMarked(text);
  return JSON.parse(text, (_key, value: unknown, context?: Source) =>
    typeof value === 'number' && isLossy(value, context?.source ?? '')
      ? BigInt(context?.source ?? value)
      : value,
  );
}

function isLossy(value: number, source: string): boolean {
  return !Number.isSafeInteger(value) && INTEGER.test(source);
}

/** For engines that do not tell the source text: large integers are read as marked strings. */
function parseMarked(text: string): unknown {
  const replaced = text.replaceAll(STRING_OR_NUMBER, (token) =>
    isLossy(Number(token), token) ? `"${mark}${token}"` : token,
  );
  return JSON.parse(replaced, (_key, value: unknown) =>
    typeof value === 'string' && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value,
  );
}

/**
 * Makes the 64-bit integers of an answer `bigint`, whether or not a number could hold them, so that each field has one
 * type. `paths` name them: fields joined by `.`, with `*` for every element or value.
 */
export function withBigints(data: unknown, paths: readonly string[]): unknown {
  let result = data;
  for (const path of paths) result = replaced(result, path === '' ? [] : path.split('.'));
  return result;
}

function replaced(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (value === null || value === undefined) return value;
  if (key === undefined) {
    const isDigits = typeof value === 'string' && INTEGER.test(value);
    return isDigits || Number.isSafeInteger(value) ? BigInt(value as string | number) : value;
  }
  if (typeof value !== 'object') return value;
  const container = value as Record<string, unknown>;
  const keys = key === '*' ? Object.keys(container) : [key];
  for (const one of keys) {
    if (Object.hasOwn(container, one)) container[one] = replaced(container[one], rest);
  }
  return value;
}
