import { hash } from 'node:crypto';
import { ApiError } from '../errors.ts';
import { exactJson } from '../platform/exact-json.ts';

/** A record as the audit log shows it: what people change, without what events and jobs change meanwhile. */
export type RecordImage = object;

/** Fields that jobs set, or that are derived from others when the record is shown. */
const NOT_OF_PEOPLE = new Set(['updated_at', 'last_error', 'warnings', 'draft_version']);

/** The entity tag of a record, for the headers ETag and If-Match: a hash of what people can change in it. */
export function entityTagOf(image: RecordImage): string {
  const fields = Object.entries(image).filter(([name]) => !NOT_OF_PEOPLE.has(name));
  const text = exactJson(fields);
  return `"${hash('sha256', text, 'base64url').slice(0, 22)}"`;
}

/**
 * Throws PRECONDITION_FAILED unless an If-Match header names the record as it is: somebody has changed it since the caller
 * read it. `details.current` is the record as it is now. `*` matches every record, and a weak tag none.
 */
export function requireVersion(if_match: string, image: RecordImage): void {
  const current = entityTagOf(image);
  const tags = if_match.split(',').map((tag) => tag.trim());
  if (tags.includes('*') || tags.includes(current)) return;
  const message = `the record was changed since ${if_match.slice(0, 100)} was read: see details.current, and send If-Match: ${current}`;
  throw new ApiError('PRECONDITION_FAILED', message, { details: { current: image, etag: current } });
}
