import { chmod, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The variable with the folder of a run. */
const RUN_FOLDER = 'TEST_RUN_FOLDER';

/**
 * Makes the folder of a run, which the caller removes at the end with what the workers leave there. The user that
 * Postgres runs as can pass through it.
 */
export async function makeRunFolder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'engagement-run-'));
  await chmod(dir, 0o711);
  process.env[RUN_FOLDER] = dir;
  return dir;
}

/** The folder for temporary folders. */
export const runFolder = (): string => process.env[RUN_FOLDER] ?? tmpdir();
