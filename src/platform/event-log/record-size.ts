import { MAX_RECORD_BYTES, RecordTooLarge, type NewRecord } from './port.ts';

/** Bytes of a UTF-16 code unit in UTF-8, at most. */
const MAX_UNIT_BYTES = 3;

/** What counts for the limits of the log: key and value in UTF-8. */
export function recordBytes({ key, value }: NewRecord): number {
  return Buffer.byteLength(key) + Buffer.byteLength(value);
}

/** The refusal of the first record that the log would not take. */
export function findTooLarge(records: readonly NewRecord[]): RecordTooLarge | undefined {
  for (const record of records) {
    // Nearly all are too short to need counting.
    if ((record.key.length + record.value.length) * MAX_UNIT_BYTES <= MAX_RECORD_BYTES) continue;
    const bytes = recordBytes(record);
    if (bytes > MAX_RECORD_BYTES) return new RecordTooLarge(bytes);
  }
  return undefined;
}

/** Throws {@link RecordTooLarge} when the log would not take one of the records. */
export function refuseTooLarge(records: readonly NewRecord[]): void {
  const refusal = findTooLarge(records);
  if (refusal !== undefined) throw refusal;
}

/** How many of these sizes make up a batch: at least one, and no more than `max_bytes` together. */
export function countWithin(sizes: readonly number[], max_bytes: number): number {
  let bytes = 0;
  const beyond = sizes.findIndex((size) => (bytes += size) > max_bytes);
  return beyond === -1 ? sizes.length : Math.max(1, beyond);
}
