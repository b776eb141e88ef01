/** Writes JSON. A `bigint` becomes a number, or a string of digits where a number would lose some, as the service takes it. */
export function writeExactly(value: unknown): string {
  return JSON.stringify(value, (_key, one: unknown) => {
    if (typeof one !== 'bigint') return one;
    const number = Number(one);
    return Number.isSafeInteger(number) ? number : String(one);
  });
}
