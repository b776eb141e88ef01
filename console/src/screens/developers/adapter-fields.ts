import { patchAt, type FieldSpec, type Texts } from '../../format/record-texts.ts';

/** The fields of an adapter that can be changed; the token is written and never read. */
export const FIELDS: readonly FieldSpec[] = [
  { path: 'base_url', kind: 'text' },
  { path: 'auth.type', kind: 'text' },
  { path: 'auth.token', kind: 'text' },
  { path: 'timeout_ms', kind: 'int' },
  { path: 'max_rps', kind: 'int' },
  { path: 'max_in_flight', kind: 'int' },
  { path: 'capabilities.grant', kind: 'flag' },
  { path: 'capabilities.cancel', kind: 'flag' },
  { path: 'capabilities.status', kind: 'flag' },
  { path: 'capabilities.kyc', kind: 'flag' },
  { path: 'capabilities.completion', kind: 'text' },
  { path: 'is_active', kind: 'flag' },
];

/** The field of the token, which no answer shows. */
export const TOKEN = 'auth.token';

/**
 * The merge patch of the fields whose texts were changed, and of nothing else; `values` are those of the whole form.
 * Credentials go out together: a new token belongs to the kind that the form shows.
 */
export function patchOf(changes: Texts, values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const body = patchAt(Object.keys(changes), values);
  return body['auth'] === undefined ? body : { ...body, auth: authOf(values) };
}

/** The token is dropped when only the signature is to be sent. */
export function authOf(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { type = 'none', token } = (values['auth'] ?? {}) as { type?: string; token?: string };
  return type === 'bearer' && token !== undefined ? { type, token } : { type };
}
