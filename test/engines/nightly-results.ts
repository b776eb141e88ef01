import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import type { Reporter, TestModule, Vitest } from 'vitest/node';
import { SEED } from './effort.ts';

const PAGE = 'bench/RESULTS.md';
const HEADING = '## Last runs\n';
const HEAD = ['Project', 'Day', 'Commit', 'Cores', 'Seed', 'Minutes', 'Files', 'Passed', 'Failed', 'Skipped'];
const RULE = HEAD.map((_, i) => (i < 3 ? '---' : '--:'));

/**
 * Writes the results of a nightly run into bench/RESULTS.md, in place of the last ones of the same projects: `npm run
 * nightly` names it as a reporter. A project of which only chosen files or tests ran keeps its last results.
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

  async onTestRunEnd(modules: readonly TestModule[]): Promise<void> {
    const vitest = this.#vitest as Vitest;
    if (vitest.getGlobalTestNamePattern() !== undefined) return;
    const all = await vitest.globTestSpecifications();
    const names = [...new Set(modules.map(({ project }) => project.name))];
    const ofProject = (name: string, files: readonly { project: { name: string } }[]) =>
      files.filter(({ project }) => project.name === name).length;
    const whole = names.filter((name) => ofProject(name, modules) === ofProject(name, all));
    const [text = '', results = ''] = readFileSync(PAGE, 'utf8').split(HEADING);
    const kept = results
      .split('\n')
      .filter((line) => !whole.includes(/^(?:\||-) ([\w-]+)/.exec(line)?.[1] ?? ''));
    const rows = [
      ...kept.filter((line) => /^\| [a-z]/.test(line)),
      ...whole.map((name) => this.#row(name, modules)),
    ];
    const failed = [
      ...kept.filter((line) => line.startsWith('- ')),
      ...whole.flatMap((name) => failures(name, modules)),
    ];
    const table = [rowOf(HEAD), rowOf(RULE), ...rows.toSorted()].join('\n');
    const list = failed.length === 0 ? '' : `\nFailed:\n\n${failed.toSorted().join('\n')}\n`;
    writeFileSync(PAGE, `${text}${HEADING}\n${table}\n${list}`);
  }

  #row(name: string, modules: readonly TestModule[]): string {
    const own = modules.filter(({ project }) => project.name === name);
    const count = (state: 'passed' | 'skipped') =>
      own.reduce((sum, module) => sum + [...module.children.allTests(state)].length, 0);
    const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
    const day = new Date(this.#started_ms).toISOString().slice(0, 10);
    const minutes = ((Date.now() - this.#started_ms) / 60_000).toFixed(0);
    const counts = [own.length, count('passed'), failures(name, modules).length, count('skipped')];
    return rowOf([name, day, commit, cpus().length, SEED, minutes, ...counts]);
  }
}

function rowOf(cells: readonly (string | number)[]): string {
  return `| ${cells.join(' | ')} |`;
}

/** One line for each test that failed, and for each file that ended with an error outside of its tests. */
function failures(name: string, modules: readonly TestModule[]): string[] {
  return modules
    .filter(({ project }) => project.name === name)
    .flatMap((module) => {
      const tests = [...module.children.allTests('failed')].map((test) => test.fullName);
      const outside = module.errors().map(({ message }) => message.split('\n', 1)[0] ?? '');
      return [...tests, ...outside].map((what) => `- ${name} ${module.relativeModuleId}: ${what}`);
    });
}
