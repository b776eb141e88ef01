import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { packageRoot } from '../src/package-root.ts';
import { NO_PROVIDERS } from '../test/engines/no-providers.ts';
import { median, result, type Result } from './measure.ts';
import { cpuOfTrees, postmasterOf } from './process-tree.ts';

const ROUNDS = 5;
const WARM_STARTS_PER_ROUND = 2;
const COLD_AT_MOST_S = 4;
const WARM_AT_MOST_S = 1;
const SAMPLE_EVERY_MS = 10;
/** The service, and the same engines without it: what every start needs. */
export const SERVICE = join('dist', 'src', 'main.js');
export const ENGINES = join('dist', 'bench', 'servers', 'bare-engines.js');

/** What one start and its stop took; CPU time is that of the whole process tree, in core-seconds. */
interface Start {
  boot_s: number;
  stop_s: number;
  wall_ms: number;
}

/** What a start of the whole service costs on an empty data folder, and on one that was used before. */
export async function benchBoot(): Promise<Result[]> {
  const service: Starts = { cold: [], warm: [] };
  const engines: Starts = { cold: [], warm: [] };
  for (let round = 0; round < ROUNDS; round++) {
    await measureRound(SERVICE, service);
    await measureRound(ENGINES, engines);
  }
  return [
    line('cold boot, core-seconds', COLD_AT_MOST_S, service.cold, engines.cold),
    line('warm boot, core-seconds', WARM_AT_MOST_S, service.warm, engines.warm),
  ];
}

interface Starts {
  cold: Start[];
  warm: Start[];
}

/** One start on an empty data folder, and then warm starts on it. */
async function measureRound(program: string, starts: Starts): Promise<void> {
  const data_dir = await mkdtemp(join(tmpdir(), 'engagement-boot-'));
  try {
    starts.cold.push(await measureStart(program, data_dir));
    for (let i = 0; i < WARM_STARTS_PER_ROUND; i++) starts.warm.push(await measureStart(program, data_dir));
  } finally {
    await rm(data_dir, { recursive: true, force: true });
  }
}

/** Starts a program of `dist` that has the embedded engines; resolves when it is ready. `roots`: of its process trees. */
export async function startProgram(
  program: string,
  data_dir: string,
): Promise<{ child: ChildProcess; roots: number[] }> {
  const child = spawn(process.execPath, ['--max-semi-space-size=64', program], {
    cwd: packageRoot,
    env: { ...process.env, ...NO_PROVIDERS, DATA_DIR: data_dir, PORT: '0', INGEST_PORT: '0' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  await ready(child);
  return { child, roots: [child.pid, await postmasterOf(data_dir)].filter((pid) => pid !== undefined) };
}

async function measureStart(program: string, data_dir: string): Promise<Start> {
  const started_ms = performance.now();
  const { child, roots } = await startProgram(program, data_dir);
  const wall_ms = performance.now() - started_ms;
  const boot_s = await cpuOfTrees(roots);
  child.kill('SIGTERM');
  let total_s = boot_s;
  while (child.exitCode === null && child.signalCode === null) {
    // What has ended is not in a sample, so the greatest one is the last whole one.
    total_s = Math.max(total_s, await cpuOfTrees(roots));
    await sleep(SAMPLE_EVERY_MS);
  }
  return { boot_s, stop_s: total_s - boot_s, wall_ms };
}

/** Resolves when the program logs `ready`; rejects with what it has logged when it ends before. */
function ready(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stderr?.on('data', (part: Buffer) => {
      text += part.toString();
      if (text.includes('"msg":"ready"')) resolve();
    });
    child.once('exit', (code) => reject(new Error(`the program ended with ${code}:\n${text}`)));
  });
}

function line(what: string, at_most: number, starts: readonly Start[], bare: readonly Start[]): Result {
  const middle = (of: readonly Start[], figure: keyof Start) => median(of.map((start) => start[figure]));
  return result(
    what,
    starts.map(({ boot_s }) => boot_s),
    { at_most },
    `ready after ${middle(starts, 'wall_ms').toFixed(0)} ms; the stop takes ${middle(starts, 'stop_s').toFixed(2)}; ` +
      `the engines alone take ${middle(bare, 'boot_s').toFixed(2)}, ready after ${middle(bare, 'wall_ms').toFixed(0)} ms`,
  );
}
