import { ApiError } from '../errors.ts';

/**
 * Returns a function for an endpoint's `refuse`. It throws FIELD_NOT_WRITABLE, which names each of these fields that
 * the body sets. This has a code of its own, because such a caller sends back a record that it has read; a misspelt
 * field is VALIDATION_ERROR.
 */
export function refuseUnwritable(fields: ReadonlySet<string>): (body: unknown) => void {
  return (body) => {
    if (typeof body !== 'object' || body === null) return;
    const given = Object.keys(body).filter((field) => fields.has(field));
    if (given.length === 0) return;
    const issues = given.map((path) => ({ path, message: 'is maintained by the service' }));
    throw new ApiError('FIELD_NOT_WRITABLE', `cannot be set: ${given.join(', ')}`, { details: { issues } });
  };
}
