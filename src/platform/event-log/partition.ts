/**
 * The partition of a key: 32-bit FNV-1a over its UTF-16 units, modulo `partitions`. All records of a key are in one
 * partition, so they keep their order.
 */
export function partitionOf(key: string, partitions: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) {
    hash ^= key.charCodeAt(i);
    hash = Math.imul(hash, 0x01000193);
  }
  return (hash >>> 0) % partitions;
}
