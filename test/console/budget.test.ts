import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CONSOLE_DIR } from '../../src/console/static.ts';

/** Bytes that a browser loads before the first screen can be drawn, by gzip. */
const INITIAL = { js: 170_000, css: 15_000 };

/** Compressed sizes of the assets with the ending. */
async function sizes(ending: string): Promise<Map<string, number>> {
  const folder = join(CONSOLE_DIR, 'assets');
  const names = (await readdir(folder)).filter((name) => name.endsWith(`.${ending}`));
  const bytes = await Promise.all(names.map(async (name) => (await stat(join(folder, `${name}.gz`))).size));
  return new Map(names.map((name, i) => [name, bytes[i] ?? 0]));
}

test.each(['js', 'css'] as const)('the first load of %s is within its budget', async (ending) => {
  const page = await readFile(join(CONSOLE_DIR, 'index.html'), 'utf8');
  const loaded = [...(await sizes(ending))].filter(([name]) => page.includes(name));
  expect(loaded.length).toBeGreaterThan(0);
  const total = loaded.reduce((sum, [, bytes]) => sum + bytes, 0);
  expect(total).toBeLessThan(INITIAL[ending]);
});

/** What is loaded with one part of the console only. */
const CANVAS = { js: 120_000, css: 5_000 };

test.each(['js', 'css'] as const)(
  'the canvas of journeys is loaded apart, and its %s is within its budget',
  async (ending) => {
    const page = await readFile(join(CONSOLE_DIR, 'index.html'), 'utf8');
    const found = [...(await sizes(ending))].filter(([name]) => name.startsWith('canvas-'));
    expect(found.map(([name]) => page.includes(name))).toEqual([false]);
    expect(found[0]?.[1]).toBeLessThan(CANVAS[ending]);
  },
);
