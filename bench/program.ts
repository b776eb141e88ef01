import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { packageRoot } from '../src/package-root.ts';
import { NO_PROVIDERS } from '../test/engines/no-providers.ts';
import { postmasterOf } from './process-tree.ts';

/** The program of the service. */
export const SERVICE = join('dist', 'src', 'main.js');
/** The same engines without the service: what every start needs. */
export const ENGINES = join('dist', 'bench', 'servers', 'bare-engines.js');

/** Starts a program of `dist` that has the embedded engines; resolves when it is ready. `roots`: of its process trees. */
export async function startProgram(
  program: string,
  data_dir: string,
): Promise<{ child: ChildProcess; roots: number[] }> {
  const child = spawn(process.execPath, ['--max-semi-space-size=64', program], {
    cwd: packageRoot,
    env: { ...process.env, ...NO_PROVIDERS, DATA_DIR: data_dir, PORT: '0', INGEST_PORT: '0' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  await ready(child);
  return { child, roots: [child.pid, await postmasterOf(data_dir)].filter((pid) => pid !== undefined) };
}

/** Resolves when the program logs `ready`; rejects with what it has logged when it ends before. */
function ready(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stderr?.on('data', (part: Buffer) => {
      text += part.toString();
      if (text.includes('"msg":"ready"')) resolve();
    });
    child.once('exit', (code) => reject(new Error(`the program ended with ${code}:\n${text}`)));
  });
}
