import { isUtf8 } from 'node:buffer';
import { ApiError } from '../../errors.ts';
import { parseExact } from '../../platform/exact-json.ts';

/** A request body as text and as parsed JSON, its numbers not rounded. */
export interface JsonBody {
  text: string;
  value: unknown;
}

/** Parses the raw bytes of a body; throws BODY_MALFORMED (spec part 7). */
export function parseJsonBody(raw: Buffer): JsonBody {
  if (!isUtf8(raw)) throw new ApiError('BODY_MALFORMED', 'the body is not UTF-8');
  const text = raw.toString('utf8');
  try {
    return { text, value: parseExact(text) };
  } catch (cause) {
    throw new ApiError('BODY_MALFORMED', 'the body is not valid JSON', { cause });
  }
}
