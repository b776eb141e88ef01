import { randomUUID } from 'node:crypto';
import { link, open, readFile, rename, unlink, writeFile, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Queue, type Entry, type Limits } from '../events/queue.ts';
import type { Store } from '../events/sender.ts';

/** A line of the file: an entry as it is now, or the place of one that is gone. */
type Line = { put: Entry } | { del: number };

/** The file is written anew when it has more than this, and four times what waits. */
const SMALL_BYTES = 1024 * 1024;

/** Another process that runs uses the file. */
export class SpoolInUseError extends Error {
  override readonly name = 'SpoolInUseError';
}

/**
 * A store that keeps events about money, exclusions, limits and KYC in a file, together with the batches that they are in: they
 * are there after a crash, and are sent under the same Idempotency-Keys. An update with such an event resolves when the
 * file is written through (fsync). Rejects with {@link SpoolInUseError}.
 */
export async function openSpool(path: string, limits: Limits): Promise<Store & { close(): Promise<void> }> {
  await lock(`${path}.lock`);
  try {
    const spool = new Spool(path, entriesOf(await readFile(path, 'utf8').catch(ifMissing)), limits);
    await spool.rewrite();
    return spool;
  } catch (error) {
    await unlock(`${path}.lock`);
    throw error;
  }
}

/** The entries of a file, in their order. What follows the last end of a line was never confirmed. */
function entriesOf(text: string): Entry[] {
  const entries = new Map<number, Entry>();
  for (const line of text.split('\n').slice(0, -1)) {
    const parsed = JSON.parse(line) as Line;
    if ('put' in parsed) entries.set(parsed.put.seq, parsed.put);
    else entries.delete(parsed.del);
  }
  return [...entries.values()].toSorted((a, b) => a.seq - b.seq);
}

function ifMissing(error: NodeJS.ErrnoException): '' {
  if (error.code === 'ENOENT') return '';
  throw error;
}

/** The locks of this process. */
const locked = new Set<string>();

async function lock(path: string): Promise<void> {
  if (locked.has(path)) throw new SpoolInUseError(`another client of this process uses ${path}`);
  locked.add(path);
  try {
    await lockFile(path);
  } catch (error) {
    locked.delete(path);
    throw error;
  }
}

async function unlock(path: string): Promise<void> {
  await unlink(path).catch(ifMissing);
  locked.delete(path);
}

async function lockFile(path: string): Promise<void> {
  // Whole before it has the name, so that no process finds a lock without its number.
  const own = `${path}.${process.pid}-${randomUUID()}`;
  try {
    await writeFile(own, String(process.pid));
    while (!(await isLinked(own, path))) {
      const file = await lockAt(path);
      if (file === undefined) continue;
      // In a container a process may have the number of the one before it.
      if (file.pid !== process.pid && isRunning(file.pid))
        throw new SpoolInUseError(`process ${file.pid} uses ${path}`);
      await removeStale(path, file.name);
    }
  } finally {
    await unlink(own).catch(ifMissing);
  }
}

/** Removes a stale lock: one process at a time, and only this very file, in whose place another process may have put its own. */
async function removeStale(path: string, name: string): Promise<void> {
  const right = `${path}.${name}`;
  await lockFile(right);
  try {
    if ((await lockAt(path))?.name === name) await unlink(path);
  } finally {
    await unlink(right).catch(ifMissing);
  }
}

