import type { Metrics } from '../../../platform/metrics.ts';
import type { Entered } from './entry.ts';

/** Counts what became of entrants; to be called once their transaction is committed, as it may be repeated. */
export function countEntries(
  { journeyEntries }: Pick<Metrics, 'journeyEntries'>,
  { run_ids, held_out, refused, limited }: Entered,
): void {
  const counts = { started: run_ids.length, held_out: held_out.length, refused, limited };
  for (const [outcome, count] of Object.entries(counts))
    if (count > 0) journeyEntries.inc({ outcome }, count);
}
