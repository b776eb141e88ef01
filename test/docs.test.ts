import { readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ENVIRONMENT_VARIABLES, SECRET_VARIABLES } from '../src/config.ts';
import { ERRORS } from '../src/errors.ts';
import { METRIC_NAMES, metricOf } from '../src/analytics/insights/metrics/dictionary.ts';
import { packageRoot } from '../src/package-root.ts';
import { createMetrics } from '../src/platform/metrics.ts';

// The reference pages repeat facts of the code; these tests compare them. UPDATE_GOLDEN=1 writes the error table.

const ERRORS_PAGE = join(packageRoot, 'docs', 'errors.md');

const read = (name: string): Promise<string> => readFile(join(packageRoot, 'docs', name), 'utf8');

/** The text between the markers of a table. */
function tableOf(page: string, name: string): string {
  return new RegExp(`<!-- ${name}:begin -->\\n([\\s\\S]*?)<!-- ${name}:end -->`).exec(page)?.[1] ?? '';
}

/** Compares the table of a page with the code, or writes it. */
async function expectTable(path: string, name: string, table: string): Promise<void> {
  const page = await readFile(path, 'utf8');
  if (process.env['UPDATE_GOLDEN'] === '1') {
    const begin = `<!-- ${name}:begin -->\n`;
    await writeFile(path, page.replace(begin + tableOf(page, name), begin + table));
  } else {
    expect(withoutPadding(tableOf(page, name))).toBe(withoutPadding(table));
  }
}

function errorTable(): string {
  const rows = Object.entries(ERRORS).map(
    ([code, { status, when }]) => `| ${status} | \`${code}\` | ${when} |`,
  );
  return `\n| Status | Code | When |\n| --- | --- | --- |\n${rows.join('\n')}\n\n`;
}

it('docs/errors.md contains the error table of the code', async () => {
  await expectTable(ERRORS_PAGE, 'errors', errorTable());
});

it('docs/insights.md contains the KPI dictionary', async () => {
  const rows = METRIC_NAMES.map((name) => {
    const { label, unit, text } = metricOf(name);
    return `| \`${name}\` | ${label} | ${unit === 'deductions' ? 'money' : unit} | ${text} |`;
  });
  const table = `\n| Metric | Name | Unit | Meaning |\n| --- | --- | --- | --- |\n${rows.join('\n')}\n\n`;
  await expectTable(join(packageRoot, 'docs', 'insights.md'), 'metrics', table);
});

it('docs/configuration.md has one line for every environment variable, and no other', async () => {
  const documented = [...(await read('configuration.md')).matchAll(/^- `([A-Z_]+)`/gm)].map(
    ([, name = '']) => name,
  );
  expect(documented.toSorted()).toEqual(ENVIRONMENT_VARIABLES.toSorted());
});

it('docs/configuration.md names every secret that may be in a file', async () => {
  const section = /\n## Secrets in files\n([\s\S]*?)\n## /.exec(await read('configuration.md'))?.[1] ?? '';
  const named = [...section.matchAll(/`([A-Z_]+)`/g)].map(([, name = '']) => name);
  expect(named.filter((name) => !name.endsWith('_FILE')).toSorted()).toEqual(SECRET_VARIABLES.toSorted());
});

it('docs/metrics.md has a line for every metric of the service', async () => {
  const page = await read('metrics.md');
  const own = createMetrics()
    .registry.getMetricsAsArray()
    .map(({ name }) => name)
    .filter((name) => !/^(process|nodejs)_/.test(name));
  for (const name of own) expect(page).toMatch(new RegExp(`^- .*\`${name}[\`{]`, 'm'));
});

