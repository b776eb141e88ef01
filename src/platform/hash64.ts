import { hash } from 'node:crypto';

/** 64 bits of a text, as a signed integer: equal texts have equal ones, and others nearly never. No secret may rely on it. */
export function hash64(text: string): bigint {
  return BigInt.asIntN(64, BigInt(`0x${hash('sha1', text).slice(0, 16)}`));
}
