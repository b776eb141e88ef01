import { hash, randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

/** Random bytes are fetched for many ids at once: fetching 16 bytes costs nearly as much as fetching thousands. */
const POOL_BYTES = 8_192;
const ID_BYTES = 16;
const pool = new Uint8Array(POOL_BYTES);
let used = POOL_BYTES;

/** A new id: UUIDv7, so that rows created at the same time are neighbours in every index. */
export function newId(): string {
  if (used === POOL_BYTES) {
    randomFillSync(pool);
    used = 0;
  }
  used += ID_BYTES;
  return v7({ random: pool.subarray(used - ID_BYTES, used) });
}

/** 32 bits of a hash of the text (FNV-1a over its UTF-16 units), as a signed integer, after those of `before`: for what differs by chance. */
export function hash32Of(text: string, before = 0x81_1c_9d_c5): number {
  let hashed = before | 0;
  for (let i = 0; i < text.length; i++) hashed = Math.imul(hashed ^ text.charCodeAt(i), 0x01_00_01_93);
  return hashed;
}

/** 128 bits of the SHA-256 of the text, written as a UUID: two texts never have the same. */
export function hashedId(text: string): string {
  return hash('sha256', text)
    .slice(0, 32)
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** Before every id in the order of ids; no row has it. */
export const NIL_ID = '00000000-0000-0000-0000-000000000000';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether the text is a UUID of any version, in the canonical 36 characters. */
export function isUuid(text: string): boolean {
  return text.length === 36 && UUID.test(text);
}
