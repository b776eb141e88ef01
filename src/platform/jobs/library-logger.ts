import { Logger as LibraryLogger } from 'graphile-worker';
import type { Logger } from '../logger.ts';

/**
 * graphile-worker's own words, in our log: what it calls information is for those who look closely. Failed jobs are
 * left out, as we report them ourselves.
 */
export function libraryLogger(logger: Logger): LibraryLogger {
  return new LibraryLogger(() => (level, message, meta) => {
    if (meta?.['failure'] === true) return;
    const error = meta?.['error'];
    const fields = error === undefined ? {} : { err: error };
    const text = `jobs: ${message}`;
    const severity: string = level;
    if (severity === 'error' || severity === 'warning') logger.warn(fields, text);
    else if (severity === 'info') logger.debug(fields, text);
  });
}
