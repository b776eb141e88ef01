import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import { ApiError } from '../errors.ts';
import { readOrCreateSecret } from './secret-file.ts';

const FILE = 'internal-secret';

/** The internal secret of this installation: the configured one, else one made once and kept in DATA_DIR. */
export async function loadInternalSecret(config: Config): Promise<string> {
  if (config.internal_secret !== undefined) return config.internal_secret;
  return readOrCreateSecret(join(config.data_dir, FILE), () => randomBytes(32).toString('hex'));
}

/** Checks the `X-Internal-Secret` header (spec part 5) in constant time; throws UNAUTHORIZED. */
export function checkInternalSecret(header: string | undefined, secret: string): void {
  // Hashed first, so that the comparison sees equal lengths and tells nothing about the secret's.
  const digest = (text: string) => hash('sha256', text, 'buffer');
  if (header === undefined || !timingSafeEqual(digest(header), digest(secret))) {
    throw new ApiError('UNAUTHORIZED', 'a valid X-Internal-Secret header is required');
  }
}
