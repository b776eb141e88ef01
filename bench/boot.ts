import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { median, result, type Result } from './measure.ts';
import { cpuOfTrees } from './process-tree.ts';
import { ENGINES, SERVICE, startProgram } from './program.ts';

const ROUNDS = 5;
const WARM_STARTS_PER_ROUND = 2;
const COLD_AT_MOST_S = 4;
const WARM_AT_MOST_S = 1;
const SAMPLE_EVERY_MS = 10;

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
