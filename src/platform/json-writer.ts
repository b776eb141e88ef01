import { ExactNumber } from './exact-json.ts';

/** A part of JSON that is text already, such as an amount as digits or an event's properties: it is written unchanged. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** The digits of a number as JSON; null stays null. */
export function jsonDigits(digits: string | null): JsonText | null {
  return digits === null ? null : new JsonText(digits);
}

/**
 * As `JSON.stringify` of a value that is not undefined, but a bigint and an ExactNumber are numbers with all
 * their digits, and a {@link JsonText} is what it holds. JSON is never put together by hand: a value with quotes or `$&` in it would break it.
 */
export function writeJson(value: unknown): string {
  if (value instanceof JsonText) return value.text;
  if (typeof value === 'bigint' || value instanceof ExactNumber) return String(value);
  if (typeof value !== 'object' || value === null || value instanceof Date) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((one) => writeJson(one ?? null)).join(',')}]`;
  const fields = Object.entries(value)
    .filter(([, one]) => one !== undefined)
    .map(([name, one]) => `${JSON.stringify(name)}:${writeJson(one)}`);
  return `{${fields.join(',')}}`;
}
