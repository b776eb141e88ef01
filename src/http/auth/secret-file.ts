import { randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Returns the text of a file that only its owner may read. On first use `make` creates the text. */
export async function readOrCreateSecret(
  path: string,
  make: () => string | Promise<string>,
): Promise<string> {
  const kept = await readIfThere(path);
  if (kept !== undefined) return kept;
  await mkdir(dirname(path), { recursive: true });
  // Written to a temporary file and linked, which fails if the file exists: a process killed while writing must not
  // leave an empty secret, and of two processes one secret wins.
  // Each caller has a file of its own: two of one process may ask at once.
  const unfinished = `${path}.${randomUUID()}.new`;
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
