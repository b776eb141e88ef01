import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { join } from 'node:path';
import type { Config } from '../../config.ts';
import { ApiError } from '../../errors.ts';
import { readOrCreateSecret } from './secret-file.ts';

const FILE = 'internal-secret';

/** The internal secret of this installation: the configured one, else one created once and kept in DATA_DIR. */
export async function loadInternalSecret(config: Config): Promise<string> {
  if (config.internal_secret !== undefined) return config.internal_secret;
  return readOrCreateSecret(join(config.data_dir, FILE), () => randomBytes(32).toString('hex'));
}

/** Throws UNAUTHORIZED unless the `X-Internal-Secret` header (spec part 5) is one of the accepted secrets. */
export type CheckInternalSecret = (header: string | undefined) => void;

/** Creates the check for the accepted secrets (two while they are rotated). It compares in constant time. */
export function createInternalSecretCheck(accepted: readonly string[]): CheckInternalSecret {
  // Hashed first: the compared values have equal lengths, so that the time reveals nothing about the secrets' lengths.
  const digest = (text: string) => hash('sha256', text, 'buffer');
  const digests = accepted.map(digest);
  return (header) => {
    const given = digest(header ?? '');
    // Every secret is compared, so that the time does not depend on which one matches.
    const matches = digests.filter((each) => timingSafeEqual(given, each)).length;
    if (header === undefined || matches === 0) {
      throw new ApiError('UNAUTHORIZED', 'a valid X-Internal-Secret header is required');
    }
  };
}
