import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { expect } from 'vitest';
import { packageRoot } from '../src/package-root.ts';

/** A Markdown table. */
export const table = (header: readonly string[], rows: readonly (readonly string[])[]) =>
  [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
/** A text in the font of code. */
export const code = (text: string) => `\`${text}\``;

/**
 * Compares the generated sections of a page (between `<!-- name:begin -->` and `<!-- name:end -->`) with what the code
 * says, and that the page has them all. UPDATE_GOLDEN=1 writes them.
 */
export async function expectSections(page: string, sections: Readonly<Record<string, () => string>>) {
  const path = join(packageRoot, page);
  const text = await readFile(path, 'utf8');
  const named = [...text.matchAll(/<!-- (\w+):begin -->/g)].map(([, name]) => name);
  expect(new Set(named)).toEqual(new Set(Object.keys(sections)));
  let written = text;
  for (const [name, section] of Object.entries(sections)) {
    const place = new RegExp(`(<!-- ${name}:begin -->\n)[\\s\\S]*?(<!-- ${name}:end -->)`);
    written = written.replace(place, (_, begin: string, end: string) => `${begin}\n${section()}\n\n${end}`);
  }
  written = await format(written, { ...(await resolveConfig(path)), filepath: path });
  if (process.env['UPDATE_GOLDEN'] === '1') await writeFile(path, written);
  else expect(text, 'look at the change, then run with UPDATE_GOLDEN=1').toBe(written);
}
