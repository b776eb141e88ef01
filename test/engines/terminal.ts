import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

/** A block of a page that is marked `sh`, in the order of the page. */
export interface Step {
  command: string;
  /** The block marked `text` after it: the expected output. Undefined when there is none. */
  shown: string | undefined;
}

/** The steps that a page describes. */
export function stepsOf(page: string): Step[] {
  const blocks = page.matchAll(/```sh\n([\s\S]*?)```(?:\n\n```text\n([\s\S]*?)```)?/g);
  return [...blocks].map(([, command = '', shown]) => ({ command, shown }));
}

/** Where the service of a test listens. */
export interface Hosts {
  base_url: string;
  ingest_url: string;
}

/**
 * One terminal in `folder`, for the commands of a page: variables that a command sets are those of the next one, and the
 * default ports are those of the service. The function runs a command, and returns its output. It rejects when the command
 * fails or writes to stderr.
 */
export async function openTerminal(
  folder: string,
  { base_url, ingest_url }: Hosts,
): Promise<(command: string) => Promise<string>> {
  const state = join(folder, 'state.sh');
  await writeFile(state, '');
  return async (typed) => {
    const command = typed
      .replaceAll('http://127.0.0.1:8080/', `${base_url}/`)
      .replaceAll('http://127.0.0.1:8081/', `${ingest_url}/`);
    const script = `set -a\n. ${state}\n${command}\nexport -p > ${state}\n`;
    const shell = spawn('sh', ['-e', '-c', script], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
    const [printed, complaints, [code]] = await Promise.all([
      text(shell.stdout),
      text(shell.stderr),
      once(shell, 'exit'),
    ]);
    if (code !== 0 || complaints !== '') throw new Error(`exit ${String(code)}:\n${command}\n${complaints}`);
    return printed;
  };
}
