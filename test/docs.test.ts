import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ENVIRONMENT_VARIABLES } from '../src/config.ts';
import { ERRORS } from '../src/errors.ts';
import { packageRoot } from '../src/package-root.ts';
import { createMetrics } from '../src/platform/metrics.ts';

// The reference pages repeat facts of the code; these tests keep them equal. UPDATE_GOLDEN=1 writes the error table.

const ERRORS_PAGE = join(packageRoot, 'docs', 'errors.md');

const read = (name: string): Promise<string> => readFile(join(packageRoot, 'docs', name), 'utf8');

/** What stands between the markers of docs/errors.md. */
function tableOf(page: string): string {
  return /<!-- errors:begin -->\n([\s\S]*?)<!-- errors:end -->/.exec(page)?.[1] ?? '';
}

function errorTable(): string {
  const rows = Object.entries(ERRORS).map(
    ([code, { status, when }]) => `| ${status} | \`${code}\` | ${when} |`,
  );
  return `\n| Status | Code | When |\n| --- | --- | --- |\n${rows.join('\n')}\n\n`;
}

it('docs/errors.md has the error table of the code', async () => {
  const page = await readFile(ERRORS_PAGE, 'utf8');
  if (process.env['UPDATE_GOLDEN'] === '1') {
    const begin = '<!-- errors:begin -->\n';
    await writeFile(ERRORS_PAGE, page.replace(begin + tableOf(page), begin + errorTable()));
  } else {
    expect(withoutPadding(tableOf(page))).toBe(withoutPadding(errorTable()));
  }
});

it('docs/configuration.md has one line for every environment variable, and no other', async () => {
  const documented = [...(await read('configuration.md')).matchAll(/^- `([A-Z_]+)`/gm)].map(
    ([, name]) => name,
  );
  expect([...documented].sort()).toEqual([...ENVIRONMENT_VARIABLES].sort());
});

it('docs/operating.md has a line for every metric of the service', async () => {
  const page = await read('operating.md');
  const own = createMetrics()
    .registry.getMetricsAsArray()
    .map(({ name }) => name)
    .filter((name) => !/^(process|nodejs)_/.test(name));
  for (const name of own) expect(page).toMatch(new RegExp(`^- .*\`${name}[\`{]`, 'm'));
});

/** The formatter pads tables. */
function withoutPadding(table: string): string {
  return table.replaceAll(/ +/g, ' ').replaceAll(/-+/g, '-').trim();
}
