import { hash } from 'node:crypto';

/**
 * The `ingestion_id` of something that its sender named itself (a `messageId`, or the `Idempotency-Key` of a batch): a
 * UUIDv8 of SHA-256(key_id, sent_id). The same name gives the same id, so that a repetition is the same events. The API
 * key is part of it, so that one key cannot name the events of another.
 */
export function sentIdOf(key_id: string, sent_id: string): string {
  const digest = hash('sha256', `${key_id}\n${sent_id}`);
  const variant = ((Number.parseInt(digest.slice(16, 18), 16) & 0x3f) | 0x80).toString(16);
  return `${digest.slice(0, 8)}-${digest.slice(8, 12)}-8${digest.slice(13, 16)}-${variant}${digest.slice(18, 20)}-${digest.slice(20, 32)}`;
}

/** Whether an ingestion_id is one of {@link sentIdOf}: those of the service itself have another version. */
export function isSentId(ingestion_id: string): boolean {
  return ingestion_id[14] === '8';
}
