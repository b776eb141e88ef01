import { ApiError } from '../errors.ts';
import { patchPlayerBody, playerResource } from './schema.ts';

const WRITABLE = new Set(Object.keys(patchPlayerBody.shape));
const COMPUTED = new Set(Object.keys(playerResource.shape).filter((field) => !WRITABLE.has(field)));

/** Throws FIELD_NOT_WRITABLE naming each field of a player that the body sets and callers cannot (spec part 2). */
export function refuseComputedFields(body: unknown): void {
  if (typeof body !== 'object' || body === null) return;
  const fields = Object.keys(body).filter((field) => COMPUTED.has(field));
  if (fields.length === 0) return;
  const issues = fields.map((path) => ({ path, message: 'is maintained by the service' }));
  throw new ApiError('FIELD_NOT_WRITABLE', `cannot be set: ${fields.join(', ')}`, { details: { issues } });
}
