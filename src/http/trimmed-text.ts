import { z } from 'zod';

/**
 * A schema of a text that is trimmed, by `clean` if that is given, and then has `min` (at least 1) to `max` characters. The pattern is for the
 * OpenAPI document: it requires of the untrimmed text what `min` requires of the trimmed one.
 */
export function trimmedText(min: number, max: number, clean = (text: string) => text.trim()) {
  const pattern = min === 1 ? '\\S' : `\\S[\\s\\S]{${min - 2},}\\S`;
  return z.string().overwrite(clean).min(min).max(max).meta({ pattern });
}
