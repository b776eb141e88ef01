import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What takes half a minute on two cores. A fresh clone knows no durations, and would leave some of them to the end. */
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

/** Begins with the files that take long, so that no worker sits over one when the others are done. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const found = LONG.findIndex((name) => moduleId.endsWith(`/test/${name}`));
      return found < 0 ? LONG.length : found;
    };
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b));
  }
}
