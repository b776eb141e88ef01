import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'vitest';
import { MAX_BATCH_BYTES, type LogBatch, type LogRecord } from '../../src/platform/event-log/port.ts';

/** A record whose value is a number. */
export function record(key: string, number: number): { key: string; value: string } {
  return { key, value: String(number) };
}

/** The numbers of one key, in order of arrival. */
export function numbers(records: readonly LogRecord[], key: string): number[] {
  return records.filter((r) => r.key === key).map((r) => Number(r.value));
}

/** The integers of `[from, to)`. */
export function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}

/** Expects that these batches hold these records, in order, and that no batch exceeds the limit. */
export function expectRecords(batches: readonly LogBatch[], records: readonly { value: string }[]): void {
  const values = batches.flatMap((batch) => batch.records.map(({ value }) => value));
  const different = Array.from({ length: Math.max(values.length, records.length) }, (_, at) => at).filter(
    (at) => values[at] !== records[at]?.value,
  );
  const shown = different
    .slice(0, 20)
    .map((at) => ({ at, is: values[at]?.slice(0, 100), should_be: records[at]?.value.slice(0, 100) }));
  expect(shown, `${different.length} of ${records.length} records`).toEqual([]);
  const bytes = (batch: LogBatch) =>
    batch.records.reduce((sum, { key, value }) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0);
  expect(Math.max(...batches.map(bytes))).toBeLessThanOrEqual(MAX_BATCH_BYTES);
}

/** A sorted copy. */
export function sorted(values: number[]): number[] {
  return [...values].sort((a, b) => a - b);
}

/** The positions of a batch's records. */
export function places(batch: LogBatch): string[] {
  return batch.records.map((r) => `${batch.partition}:${r.offset}`);
}

/** Live bytes of this process after a full collection. */
export function usedBytes(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
