import { v7 } from 'uuid';

/** A new id: UUIDv7, so that rows made together lie together in every index. */
export function newId(): string {
  return v7();
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether the text is a UUID of any version, in the canonical 36 characters. */
export function isUuid(text: string): boolean {
  return text.length === 36 && UUID.test(text);
}
