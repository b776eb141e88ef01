import { ApiError } from '../errors.ts';

/**
 * For an endpoint's `refuse`: throws FIELD_NOT_WRITABLE naming each of these fields that the body sets, because a
 * caller who sends back what it read is not a caller who misspelt something.
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
