import { z } from 'zod';

/**
 * A text that is trimmed and then has `min` (1 at least) to `max` characters. The pattern is for the OpenAPI document:
 * it says of the text as it is sent what `min` says of the trimmed one.
 */
export function trimmedText(min: number, max: number) {
  const pattern = min === 1 ? '\\S' : `\\S[\\s\\S]{${min - 2},}\\S`;
  return z.string().trim().min(min).max(max).meta({ pattern });
}
