import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** The text of a file only its owner may read; `make` gives it on first use. */
export async function readOrCreateSecret(
  path: string,
  make: () => string | Promise<string>,
): Promise<string> {
  const kept = await readIfThere(path);
  if (kept !== undefined) return kept;
  await mkdir(dirname(path), { recursive: true });
  // Put in place whole and only where there is none: a process killed while writing must not leave an empty secret.
  const unfinished = `${path}.${process.pid}.new`;
  await writeFile(unfinished, await make(), { mode: 0o600 });
  try {
    await link(unfinished, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(unfinished, { force: true });
  }
  return readFile(path, 'utf8');
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
