/** The token of an `Authorization: Bearer <token>` header; undefined when the header is anything else. */
export function bearerToken(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  return /^bearer +([^\s]+) *$/i.exec(header)?.[1];
}
