import { spawn } from 'node:child_process';
import { once } from 'node:events';

const CHILD = 'dist/test/engines/deliverer-child.js';

/** The key with which the process decrypts the secrets of webhooks, in hex. */
export const DELIVERER_KEY = 'ab'.repeat(32);

/** Starts a webhook-deliverer in a process of its own, on this database. Resolves when it runs, to what kills it. */
export async function startDeliverer(postgres_url: string): Promise<() => Promise<void>> {
  const child = spawn(process.execPath, [CHILD], {
    env: { ...process.env, DELIVERER_POSTGRES_URL: postgres_url, DELIVERER_CREDENTIALS_KEY: DELIVERER_KEY },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const early = exited.then(([code]: unknown[]) => {
    throw new Error(`the deliverer ended with ${String(code)}; was it built?`);
  });
  early.catch(() => undefined);
  await Promise.race([once(child.stdout, 'data'), early]);
  return async () => {
    child.kill('SIGKILL');
    await exited;
  };
}
