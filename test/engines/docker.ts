import { execFile, spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Engine } from './server-process.ts';

// Starts servers by the `docker` command.

const run = promisify(execFile);
const REMOVE = ['rm', '--force', '--volumes'];
const READY_TIMEOUT_MS = 120_000;
const POLL_MS = 100;

const started = new Set<string>();
process.on('exit', () => {
  if (started.size > 0) spawnSync('docker', [...REMOVE, ...started]);
});

interface ContainerOptions {
  image: string;
  /** The server's port inside the container, and the port of this machine that maps to it. */
  port: number;
  host_port: number;
  /** Ports of further listeners. */
  more_ports?: { container: number; host: number }[];
  environment?: Record<string, string>;
  command?: string[];
  ready(): Promise<unknown>;
  /** A program run inside the container once the server answers. */
  after_start?: string[];
}

let answer: Promise<boolean> | undefined;

/** Whether a Docker engine answers. */
export function dockerAnswers(): Promise<boolean> {
  answer ??= docker('version').then(
    () => true,
    () => false,
  );
  return answer;
}

/**
 * Starts a server in a container, which is removed when this process exits. Its host port is fixed, so that its address
 * survives a restart. A process that is killed leaves its containers; their label finds them:
 * `docker rm -fv $(docker ps -aq --filter label=player-engagement-test)`.
 */
export async function startContainer(options: ContainerOptions): Promise<Engine> {
  const { image, port, host_port, more_ports = [], environment = {}, command = [], after_start } = options;
  const ports = [{ container: port, host: host_port }, ...more_ports];
  const id = await docker(
    'run',
    '--detach',
    '--label=player-engagement-test',
    ...ports.map(({ container, host }) => `--publish=127.0.0.1:${host}:${container}`),
    ...Object.entries(environment).map(([name, value]) => `--env=${name}=${value}`),
    image,
    ...command,
  );
  started.add(id);
  const until_ready = async () => {
    for (const deadline_ms = Date.now() + READY_TIMEOUT_MS; ; await sleep(POLL_MS)) {
      try {
        await options.ready();
        return;
      } catch (cause) {
        if (Date.now() > deadline_ms) throw new Error(`${image} does not answer`, { cause });
      }
    }
  };
  const stop = async () => {
    if (started.delete(id)) await docker(...REMOVE, id);
  };
  try {
    await until_ready();
    if (after_start !== undefined) await docker('exec', id, ...after_start);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    async kill() {
      await docker('kill', id);
      await docker('wait', id);
    },
    async restart() {
      await docker('start', id);
      await until_ready();
    },
    stop,
  };
}

/** Runs a command of Docker and returns what it prints; rejects with its message when it fails. */
async function docker(...args: string[]): Promise<string> {
  return (await run('docker', args)).stdout.trim();
}
