import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const READY_TIMEOUT_MS = 60_000;
const POLL_MS = 50;

/** A real server that a test may kill. */
export interface Engine {
  /** SIGKILL: the server cannot write anything more. */
  kill(): Promise<void>;
  /** Starts a killed or stopped server again, on the same port and data. */
  restart(): Promise<void>;
  /** Stops it permanently and removes its data. May be called twice. */
  stop(): Promise<void>;
}

interface ServerOptions {
  name: string;
  command: string;
  args: string[];
  log_file: string;
  /** Working directory, user and environment; those of this process when left out. */
  place?: Pick<SpawnOptions, 'cwd' | 'env' | 'uid' | 'gid'>;
  /** Resolves when the server answers; called repeatedly until it does. */
  ready(): Promise<unknown>;
}

const alive = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of alive) child.kill('SIGKILL');
});

/** A server that runs as a child of this process and is killed when this process exits. */
export class ServerProcess {
  #options: ServerOptions;
  #child: ChildProcess | undefined;

  constructor(options: ServerOptions) {
    this.#options = options;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Its exit code; null while it runs and when a signal ended it. */
  get exit_code(): number | null {
    return this.#child?.exitCode ?? null;
  }

  /** Resolves when the server answers; rejects with the end of its log when it exits or does not answer in time. */
  async start(): Promise<void> {
    const { command, args, log_file, name, place } = this.#options;
    const log = createWriteStream(log_file, { flags: 'a' });
    const child = spawn(command, args, { ...place, stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout?.pipe(log, { end: false });
    child.stderr?.pipe(log, { end: false });
    this.#child = child;
    alive.add(child);
    let failed: Error | undefined;
    child.once('error', (error) => (failed = error));
    child.once('exit', (code, signal) => {
      alive.delete(child);
      failed ??= new Error(`exit ${code ?? signal}`);
    });
    const deadline_ms = Date.now() + READY_TIMEOUT_MS;
    for (;;) {
      const silence = await this.#options.ready().then(
        () => undefined,
        (error: unknown) => (error instanceof Error ? error.message : 'no answer'),
      );
      if (silence === undefined) return;
      if (failed !== undefined || Date.now() > deadline_ms) {
        await this.signal('SIGKILL');
        const tail = (await readFile(log_file, 'utf8')).slice(-2_000);
        throw new Error(`${name} did not start (${failed?.message ?? silence}):\n${tail}`);
      }
      await sleep(POLL_MS);
    }
  }

  /** Sends the signal and waits until the process has ended. */
  async signal(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    if (child.pid === undefined) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }
}
