/** The 32-bit FNV-1a hash of the text's UTF-8. */
export function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}

/** MurmurHash3's finaliser: each bit of the hash affects each bit of the result. */
export function fmix32(hash: number): number {
  let h = hash;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/**
 * Which of `total` equal parts the text falls into: 0 … total − 1, always the same. `total` is a positive integer.
 *
 * FNV-1a alone is not enough. Its lowest bit is the parity of the input's bytes, so `hash % 2` of "<campaign>:<player>"
 * puts a player into the same half for every campaign, or always into the other; and its upper bits correlate between
 * campaigns.
 */
export function bucketOf(text: string, total: number): number {
  // BigInt, because the product of 32 bits and a sum of weights may exceed 2^53.
  return Number((BigInt(fmix32(fnv1a(text))) * BigInt(total)) >> 32n);
}
