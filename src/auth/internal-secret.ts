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

/** Throws UNAUTHORIZED unless the `X-Internal-Secret` header (spec part 5) is one of the accepted secrets. */
export type CheckInternalSecret = (header: string | undefined) => void;

/** Makes the check for these secrets, two of them while they are rotated; it compares in constant time. */
export function createInternalSecretCheck(accepted: readonly string[]): CheckInternalSecret {
  // Hashed first, so that the comparison sees equal lengths and tells nothing about the secrets'.
  const digest = (text: string) => hash('sha256', text, 'buffer');
  const digests = accepted.map(digest);
  return (header) => {
    const given = digest(header ?? '');
    // Each is compared, whichever it was.
    const matches = digests.filter((each) => timingSafeEqual(given, each)).length;
    if (header === undefined || matches === 0) {
      throw new ApiError('UNAUTHORIZED', 'a valid X-Internal-Secret header is required');
    }
  };
}
