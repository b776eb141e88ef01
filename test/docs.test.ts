import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ENVIRONMENT_VARIABLES } from '../src/config.ts';
import { ERRORS } from '../src/errors.ts';
import { packageRoot } from '../src/package-root.ts';
import { createMetrics } from '../src/platform/metrics.ts';

// README.md tells of facts that live in the code; these tests keep it true. UPDATE_GOLDEN=1 writes the error table.

const path = join(packageRoot, 'README.md');

function section(readme: string, name: string): string {
  const found = new RegExp(`<!-- ${name}:begin -->\n([\\s\\S]*?)<!-- ${name}:end -->`).exec(readme);
  return found?.[1] ?? '';
}

function errorTable(): string {
  const rows = Object.entries(ERRORS).map(
    ([code, { status, when }]) => `| ${status} | \`${code}\` | ${when} |`,
  );
  return `\n| Status | Code | When |\n| --- | --- | --- |\n${rows.join('\n')}\n\n`;
}

it('the README has the error table of the code', async () => {
  const readme = await readFile(path, 'utf8');
  if (process.env['UPDATE_GOLDEN'] === '1') {
    const begin = '<!-- errors:begin -->\n';
    await writeFile(path, readme.replace(begin + section(readme, 'errors'), begin + errorTable()));
  } else {
    expect(withoutPadding(section(readme, 'errors'))).toBe(withoutPadding(errorTable()));
  }
});

it('the README documents every environment variable, and no other', async () => {
  const table = section(await readFile(path, 'utf8'), 'configuration');
  const documented = [...table.matchAll(/^\| `([A-Z_]+)`/gm)].map(([, name]) => name);
  expect(new Set(documented)).toEqual(new Set(ENVIRONMENT_VARIABLES));
  expect(documented).toHaveLength(ENVIRONMENT_VARIABLES.length);
});

it('the README names every metric of the service', async () => {
  const readme = await readFile(path, 'utf8');
  const own = createMetrics()
    .registry.getMetricsAsArray()
    .map(({ name }) => name)
    .filter((name) => !/^(process|nodejs)_/.test(name));
  for (const name of own) expect(readme).toContain(`\`${name}`);
});

/** The formatter pads tables. */
function withoutPadding(table: string): string {
  return table.replaceAll(/ +/g, ' ').replaceAll(/-+/g, '-').trim();
}
