import { isUtf8 } from 'node:buffer';
import { ApiError } from '../../errors.ts';

/** A request body as text and as parsed JSON. */
export interface JsonBody {
  text: string;
  value: unknown;
}

/** Parses the raw bytes of a body; throws BODY_MALFORMED (spec part 7). */
export function parseJsonBody(raw: Buffer): JsonBody {
  if (!isUtf8(raw)) throw new ApiError('BODY_MALFORMED', 'the body is not UTF-8');
  const text = raw.toString('utf8');
  try {
    return { text, value: JSON.parse(text) as unknown };
  } catch (cause) {
    throw new ApiError('BODY_MALFORMED', 'the body is not valid JSON', { cause });
  }
}
