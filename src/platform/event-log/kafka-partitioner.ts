/**
 * The partition of a key, computed as Kafka clients do by default (murmur2, positive, modulo), so that records which
 * other tools write with the same key are in the same partition.
 */
export function kafkaPartitionOf(key: string, partitions: number): number {
  return (murmur2(Buffer.from(key)) & 0x7fffffff) % partitions;
}

/** 32-bit MurmurHash2 with Kafka's seed, as a signed integer. */
export function murmur2(data: Uint8Array): number {
  const M = 0x5bd1e995;
  const length = data.length;
  const words = length >> 2;
  let h = 0x9747b28c ^ length;
  const byte = (index: number) => data[index] ?? 0;
  for (let i = 0; i < words; i++) {
    const at = i << 2;
    let k = byte(at) | (byte(at + 1) << 8) | (byte(at + 2) << 16) | (byte(at + 3) << 24);
    k = Math.imul(k, M);
    k ^= k >>> 24;
    h = Math.imul(h, M) ^ Math.imul(k, M);
  }
  const tail = words << 2;
  const rest = length & 3;
  if (rest >= 3) h ^= byte(tail + 2) << 16;
  if (rest >= 2) h ^= byte(tail + 1) << 8;
  if (rest >= 1) h = Math.imul(h ^ byte(tail), M);
  h ^= h >>> 13;
  h = Math.imul(h, M);
  return h ^ (h >>> 15);
}
