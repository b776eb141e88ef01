import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { packageRoot } from '../../src/package-root.ts';

// The layout rules of the console's source.

const SOURCE = join(packageRoot, 'console/src');
const MAX_LINES = 320;

interface File {
  /** Below console/src. */
  path: string;
  text: string;
  /** Paths of the files it imports, below console/src; names of packages as they are. */
  imports: string[];
}

let files: File[] = [];
beforeAll(async () => {
  const entries = await readdir(SOURCE, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map(({ parentPath, name }) => join(parentPath, name).slice(SOURCE.length + 1));
  files = await Promise.all(
    paths.map(async (path) => {
      const text = await readFile(join(SOURCE, path), 'utf8');
      const from = [...text.matchAll(/(?:from|import\()\s*'([^']+)'/g)].map(([, name = '']) => name);
      const imports = from.map((name) => (name.startsWith('.') ? posix.join(dirname(path), name) : name));
      return { path, text, imports };
    }),
  );
});

/** One piece of code for the service and the console, which needs nothing of either. */
const SHARED_WITH_SERVICE = new Set([
  '../../src/players/masking.ts',
  '../../src/platform/trim-end.ts',
  '../../src/analytics/insights/chart.ts',
]);

const partOf = (path: string) => path.split('/', 1)[0] ?? '';
const screenOf = (path: string) => /^screens\/([^/]+)\//.exec(path)?.[1];

test('the files are read', () => {
  expect(files.length).toBeGreaterThan(30);
  expect(files.find(({ path }) => path === 'router.tsx')?.imports).toContain('screens/players/list.tsx');
});

test('screens use the parts that all share, and never each other', () => {
  const allowed = new Set(['ui', 'format', 'api', 'live', 'messages']);
  const wrong = files.flatMap(({ path, imports }) => {
    const screen = screenOf(path);
    if (screen === undefined) return [];
    return imports
      .filter((name) => /\.(tsx?|css)$/.test(name))
      .filter((name) => screenOf(name) !== screen && !allowed.has(partOf(name)))
      .filter((name) => !SHARED_WITH_SERVICE.has(name))
      .map((name) => `${path} -> ${name}`);
  });
  expect(wrong).toEqual([]);
});

test('shared parts use no screen, and nothing uses the source of the service', () => {
  const wrong = files.flatMap(({ path, imports }) =>
    imports
      .filter(
        (name) =>
          (screenOf(name) !== undefined && path !== 'router.tsx' && !screenOf(path)) ||
          (name.startsWith('..') && !SHARED_WITH_SERVICE.has(name)),
      )
      .map((name) => `${path} -> ${name}`),
  );
  expect(wrong).toEqual([]);
});

test('the API is called through its client, and of that the console knows what the package exports', () => {
  // The snippets have programs of callers in their texts.
  const own = files.filter(({ path }) => path !== 'screens/developers/snippet-texts.ts');
  const names = own.flatMap(({ imports }) => imports).filter((name) => name.includes('player-engagement'));
  expect(new Set(names)).toEqual(new Set(['@player-engagement/client/admin']));
  const callers = files.filter(({ text }) => /\b(?:fetch|XMLHttpRequest)\(/.test(text));
  // The page about the API reads the document itself, and calls nothing.
  expect(callers.map(({ path }) => path)).toEqual(['docs/page.ts']);
});

test('files are short', () => {
  const long = files.filter(({ text }) => text.split('\n').length > MAX_LINES).map(({ path }) => path);
  expect(long).toEqual([]);
});

test('texts are in messages: none is written between tags, or in an attribute that is read out', () => {
  const wrong = files
    .filter(({ path }) => path.endsWith('.tsx'))
    .flatMap(({ path, text }) => {
      const between = [...text.matchAll(/<[A-Za-z][^<>]*>\s*([^<>{}]*[A-Za-z]{2,}[^<>{}]*)\s*<\//g)];
      const attributes = [
        ...text.matchAll(/\s(?:title|label|aria-label|placeholder|alt)="([^"]*[A-Za-z]{2,}[^"]*)"/g),
      ];
      return [...between, ...attributes].map(([, found = '']) => `${path}: ${found.trim()}`);
    })
    // The name of a key is the same in every language.
    .filter((found) => !found.endsWith(': ⌘K'));
  expect(wrong).toEqual([]);
});

test('nothing writes HTML, evaluates text, or sets a style in HTML: the policy forbids it', () => {
  const risky =
    /dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/;
  expect(files.filter(({ text }) => risky.test(text)).map(({ path }) => path)).toEqual([]);
});
