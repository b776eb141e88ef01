import { statfs } from 'node:fs/promises';

/** How many bytes users other than root may still write to the disk of this folder. Rejects when there is no such folder. */
export async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
