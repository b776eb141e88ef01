import { fork, type ChildProcess } from 'node:child_process';
import { Session } from 'node:inspector/promises';
import { join } from 'node:path';
import { packageRoot } from '../src/package-root.ts';
import { timesOfProfile, type StageTimes } from './stages.ts';

/** Bytes of memory of one process. */
export interface Memory {
  resident_bytes: number;
  heap_bytes: number;
}

/** A server in its own process, so that its CPU time includes nothing else. */
export interface BenchServer {
  port: number;
  /** The values that the server passed to {@link serve}. */
  ready: Record<string, string>;
  /** CPU time of the process so far, in milliseconds. */
  cpu_ms(): Promise<number>;
  /** Begins a CPU profile of the process. */
  startProfile(): Promise<void>;
  /** Ends the profile; microseconds by stage. */
  stopProfile(): Promise<StageTimes>;
  /** The id of the process. */
  pid: number;
  /** Memory of the process after a garbage collection: resident memory, and the JavaScript heap in use. */
  memory(): Promise<Memory>;
  stop(): Promise<void>;
}

/** Starts `dist/bench/servers/<name>.js`, which answers through {@link serve}. */
export async function startBenchServer(
  name: string,
  environment: Record<string, string> = {},
): Promise<BenchServer> {
  const child = fork(join(packageRoot, 'dist', 'bench', 'servers', `${name}.js`), {
    env: { ...process.env, ...environment },
    execArgv: ['--max-semi-space-size=64', '--expose-gc'],
  });
  const ready = (await message(child)) as { port: number; ready: Record<string, string> };
  return {
    ...ready,
    async cpu_ms() {
      child.send('cpu');
      return (await message(child)) as number;
    },
    pid: child.pid ?? 0,
    async startProfile() {
      child.send('start profile');
      await message(child);
    },
    async stopProfile() {
      child.send('stop profile');
      return (await message(child)) as StageTimes;
    },
    async memory() {
      child.send('memory');
      return (await message(child)) as Memory;
    },
    async stop() {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.send('stop');
      await gone;
    },
  };
}

function message(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null) => reject(new Error(`the server ended with ${code}`));
    child.once('exit', onExit);
    child.once('message', (value) => {
      child.off('exit', onExit);
      resolve(value);
    });
  });
}

/** The child's side: sends its port and `ready`, answers requests for figures of the process, and ends on `stop`. */
export function serve(port: number, ready: Record<string, string>, close: () => Promise<void>): void {
  const inspector = new Session();
  process.on('message', (asked) => {
    if (asked === 'cpu') {
      const { user, system } = process.cpuUsage();
      process.send?.((user + system) / 1000);
    } else if (asked === 'memory') {
      globalThis.gc?.();
      const { rss, heapUsed } = process.memoryUsage();
      process.send?.({ resident_bytes: rss, heap_bytes: heapUsed } satisfies Memory);
    } else if (asked === 'start profile') {
      inspector.connect();
      void inspector
        .post('Profiler.enable')
        .then(() => inspector.post('Profiler.start'))
        .then(() => process.send?.(null));
    } else if (asked === 'stop profile') {
      void inspector.post('Profiler.stop').then(({ profile }) => process.send?.(timesOfProfile(profile)));
    } else {
      void close().then(() => process.exit(0));
    }
  });
  process.send?.({ port, ready });
}
