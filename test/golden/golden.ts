import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { packageRoot } from '../../src/package-root.ts';

/**
 * Compares a text with a file in the repository, so that a review shows every change of it. `UPDATE_GOLDEN=1` writes
 * the file instead.
 */
export async function expectGolden(path: string, text: string): Promise<void> {
  const file = join(packageRoot, path);
  if (process.env['UPDATE_GOLDEN'] === '1') await writeFile(file, text);
  const golden = await readFile(file, 'utf8').catch(() => '');
  expect(text, `${path} differs: look at the change, then run with UPDATE_GOLDEN=1`).toBe(golden);
}
