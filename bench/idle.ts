import { once } from 'node:events';
import { appendFile, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { median, result, type Result } from './measure.ts';
import { cpuOfTrees } from './process-tree.ts';
import { ENGINES, SERVICE, startProgram } from './program.ts';

const ROUNDS = 3;
/** After its start a service still tidies up, and it is quiet only 10 s later. */
const SETTLE_MS = 30_000;
const WATCHED_MS = 30_000;
const STATEMENTS_AT_MOST = 10;
const CORES_AT_MOST = 0.02;
const LOG_STATEMENTS = `
log_statement = all
logging_collector = on
`;

/** What an idle service costs: statements, and CPU time of its whole process tree. */
export async function benchIdle(): Promise<Result[]> {
  const data_dir = await mkdtemp(join(tmpdir(), 'engagement-idle-'));
  try {
    const [service, engines]: [number[], number[]] = [[], []];
    for (let round = 0; round < ROUNDS; round++) {
      service.push(await coresOf(SERVICE, data_dir));
      engines.push(await coresOf(ENGINES, data_dir));
    }
    const cluster = join(data_dir, 'postgres', 'cluster');
    await appendFile(join(cluster, 'postgresql.auto.conf'), LOG_STATEMENTS);
    const per_second = await statementsOf(SERVICE, data_dir, join(cluster, 'log'));
    return [
      result(
        'idle service, cores',
        service,
        { at_most: CORES_AT_MOST },
        `the engines alone: ${median(engines).toFixed(4)}`,
      ),
      result('idle service, statements/s', [per_second], { at_most: STATEMENTS_AT_MOST }, 'one run'),
    ];
  } finally {
    await rm(data_dir, { recursive: true, force: true });
  }
}

async function coresOf(program: string, data_dir: string): Promise<number> {
  return whileIdle(program, data_dir, async (roots) => {
    const before_s = await cpuOfTrees(roots);
    const started_ms = performance.now();
    await sleep(WATCHED_MS);
    return ((await cpuOfTrees(roots)) - before_s) / ((performance.now() - started_ms) / 1_000);
  });
}

async function statementsOf(program: string, data_dir: string, logs: string): Promise<number> {
  return whileIdle(program, data_dir, async () => {
    const before = await loggedStatements(logs);
    await sleep(WATCHED_MS);
    return ((await loggedStatements(logs)) - before) / (WATCHED_MS / 1_000);
  });
}

/** Statements in the log of Postgres, with those that begin and end transactions. */
async function loggedStatements(dir: string): Promise<number> {
  const files = await readdir(dir);
  const texts = await Promise.all(files.map((file) => readFile(join(dir, file), 'utf8')));
  return texts.join('').match(/ LOG: {2}(statement|execute [^:]*):/g)?.length ?? 0;
}

async function whileIdle<T>(
  program: string,
  data_dir: string,
  look: (roots: number[]) => Promise<T>,
): Promise<T> {
  const { child, roots } = await startProgram(program, data_dir);
  try {
    await sleep(SETTLE_MS);
    return await look(roots);
  } finally {
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
  }
}