describe('the pages', () => {
  /** The paths of the Markdown files in a folder, from the root of the package. */
  async function pagesIn(folder: string, { recursive = false } = {}): Promise<string[]> {
    const names = await readdir(join(packageRoot, folder), { recursive });
    return names.filter((name) => name.endsWith('.md')).map((name) => join(folder, name));
  }

  /** The READMEs of the rooms. */
  const roomPages = async () =>
    (await Promise.all(['src', 'processors'].map((folder) => pagesIn(folder, { recursive: true })))).flat();

  /** The pages at the root, of docs/ with the decisions, of the rooms, of migrations and tests, and the results of benches. */
  async function pages(): Promise<string[]> {
    const found = await Promise.all([
      ...['.', 'docs', 'docs/decisions', 'bench', 'pg-migrations', 'test'].map((folder) => pagesIn(folder)),
      roomPages(),
    ]);
    return found.flat().map((path) => join(packageRoot, path));
  }

  it('are short enough to be read', async () => {
    // The index of the decisions has a line for each of them.
    const is_index = (path: string) => path === 'docs/decisions/README.md';
    const of_decisions = await pagesIn('docs/decisions');
    const limits = [
      { max: 350, paths: ['ARCHITECTURE.md'] },
      { max: 120, paths: await roomPages() },
      { max: 60, paths: of_decisions.filter((path) => !is_index(path)) },
      { max: 400, paths: [...(await pagesIn('docs')), ...of_decisions.filter(is_index)] },
      { max: 200, paths: ['README.md'] },
      { max: 60, paths: ['CHANGELOG.md'] },
    ];
    const too_long: string[] = [];
    for (const { max, paths } of limits) {
      expect(paths).not.toEqual([]);
      for (const path of paths) {
        const lines = (await readFile(join(packageRoot, path), 'utf8')).split('\n').length - 1;
        if (lines > max) too_long.push(`${path}: ${lines} lines, at most ${max}`);
      }
    }
    expect(too_long).toEqual([]);
  });

  it('the index of decisions names each page once, in order', async () => {
    const index = await read('decisions/README.md');
    const named = [...index.matchAll(/^- \[\d+ [^\]]+\]\(([^)]+)\)/gm)].map(([, name = '']) => name);
    const found = (await pagesIn('docs/decisions')).map((path) => basename(path));
    expect(named).toEqual(found.filter((name) => name !== 'README.md').toSorted());
  });

  const exists = (path: string) =>
    stat(path).then(
      () => true,
      () => false,
    );

  /** The anchors that GitHub makes of headings. */
  function anchorsOf(markdown: string): string[] {
    return [...markdown.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    );
  }

  it('link only to files and headings that exist', async () => {
    const broken: string[] = [];
    let links = 0;
    for (const page of await pages()) {
      for (const [, target = ''] of (await readFile(page, 'utf8')).matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^https?:/.test(target)) continue;
        links++;
        const [path = '', anchor] = target.split('#');
        const file = path === '' ? page : resolve(dirname(page), path);
        const is_there =
          (await exists(file)) &&
          (anchor === undefined || anchorsOf(await readFile(file, 'utf8')).includes(anchor));
        if (!is_there) broken.push(`${page}: ${target}`);
      }
    }
    expect(broken).toEqual([]);
    expect(links).toBeGreaterThan(40);
  });

  it('name only paths of the repository that exist', async () => {
    const missing: string[] = [];
    let paths = 0;
    for (const page of await pages()) {
      const named = (await readFile(page, 'utf8')).matchAll(
        /`((?:src|processors|scripts|test|bench|docs|clickhouse|pg-migrations)\/[\w./-]+)`/g,
      );
      for (const [, path = ''] of named) {
        paths++;
        if (!(await exists(join(packageRoot, path)))) missing.push(`${page}: ${path}`);
      }
    }
    expect(missing).toEqual([]);
    expect(paths).toBeGreaterThan(20);
  });
});

/** Removes the padding that the formatter adds to tables. */
function withoutPadding(table: string): string {
  return table.replaceAll(/ +/g, ' ').replaceAll(/-+/g, '-').trim();
}
