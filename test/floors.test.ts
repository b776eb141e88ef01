import { readdir, readFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { packageRoot } from '../src/package-root.ts';
import { readSources } from './source-tree.ts';

// The rooms of src and the allowed direction of their imports, as the floors in ARCHITECTURE.md list them.

/** Folders of `test` without a room in `src`. */
const OF_NO_ROOM = [
  'clients',
  'conformance',
  'contract',
  'crash',
  'deploy',
  'engines',
  'golden',
  'import',
  'oracle',
];

/** From the top floor down. */
let floors: string[] = [];
/** The relative imports of each file, types included. */
let imports = new Map<string, string[]>();

beforeAll(async () => {
  const architecture = await readFile(join(packageRoot, 'ARCHITECTURE.md'), 'utf8');
  const [, drawn = ''] = /```floors\n([^`]*(?:`[^`]+`[^`]*)*)```/.exec(architecture) ?? [];
  floors = drawn
    .trim()
    .split('\n')
    .map((line) => line.split('  ')[0] ?? '');
  const files = await readSources(['src', 'processors']);
  imports = new Map(
    files.map((file) => [
      file.path,
      file.imports
        .filter(({ from }) => from.startsWith('.'))
        .map(({ from }) => posix.join(posix.dirname(file.path), from)),
    ]),
  );
});

/** The index of the file's floor, which is the longest floor name that its path begins with; -1 when there is none. */
function floorOf(path: string): number {
  const names = floors.filter((floor) => path === floor || path.startsWith(`${floor}/`));
  return floors.indexOf(names.sort((a, b) => b.length - a.length)[0] ?? '');
}

it('reads the floors and resolves every import', () => {
  expect(floors.length).toBeGreaterThan(15);
  expect(new Set(floors).size).toBe(floors.length);
  expect(imports.get('src/main.ts')).toContain('src/app/service.ts');
  expect([...imports.values()].flat().filter((path) => !imports.has(path))).toEqual([]);
});

it('every file is on a floor, and every floor has a file', () => {
  expect([...imports.keys()].filter((path) => floorOf(path) < 0)).toEqual([]);
  const used = new Set([...imports.keys()].map(floorOf));
  expect(floors.filter((_floor, index) => !used.has(index))).toEqual([]);
});

it('imports run down the floors, never up', () => {
  const up = [...imports].flatMap(([path, targets]) =>
    targets.filter((target) => floorOf(target) < floorOf(path)).map((target) => `${path} -> ${target}`),
  );
  expect(up).toEqual([]);
});

it('no files import each other in a cycle, not even types', () => {
  // Removes files without remaining imports again and again. Files in a cycle are never removed.
  const rest = new Map([...imports].map(([path, targets]) => [path, new Set(targets)]));
  for (let taken = -1; taken !== 0;) {
    const leaves = [...rest].filter(([, targets]) => targets.size === 0).map(([path]) => path);
    leaves.forEach((leaf) => rest.delete(leaf));
    for (const targets of rest.values()) leaves.forEach((leaf) => targets.delete(leaf));
    taken = leaves.length;
  }
  expect([...rest.keys()]).toEqual([]);
});

it('src has at most 15 rooms, and the folders of test are those of src, two levels down', async () => {
  const folders = async (path: string) =>
    (await readdir(join(packageRoot, path), { withFileTypes: true }))
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
  const rooms = await folders('src');
  expect(rooms.length).toBeLessThanOrEqual(15);
  const known = new Set([...rooms, ...OF_NO_ROOM]);
  expect((await folders('test')).filter((name) => !known.has(name))).toEqual([]);
  for (const room of await folders('test')) {
    if (OF_NO_ROOM.includes(room)) continue;
    const inside = new Set(await folders(`src/${room}`));
    expect((await folders(`test/${room}`)).filter((name) => !inside.has(name))).toEqual([]);
  }
});
