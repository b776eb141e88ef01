import { readFile } from 'node:fs/promises';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { LONG } from './suites.ts';

/**
 * Starts the long files first, so that no worker runs one alone at the end. Files that share a service come last: no
 * worker has to close it for another file and start it again.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const places = new Map<TestSpecification, number>();
    for (const file of files) {
      const found = LONG.findIndex((name) => file.moduleId.endsWith(`/${name}`));
      const is_sharing = (await readFile(file.moduleId, 'utf8')).includes('await sharedService()');
      places.set(file, (found < 0 ? LONG.length : found) + (is_sharing ? LONG.length + 1 : 0));
    }
    const place = (file: TestSpecification) => places.get(file) ?? 0;
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b));
  }
}
