import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { packageRoot } from '../src/package-root.ts';

const READY_TIMEOUT_MS = 90_000;
const STOP_TIMEOUT_MS = 40_000;
const PROBE_TIMEOUT_MS = 2_000;
const POLL_MS = 25;
const LOG_TAIL = 3_000;

/** How a service process is started. */
export interface ServiceProcessOptions {
  data_dir: string;
  /** Free ports; a restart uses the same ones. */
  port: number;
  ingest_port: number;
  /** Further environment variables of the service. */
  environment?: Record<string, string>;
}

/** The child processes that run: they are ended when this process exits. */
const alive = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of alive) child.kill('SIGTERM');
});

/** The real service as a child process, which can be killed and started again on the same data. */
export class ServiceProcess {
  readonly base_url: string;
  readonly ingest_url: string;
  readonly data_dir: string;
  readonly log_file: string;
  #options: ServiceProcessOptions;
  #child: ChildProcess | undefined;

  constructor(options: ServiceProcessOptions) {
    this.#options = options;
    this.data_dir = options.data_dir;
    this.log_file = join(options.data_dir, 'service.log');
    this.base_url = `http://127.0.0.1:${options.port}`;
    this.ingest_url = `http://127.0.0.1:${options.ingest_port}`;
  }

  /** Whether the process runs. */
  get running(): boolean {
    return this.#child !== undefined && isRunning(this.#child);
  }

  /** Starts the process and resolves when every engine answers; rejects with the last lines of its log. */
  async start(): Promise<void> {
    const { data_dir, port, ingest_port, environment } = this.#options;
    await mkdir(data_dir, { recursive: true });
    const log = createWriteStream(this.log_file, { flags: 'a' });
    const child = spawn(process.execPath, [builtMain()], {
      env: {
        ...process.env,
        DATA_DIR: data_dir,
        HOST: '127.0.0.1',
        PORT: String(port),
        INGEST_PORT: String(ingest_port),
        OPS_PORT: '',
        OPS_HOST: '',
        ...environment,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      // A Ctrl-C at the terminal must reach only the script, which then stops the service.
      detached: true,
    });
    child.stdout?.pipe(log, { end: false });
    child.stderr?.pipe(log, { end: false });
    this.#child = child;
    alive.add(child);
    child.once('exit', () => {
      alive.delete(child);
      log.end();
    });
    const deadline_ms = Date.now() + READY_TIMEOUT_MS;
    while (!(await isReady(this.base_url))) {
      if (!isRunning(child)) {
        throw new Error(
          `the service ended with ${child.exitCode ?? child.signalCode}:\n${await this.logTail()}`,
        );
      }
      if (Date.now() > deadline_ms) {
        await this.signal('SIGKILL');
        throw new Error(`the service is not ready after ${READY_TIMEOUT_MS} ms:\n${await this.logTail()}`);
      }
      await sleep(POLL_MS);
    }
  }

  /** Sends the signal and waits for the end of the process. */
  async signal(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#child;
    if (child === undefined || !isRunning(child)) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }

  /** Sends SIGTERM, and SIGKILL after {@link STOP_TIMEOUT_MS}; rejects unless the exit code is 0. */
  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined || !isRunning(child)) return;
    const stopped = await Promise.race([
      this.signal('SIGTERM').then(() => true),
      sleep(STOP_TIMEOUT_MS, false, { ref: false }),
    ]);
    if (!stopped) await this.signal('SIGKILL');
    if (child.exitCode !== 0) {
      throw new Error(
        `the service ended with ${child.exitCode ?? child.signalCode} on SIGTERM:\n${await this.logTail()}`,
      );
    }
  }

  /** The last {@link LOG_TAIL} characters of the log. */
  async logTail(): Promise<string> {
    return (await readFile(this.log_file, 'utf8').catch(() => '')).slice(-LOG_TAIL);
  }
}

/** Whether `/readyz` at `base_url` answers with success. */
export async function isReady(base_url: string): Promise<boolean> {
  try {
    const response = await fetch(`${base_url}/readyz`, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}

/** The compiled `main.js`: next to this file's own folder when this file is compiled, else in dist/. */
function builtMain(): string {
  return import.meta.filename.endsWith('.js')
    ? join(import.meta.dirname, '..', 'src', 'main.js')
    : join(packageRoot, 'dist', 'src', 'main.js');
}

function isRunning(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
}
