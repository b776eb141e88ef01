/** Writes a line to the standard output. */
export function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** A whole number with separators: 6,919. */
export function count(value: number): string {
  return value.toLocaleString('en');
}

/** Cents as dollars: $1,234.50. */
export function dollars(cents: bigint): string {
  const digits = (cents < 0n ? -cents : cents).toString().padStart(3, '0');
  const whole = BigInt(digits.slice(0, -2)).toLocaleString('en');
  return `${cents < 0n ? '-' : ''}$${whole}.${digits.slice(-2)}`;
}
