import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { ImportError } from './refusal.ts';

/** How much of both ends of a file its hash covers. */
const HASHED_BYTES = 1024 * 1024;

/** What tells a file from another one, and from itself after a change. */
export interface FileIdentity {
  size: number;
  /** Of the size and of the first and the last megabyte. */
  sha256: string;
}

/** Reads the identity of a file. Rejects with ImportError when it cannot be read. */
export async function identityOf(file: string): Promise<FileIdentity> {
  try {
    const handle = await open(file, 'r');
    try {
      const { size } = await handle.stat();
      const hash = createHash('sha256').update(`${size}:`);
      const buffer = Buffer.alloc(Math.min(size, HASHED_BYTES));
      for (const position of [0, size - buffer.length]) {
        const { bytesRead } = await handle.read(buffer, 0, buffer.length, position);
        hash.update(buffer.subarray(0, bytesRead));
      }
      return { size, sha256: hash.digest('hex') };
    } finally {
      await handle.close();
    }
  } catch (cause) {
    throw new ImportError(`${file} cannot be read: ${(cause as Error).message}`);
  }
}

/** The SHA-256 of texts, in hexadecimal. */
export function sha256Of(...texts: string[]): string {
  return createHash('sha256').update(texts.join('\0')).digest('hex');
}
