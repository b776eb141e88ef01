const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Whether a text has the form of an id, in either case. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** The text, when it has the form of an id. */
export function uuidOf(text: string | undefined): string | undefined {
  return text !== undefined && isUuid(text) ? text : undefined;
}
