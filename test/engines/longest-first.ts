import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that take about half a minute on two cores. A fresh clone has no recorded durations and would start some of
 * them last.
 */
const LONG = [
  'players/identity/interleavings.test.ts',
  'crash/service-kill.test.ts',
  'contract/event-log.distributed.test.ts',
  'crash/engines-kill.distributed.test.ts',
  'app/npm-start.test.ts',
  'segments/compile.property.test.ts',
  'crash/fan-out-kill.test.ts',
  'players/identity/interleavings.model.test.ts',
  'contract/event-log.embedded.test.ts',
  'players/identity/merge-history.test.ts',
  'oracle/totals.test.ts',
  'oracle/currencies.test.ts',
  'segments/refresh.test.ts',
  'contract/pipelined-reader.test.ts',
  'contract/jobs.test.ts',
];

/** Starts the long files first, so that no worker runs one alone at the end. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const found = LONG.findIndex((name) => moduleId.endsWith(`/test/${name}`));
      return found < 0 ? LONG.length : found;
    };
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b));
  }
}
