import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../../src/package-root.ts';

/** An event as a program gives it to its client, in the words of all clients. */
export interface GivenEvent {
  type: 'track' | 'identify' | 'page' | 'screen' | 'group' | 'alias';
  userId?: string;
  anonymousId?: string;
  previousId?: string;
  groupId?: string;
  event?: string;
  name?: string;
  properties?: Record<string, unknown>;
  traits?: Record<string, unknown>;
  context?: Record<string, unknown>;
}

/** What a driver gets: the `--input` of Segment's e2e-cli. `apiHost` is a URL without a path. */
export interface Task {
  writeKey: string;
  apiHost: string;
  /** Given in their order, each after a pause. */
  sequences: { delayMs: number; events: GivenEvent[] }[];
  /** Settings of the client, in its own words. */
  config: Record<string, unknown>;
}

/** What a driver answers when its client has nothing more to send. `success`: the client reported no error. */
export interface Result {
  success: boolean;
  /** Requests that the client took for delivered. */
  sentBatches: number;
  /** The first error. */
  error?: string;
}

/** Gives the events of a task to a client and waits until it has sent or given up each of them. */
export type Driver = (task: Task) => Promise<Result>;

/** Where scripts/install-test-engines.sh puts the clients. */
export const CLIENTS = join(packageRoot, '.cache/conformance');
const DRIVERS = join(import.meta.dirname, 'drivers');
const MAX_OUTPUT = 10_000_000;

/** Of a driver that is a process; `dir` gets a file with the task, which is longer than an argument may be. */
function processDriver(dir: string, command: string, ...args: string[]): Driver {
  return async (task) => {
    const input = join(dir, `${randomUUID()}.json`);
    await writeFile(input, JSON.stringify(task));
    const output = await new Promise<string>((resolve, reject) => {
      execFile(
        command,
        [...args, '--input', `@${input}`],
        { env: { ...process.env, CONFORMANCE_CLIENTS: CLIENTS }, maxBuffer: MAX_OUTPUT },
        (error, stdout, stderr) =>
          error === null ? resolve(stdout) : reject(new Error(`${stderr}\n${stdout}`)),
      );
    });
    return JSON.parse(output.trimEnd().split('\n').at(-1) ?? '') as Result;
  };
}

/** The drivers that are processes, by the name of their client. */
export function processDrivers(dir: string) {
  const node = (file: string) => processDriver(dir, process.execPath, join(DRIVERS, file));
  const python = (module: string) =>
    processDriver(dir, join(CLIENTS, 'python/bin/python'), join(DRIVERS, 'python_client.py'), module);
  return {
    'analytics-node': node('analytics-node.mjs'),
    'rudder-node': node('rudder-node.mjs'),
    'segment-python': python('segment.analytics'),
    'rudder-python': python('rudderstack.analytics'),
    'analytics-java': processDriver(
      dir,
      'java',
      '-cp',
      join(CLIENTS, 'libs/*'),
      join(DRIVERS, 'AnalyticsJava.java'),
    ),
  };
}
