import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import type { Reporter, TestModule, Vitest } from 'vitest/node';
import { SEED } from './effort.ts';

const PAGE = 'bench/RESULTS.md';
const HEADING = '## Last run\n';

/**
 * Writes the results of a nightly run into bench/RESULTS.md, unless a project was left out: `npm run nightly` names it
 * as a reporter.
 */
export default class NightlyResults implements Reporter {
  #vitest: Vitest | undefined;
  #started_ms = 0;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunStart(): void {
    this.#started_ms = Date.now();
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const ran = new Set(modules.map(({ project }) => project.name));
    const vitest = this.#vitest;
    if (vitest?.config.project.length !== 0 || vitest.projects.some(({ name }) => !ran.has(name))) return;
    const minutes = ((Date.now() - this.#started_ms) / 60_000).toFixed(0);
    const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
    const day = new Date(this.#started_ms).toISOString().slice(0, 10);
    const head = `${day}, commit ${commit}, ${minutes} minutes on ${cpus().length} cores, TEST_SEED=${SEED}.`;
    const failed = modules.flatMap((module) =>
      [...module.children.allTests('failed')].map((test) => `- ${module.relativeModuleId}: ${test.fullName}`),
    );
    const page = readFileSync(PAGE, 'utf8').split(HEADING)[0] ?? '';
    const parts = [head, table(modules), ...(failed.length > 0 ? [`Failed:\n\n${failed.join('\n')}`] : [])];
    writeFileSync(PAGE, `${page}${HEADING}\n${parts.join('\n\n')}\n`);
  }
}

/** One row for each project. */
function table(modules: readonly TestModule[]): string {
  const names = [...new Set(modules.map(({ project }) => project.name))];
  const rows = names.map((name) => {
    const own = modules.filter(({ project }) => project.name === name);
    const count = (state: 'passed' | 'failed' | 'skipped') =>
      own.reduce((sum, module) => sum + [...module.children.allTests(state)].length, 0);
    const ms = own.reduce((sum, module) => sum + module.diagnostic().duration, 0);
    const cells = [
      name,
      own.length,
      count('passed'),
      count('failed'),
      count('skipped'),
      (ms / 1_000).toFixed(0),
    ];
    return `| ${cells.join(' | ')} |`;
  });
  const head = '| Project | Files | Passed | Failed | Skipped | Seconds in tests |';
  return [head, '| --- | --: | --: | --: | --: | --: |', ...rows].join('\n');
}
