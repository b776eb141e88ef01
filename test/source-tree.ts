import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../src/package-root.ts';

/** One TypeScript file of the repository. */
export interface SourceFile {
  /** Relative to the package, with slashes. */
  path: string;
  text: string;
  /** The text without comments. */
  code: string;
  /** The imported module names, and whether an import has only types. */
  imports: { from: string; types_only: boolean }[];
}

/** Every TypeScript file below the folders of the package. */
export async function readSources(folders: readonly string[]): Promise<SourceFile[]> {
  return (await Promise.all(folders.map(readFolder))).flat();
}

async function readFolder(folder: string): Promise<SourceFile[]> {
  const names = await readdir(join(packageRoot, folder), { recursive: true });
  const paths = names.filter((name) => name.endsWith('.ts')).map((name) => join(folder, name));
  return Promise.all(
    paths.map(async (path) => {
      const text = await readFile(join(packageRoot, path), 'utf8');
      return { path, text, code: withoutComments(text), imports: importsOf(text) };
    }),
  );
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|\s)\/\/.*$/gm, '$1');
}

function importsOf(text: string): SourceFile['imports'] {
  const found = [...text.matchAll(/^(?:import|export)\s+(type\s)?([^;]*?)from\s+'([^']+)'/gm)];
  const named = found.map(([, types, clause = '', from = '']) => ({
    from,
    types_only: types !== undefined || /^\{(\s*type\s+\w+(\s+as\s+\w+)?\s*,?)+\s*\}\s*$/.test(clause),
  }));
  const bare = [...text.matchAll(/(?:^import\s+|\bimport\()'([^']+)'/gm)];
  return [...named, ...bare.map(([, from = '']) => ({ from, types_only: false }))];
}
