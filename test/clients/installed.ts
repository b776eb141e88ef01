import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { packageRoot } from '../../src/package-root.ts';

const run = promisify(execFile);

/** An empty project with the package of clients/js, as npm publishes and installs it. */
export interface InstalledClient {
  folder: string;
  /** A file of the installed package. */
  file(path: string): string;
  remove(): Promise<void>;
}

/** Builds and packs the package, and installs it. */
export async function installClient(): Promise<InstalledClient> {
  const folder = await mkdtemp(join(tmpdir(), 'client-'));
  const npm = async (cwd: string, ...args: string[]) => {
    const { stdout } = await run('npm', args, { cwd });
    return stdout;
  };
  await npm(packageRoot, 'pack', '--workspace', 'clients/js', '--pack-destination', folder, '--silent');
  const [tarball = ''] = (await readdir(folder)).filter((name) => name.endsWith('.tgz'));
  await writeFile(join(folder, 'package.json'), '{"name":"empty","private":true,"type":"module"}');
  await npm(folder, 'install', '--offline', '--no-audit', '--no-fund', '--silent', `./${tarball}`);
  return {
    folder,
    file: (path) => join(folder, 'node_modules/@player-engagement/client', path),
    remove: () => rm(folder, { recursive: true }),
  };
}
