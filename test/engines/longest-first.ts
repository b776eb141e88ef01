import { readFile } from 'node:fs/promises';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { LONG } from './suites.ts';

/** How files say that they share something that the worker keeps open. */
const SHARED = [
  /await (sharedFixture|open(Campaign|Journey)Fixture)\(\)/,
  /await (sharedService|openSegmentFixture|openConsole)\(\)/,
];

/**
 * Of the projects that run at the same time, the first ones. A worker is replaced when its next file belongs to another
 * project. The embedded project comes last, because it has the most short files.
 */
const FIRST = ['distributed', 'browser'];

/**
 * Starts the long files of a project first, so that no worker runs one alone at the end. Files that share something come
 * last, together: no worker has to close it for another file and start it again.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const places = new Map<TestSpecification, number>();
    for (const file of files) {
      const project = FIRST.indexOf(file.project.name);
      const found = LONG.findIndex((name) => file.moduleId.endsWith(`/${name}`));
      const text = await readFile(file.moduleId, 'utf8');
      const group = SHARED.findIndex((pattern) => pattern.test(text)) + 1;
      const groups_before = (project < 0 ? FIRST.length : project) * (SHARED.length + 1) + group;
      places.set(file, groups_before * (LONG.length + 1) + (found < 0 ? LONG.length : found));
    }
    const place = (file: TestSpecification) => places.get(file) ?? 0;
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b));
  }
}
