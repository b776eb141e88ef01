import { Logger as LibraryLogger } from 'graphile-worker';
import type { Logger } from '../logger.ts';

/**
 * Writes graphile-worker's messages to our log: its errors and warnings at level `warn`, its `info` at level `debug`.
 * Messages about failed jobs are dropped, because the worker reports those itself.
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
