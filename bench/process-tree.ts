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
  const of = (pid: number): number =>
    (all.get(pid)?.cpu_s ?? 0) +
    [...all].filter(([, { parent }]) => parent === pid).reduce((sum, [child]) => sum + of(child), 0);
  return roots.reduce((sum, root) => sum + of(root), 0);
}

/** The process id of the embedded Postgres of a data folder; undefined when it does not run. */
export async function postmasterOf(data_dir: string): Promise<number | undefined> {
  const file = join(data_dir, 'postgres', 'cluster', 'postmaster.pid');
  const text = await readFile(file, 'utf8').catch(() => '');
  return text === '' ? undefined : Number(text.split('\n', 1)[0]);
}

interface ProcessTimes {
  parent: number;
  /** Its own, and that of its children that have ended. */
  cpu_s: number;
}

async function readProcesses(): Promise<Map<number, ProcessTimes>> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(pids.map(async (pid) => [Number(pid), await readTimes(pid)] as const));
  // A process may end meanwhile: then its parent has its time.
  return new Map(found.flatMap(([pid, times]) => (times === undefined ? [] : [[pid, times] as const])));
}

async function readTimes(pid: string): Promise<ProcessTimes | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  if (stat === '') return undefined;
  // The name in front may contain spaces and brackets.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user = 0, system = 0, ...ended] = fields
    .slice(11, 15)
    .map((ticks) => Number(ticks) / TICKS_PER_SECOND);
  // `stat` rounds down to 10 ms, which is more than many a process of Postgres uses; it has the threads that have ended.
  const own_s = Math.max(user + system, await threadsOf(pid));
  return { parent: Number(fields[1]), cpu_s: own_s + ended.reduce((sum, s) => sum + s, 0) };
}

/** CPU time of the threads that live, to the nanosecond. */
async function threadsOf(pid: string): Promise<number> {
  const ids = await readdir(`/proc/${pid}/task`).catch(() => []);
  const times = await Promise.all(
    ids.map(async (id) => {
      const text = await readFile(`/proc/${pid}/task/${id}/schedstat`, 'utf8').catch(() => '0');
      return Number(text.split(' ', 1)[0]) / 1e9;
    }),
  );
  return times.reduce((sum, s) => sum + s, 0);
}
