import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

const TICKS_PER_SECOND = 100;

/**
 * CPU time so far, user and system, in core-seconds, of the processes `roots` and all below them. Children that have ended
 * count as soon as their parent has waited for them. A process that has detached itself, such as the embedded Postgres,
 * must be given as a root of its own.
 */
export async function cpuOfTrees(roots: readonly number[]): Promise<number> {
  const all = await readProcesses();
  const below = (pid: number): number[] => [
    pid,
    ...[...all].filter(([, { parent }]) => parent === pid).flatMap(([child]) => below(child)),
  ];
  const times = roots.flatMap(below).map(async (pid) => {
    const { own_s = 0, ended_s = 0 } = all.get(pid) ?? {};
    // `stat` rounds down to 10 ms, which is more than many a process of Postgres uses; it has the threads that have ended.
    return ended_s + Math.max(own_s, await threadsOf(pid));
  });
  return (await Promise.all(times)).reduce((sum, s) => sum + s, 0);
}

/** The process id of the embedded Postgres of a data folder; undefined when it does not run. */
export async function postmasterOf(data_dir: string): Promise<number | undefined> {
  const file = join(data_dir, 'postgres', 'cluster', 'postmaster.pid');
  const text = await readFile(file, 'utf8').catch(() => '');
  return text === '' ? undefined : Number(text.split('\n', 1)[0]);
}

interface ProcessTimes {
  parent: number;
  own_s: number;
  /** That of its children that have ended. */
  ended_s: number;
}

async function readProcesses(): Promise<Map<number, ProcessTimes>> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  // A process may end meanwhile: then its parent has its time.
  const stats = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')));
  return new Map(
    stats.flatMap((stat, i): [number, ProcessTimes][] => {
      if (stat === '') return [];
      // The name in front may contain spaces and brackets.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      const seconds = (from: number) => (Number(fields[from]) + Number(fields[from + 1])) / TICKS_PER_SECOND;
      return [[Number(pids[i]), { parent: Number(fields[1]), own_s: seconds(11), ended_s: seconds(13) }]];
    }),
  );
}

/** CPU time of the threads that live, to the nanosecond. */
async function threadsOf(pid: number): Promise<number> {
  const ids = await readdir(`/proc/${pid}/task`).catch(() => []);
  const times = await Promise.all(
    ids.map(async (id) => {
      const text = await readFile(`/proc/${pid}/task/${id}/schedstat`, 'utf8').catch(() => '0');
      return Number(text.split(' ', 1)[0]) / 1e9;
    }),
  );
  return times.reduce((sum, s) => sum + s, 0);
}