async function isLinked(own: string, path: string): Promise<boolean> {
  try {
    await link(own, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** The number of the process that has the lock, and what no other file at this path is called. */
async function lockAt(path: string): Promise<{ pid: number; name: string } | undefined> {
  const file = await open(path, 'r').catch(ifMissing);
  if (file === '') return undefined;
  try {
    const { ino, mtimeNs } = await file.stat({ bigint: true });
    return { pid: Number(await file.readFile('utf8')), name: `${ino}-${mtimeNs}` };
  } finally {
    await file.close();
  }
}

function isRunning(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

class Spool implements Store {
  readonly #path: string;
  readonly #queue: Queue;
  /** seq → bytes of what the file has and still waits. */
  readonly #kept = new Map<number, number>();
  #kept_bytes = 0;
  #file: FileHandle | undefined;
  #file_bytes = 0;
  #lines: string[] = [];
  /** A write has failed, or is going on: the end of the file is not known. */
  #is_torn = false;
  #writing: Promise<void> = Promise.resolve();
  /** What was added, and could not be written. */
  readonly #withdrawn = new WeakSet<Entry>();

  constructor(path: string, entries: Entry[], limits: Limits) {
    this.#path = path;
    this.#queue = new Queue(entries, limits);
    for (const entry of entries) this.#keep(entry);
  }

  async update<T>(work: (queue: Queue) => T): Promise<T> {
    const queue = this.#queue;
    const is_in_batch = queue.entries[0]?.batch !== undefined;
    const result = work(queue);
    const changed = [...queue.changed];
    const added = changed.filter(({ batch }) => batch === undefined);
    const written = this.#writeChanges();
    // Without its removal an entry is only sent again.
    if (written === undefined) return result;
    try {
      await written;
    } catch (error) {
      // The caller may add it again. A batch that the file does not have is not sent.
      for (const entry of added) queue.withdraw(entry);
      for (const entry of added) this.#withdrawn.add(entry);
      if (!is_in_batch) for (const entry of changed) delete entry.batch;
      void this.#writeChanges();
      throw error;
    }
    if (changed.some((entry) => this.#withdrawn.has(entry))) throw new Error('a part of it was not written');
    return result;
  }

  /** Writes what has changed in the queue. Undefined: nothing is to be waited for. */
  #writeChanges(): Promise<void> | undefined {
    const queue = this.#queue;
    // First what is gone: its place may be taken again.
    for (const { seq } of queue.removed) {
      if (this.#kept.has(seq)) this.#lines.push(lineOf({ del: seq }));
      this.#forget(seq);
    }
    const vital = new Set<string | undefined>();
    for (const { batch, is_vital } of queue.changed) if (is_vital) vital.add(batch);
    let is_vital = false;
    for (const entry of queue.changed) {
      if (!entry.is_vital && (entry.batch === undefined || !vital.has(entry.batch))) continue;
      this.#lines.push(this.#keep(entry));
      is_vital = true;
    }
    queue.changed.clear();
    queue.removed.clear();
    const written = this.#write();
    if (is_vital) return written;
    written.catch(() => undefined);
    return undefined;
  }

  async close(): Promise<void> {
    await this.#write().catch(() => undefined);
    await this.#file?.close();
    await unlock(`${this.#path}.lock`);
  }

  /** Writes the file anew, with what waits. */
  async rewrite(): Promise<void> {
    const lines = this.#queue.entries.filter(({ seq }) => this.#kept.has(seq)).map((put) => lineOf({ put }));
    const bytes = this.#kept_bytes;
    this.#lines = [];
    this.#is_torn = true;
    const temporary = `${this.#path}.new`;
    const file = await open(temporary, 'w', 0o600);
    try {
      await file.writeFile(lines.join(''));
      await file.sync();
      await rename(temporary, this.#path);
      const folder = await open(dirname(this.#path), 'r');
      try {
        await folder.sync();
      } finally {
        await folder.close();
      }
    } catch (error) {
      await file.close();
      throw error;
    }
    await this.#file?.close();
    this.#file = file;
    this.#file_bytes = bytes;
    this.#is_torn = false;
  }

  /** Writes what there is, one write after the other. */
  #write(): Promise<void> {
    this.#writing = this.#writing.catch(() => undefined).then(() => this.#writeNow());
    return this.#writing;
  }

  async #writeNow(): Promise<void> {
    const is_long = this.#file_bytes > SMALL_BYTES && this.#file_bytes > 4 * this.#kept_bytes;
    if (this.#is_torn || is_long) return this.rewrite();
    if (this.#lines.length === 0) return;
    const text = this.#lines.join('');
    this.#lines = [];
    this.#is_torn = true;
    await this.#file?.appendFile(text);
    await this.#file?.datasync();
    this.#file_bytes += text.length;
    this.#is_torn = false;
  }

  #keep(entry: Entry): string {
    this.#forget(entry.seq);
    const line = lineOf({ put: entry });
    this.#kept.set(entry.seq, line.length);
    this.#kept_bytes += line.length;
    return line;
  }

  #forget(seq: number): void {
    this.#kept_bytes -= this.#kept.get(seq) ?? 0;
    this.#kept.delete(seq);
  }
}

function lineOf(line: Line): string {
  return `${JSON.stringify(line)}\n`;
}
