import { MAX_RECORD_BYTES, RecordTooLarge, type NewRecord } from './port.ts';

/** Bytes of a UTF-16 code unit in UTF-8, at most. */
export const MAX_UNIT_BYTES = 3;

/** The size of a record in UTF-16 units: close enough to the bytes, and cheaper than counting them. */
export function unitsOf({ key, value }: NewRecord): number {
  return key.length + value.length;
}

/** The size of a record for the log's limits: the bytes of key and value in UTF-8. */
export function recordBytes({ key, value }: NewRecord): number {
  return Buffer.byteLength(key) + Buffer.byteLength(value);
}

/** The error for the first record that exceeds {@link MAX_RECORD_BYTES}; undefined when there is none. */
export function findTooLarge(records: readonly NewRecord[]): RecordTooLarge | undefined {
  for (const record of records) {
    // Nearly all records are so short that their bytes need not be counted.
    if (unitsOf(record) * MAX_UNIT_BYTES <= MAX_RECORD_BYTES) continue;
    const bytes = recordBytes(record);
    if (bytes > MAX_RECORD_BYTES) return new RecordTooLarge(bytes);
  }
  return undefined;
}

/** Throws {@link RecordTooLarge} when one of the records exceeds {@link MAX_RECORD_BYTES}. */
export function refuseTooLarge(records: readonly NewRecord[]): void {
  const refusal = findTooLarge(records);
  if (refusal !== undefined) throw refusal;
}

/** How many of the first `sizes` fit into `max_bytes` together; at least one, even if it alone exceeds the limit. */
export function countWithin(sizes: readonly number[], max_bytes: number): number {
  let bytes = 0;
  const beyond = sizes.findIndex((size) => (bytes += size) > max_bytes);
  return beyond === -1 ? sizes.length : Math.max(1, beyond);
}
