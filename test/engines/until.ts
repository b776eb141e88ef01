import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 10;
const PATIENCE_MS = 45_000;

/**
 * Resolves as soon as the condition holds; throws when it does not hold in time. An error of the condition ends the
 * wait.
 */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (const deadline_ms = Date.now() + PATIENCE_MS; !(await condition()); await sleep(POLL_MS)) {
    if (Date.now() > deadline_ms)
      throw new Error(`still not so after ${PATIENCE_MS} ms: ${condition.toString()}`);
  }
}
