import { pino, type Logger as PinoLogger } from 'pino';

export type Logger = PinoLogger;

/** JSON logs to stderr (stdout belongs to commands' output). Ids only: no secrets, no personal data. */
export function createLogger(level: string): Logger {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ dest: 2, sync: false }),
  );
}
