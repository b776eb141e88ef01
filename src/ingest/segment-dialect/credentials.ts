const BASIC = /^basic +([^\s]+) *$/i;

/**
 * The API key in an `Authorization: Basic` header: the user, before the first colon. Undefined for no header and for one of
 * another scheme; the empty text where there is no user.
 */
export function basicUser(header: string | undefined): string | undefined {
  const encoded = header === undefined ? undefined : BASIC.exec(header)?.[1];
  if (encoded === undefined) return undefined;
  const credentials = Buffer.from(encoded, 'base64').toString();
  const colon = credentials.indexOf(':');
  return colon === -1 ? credentials : credentials.slice(0, colon);
}

/**
 * The `Authorization: Bearer` header with the API key of a request without Basic: the key in the body, or else the header
 * itself. A key in the body that is no text is a bad one.
 */
export function bearerOf(write_key: unknown, header: string | undefined): string | undefined {
  if (write_key === undefined || write_key === null) return header;
  return `Bearer ${typeof write_key === 'string' ? write_key : 'none'}`;
}
