import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

// The signature of webhooks in both directions (spec part 5): hexadecimal HMAC-SHA256 over '<timestamp>.<body>'. The key
// is the UTF-8 text of the secret.

export const SIGNATURE_HEADER = 'X-Service-Signature';
/** Seconds since the epoch. */
export const TIMESTAMP_HEADER = 'X-Service-Timestamp';

/** The largest difference between the timestamp of a webhook and the receiver's clock, in both directions. */
export const TIMESTAMP_WINDOW_MS = 5 * 60_000;

/** Bytes of a secret; as base64url they are 43 characters. */
const SECRET_BYTES = 32;

/** A new secret. */
export function newWebhookSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

/** The signature of a body; `timestamp_s` in whole seconds since the epoch. */
export function signatureOf(secret: string, timestamp_s: number, body: string | Uint8Array): string {
  return macOf(secret, String(timestamp_s), body).toString('hex');
}

/** The headers that sign a body now. */
export function signatureHeaders(secret: string, now_ms: number, body: string): Record<string, string> {
  const timestamp_s = Math.floor(now_ms / 1_000);
  return {
    [SIGNATURE_HEADER]: signatureOf(secret, timestamp_s, body),
    [TIMESTAMP_HEADER]: String(timestamp_s),
  };
}

/** A signed request as received: the two headers, if it has them, and the bytes of its body. */
export interface SignedBody {
  signature: string | undefined;
  timestamp: string | undefined;
  body: string | Uint8Array;
}

/**
 * Whether one of the secrets has signed the request, and its timestamp is within 5 minutes of `now_ms`. The time that the
 * answer takes says nothing about the secrets.
 */
export function isSigned(
  secrets: readonly string[],
  { signature, timestamp, body }: SignedBody,
  now_ms: number,
): boolean {
  if (signature === undefined || !/^[0-9a-f]{64}$/i.test(signature)) return false;
  if (timestamp === undefined || !/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(now_ms - Number(timestamp) * 1_000) > TIMESTAMP_WINDOW_MS) return false;
  const given = Buffer.from(signature, 'hex');
  // Every secret is tried, even after one fits.
  return secrets.filter((secret) => timingSafeEqual(macOf(secret, timestamp, body), given)).length > 0;
}

function macOf(secret: string, timestamp: string, body: string | Uint8Array): Buffer {
  return createHmac('sha256', Buffer.from(secret, 'utf8')).update(`${timestamp}.`).update(body).digest();
}
