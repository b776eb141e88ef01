import { z } from 'zod';

/**
 * A schema of a text that is trimmed and then has `min` (at least 1) to `max` characters. The pattern is for the
 * OpenAPI document: it requires of the untrimmed text what `min` requires of the trimmed one.
 */
export function trimmedText(min: number, max: number) {
  const pattern = min === 1 ? '\\S' : `\\S[\\s\\S]{${min - 2},}\\S`;
  return z.string().trim().min(min).max(max).meta({ pattern });
}
