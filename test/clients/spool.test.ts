import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import {
  appendFile,
  copyFile,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Entry, Queue } from '../../clients/js/src/events/queue.ts';
import { openSpool } from '../../clients/js/src/server/spool.ts';
import { runs } from '../engines/effort.ts';
import { LIMITS } from './sending-world.ts';

// The file by which a backend's events about money survive a crash.

let folder: string;
let n = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'spool-'));
});
afterAll(() => rm(folder, { recursive: true }));
const newPath = () => join(folder, `s${n++}`);

const entry = (id: string, is_vital = true): Omit<Entry, 'seq'> => ({
  kind: 'event',
  json: JSON.stringify({ id }),
  bytes: 10,
  at_ms: 0,
  is_vital,
});
const copyOf = ({ entries }: Queue) => structuredClone(entries);

/** What a process finds that starts after a crash at this moment. */
async function found(path: string): Promise<Entry[]> {
  const copy = newPath();
  await copyFile(path, copy);
  const spool = await openSpool(copy, LIMITS);
  const entries = await spool.update(copyOf);
  await spool.close();
  return entries;
}

it('has after a crash at any time what was confirmed, in the same batches', async () => {
  const operation = fc.oneof(
    fc.record({ kind: fc.constant('push' as const), is_vital: fc.boolean() }),
    fc.record({ kind: fc.constantFrom('next' as const, 'done' as const, 'split' as const) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 30 }), async (operations) => {
      const path = newPath();
      const spool = await openSpool(path, { ...LIMITS, batch_entries: 3, entries: 12 });
      for (const [i, one] of operations.entries()) {
        const now = await spool.update((queue) => {
          const key = queue.entries[0]?.batch ?? '';
          if (one.kind === 'push') queue.push(entry(`e${i}`, one.is_vital));
          else if (one.kind === 'next') queue.next(`k${i}`);
          else if (key !== '') queue[one.kind](key);
          return copyOf(queue);
        });
        // An update that removes does not wait for the file; one that confirms does, and comes after it.
        await spool.update((queue) => queue.push(entry(`mark${i}`)));
        const there = (await found(path)).filter(({ json }) => !json.includes('mark'));
        const batches = new Set(now.filter(({ is_vital }) => is_vital).map(({ batch }) => batch ?? 'none'));
        const wanted = now.filter(
          ({ is_vital, batch, json }) =>
            !json.includes('mark') && (is_vital || (batch !== undefined && batches.has(batch))),
        );
        expect(there).toEqual(wanted);
      }
      await spool.close();
    }),
    { numRuns: runs(10, { quick: 5 }) },
  );
});

it('ignores a line that was not written to its end', async () => {
  const path = newPath();
  const spool = await openSpool(path, LIMITS);
  await spool.update((queue) => queue.push(entry('a')));
  await spool.close();
  await appendFile(path, '{"put":{"seq":2,"js');
  expect((await found(path)).map(({ json }) => json)).toEqual(['{"id":"a"}']);
});

it('does not grow with what was sent', async () => {
  const path = newPath();
  const spool = await openSpool(path, LIMITS);
  const large = 'x'.repeat(100_000);
  await spool.update((queue) => queue.push(entry('stays')));
  for (let i = 0; i < 60; i++) {
    await spool.update((queue) => queue.push(entry(large)));
    await spool.update((queue) => {
      const key = queue.next(`k${i}`)[0]?.batch ?? '';
      queue.done(key);
      if (queue.entries.length === 0) queue.push(entry('stays'));
    });
  }
  expect((await stat(path)).size).toBeLessThan(2_000_000);
  await spool.close();
  expect((await found(path)).length).toBe(1);
});

it('is of one process and one client', async () => {
  const path = newPath();
  const spool = await openSpool(path, LIMITS);
  await expect(openSpool(path, LIMITS)).rejects.toThrow(/another client/);
  await spool.close();
  await writeFile(`${path}.lock`, String(process.ppid));
  await expect(openSpool(path, LIMITS)).rejects.toMatchObject({ name: 'SpoolInUseError' });
  // Of a process that has ended, and one without a number, which died while it wrote it.
  for (const pid of ['999999999', '']) {
    await writeFile(`${path}.lock`, pid);
    const again = await openSpool(path, LIMITS);
    expect(await readFile(`${path}.lock`, 'utf8')).toBe(String(process.pid));
    await again.close();
  }
});

it('has a lock that is never seen without its number', async () => {
  const path = newPath();
  const seen = new Set<string>();
  const opens = async () => {
    for (let i = 0; i < 40; i++) await (await openSpool(path, LIMITS)).close();
  };
  const state = { is_over: false };
  const opening = opens().finally(() => (state.is_over = true));
  while (!state.is_over) {
    try {
      seen.add(readFileSync(`${path}.lock`, 'utf8'));
    } catch {
      // It is not there now.
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  await opening;
  expect([...seen]).toEqual([String(process.pid)]);
  expect((await readdir(folder)).filter((name) => name.includes('.lock'))).toEqual([]);
});

it('does not take the lock of a process that was faster with the same stale lock', async () => {
  const path = newPath();
  const lock = `${path}.lock`;
  await writeFile(lock, '999999999');
  const kill = vi.spyOn(process, 'kill').mockImplementationOnce(() => {
    // Between the look at the stale lock and its removal.
    rmSync(lock);
    writeFileSync(lock, String(process.ppid));
    throw new Error('no such process');
  });
  onTestFinished(() => kill.mockRestore());
  await expect(openSpool(path, LIMITS)).rejects.toMatchObject({ name: 'SpoolInUseError' });
  expect(await readFile(lock, 'utf8')).toBe(String(process.ppid));
});

it('takes a stale lock while another process that took it has died', async () => {
  const path = newPath();
  const lock = `${path}.lock`;
  await writeFile(lock, '999999999');
  const { ino, mtimeNs } = await stat(lock, { bigint: true });
  await writeFile(`${lock}.${ino}-${mtimeNs}`, '999999998');
  const spool = await openSpool(path, LIMITS);
  expect(await readFile(lock, 'utf8')).toBe(String(process.pid));
  await spool.close();
});

describe('when a write fails', () => {
  /** The next append fails, as on a full disk. */
  async function failOnce(): Promise<void> {
    const file = await open(join(folder, 'any'), 'w');
    const spy = vi.spyOn(Object.getPrototypeOf(file) as typeof file, 'datasync');
    await file.close();
    spy.mockImplementationOnce(() => Promise.reject(new Error('ENOSPC')));
    onTestFinished(() => spy.mockRestore());
  }
  const jsons = (entries: readonly Entry[]) => entries.map(({ json }) => json);

  it('the event that was refused is not sent, also if it is in a batch by then', async () => {
    const path = newPath();
    const spool = await openSpool(path, LIMITS);
    await spool.update((queue) => queue.push(entry('first')));
    await failOnce();
    const refused = spool.update((queue) => queue.push(entry('refused')));
    const batch = spool.update((queue) => queue.next('k'));
    await expect(refused).rejects.toThrow('ENOSPC');
    await expect(batch).rejects.toThrow();
    expect(jsons(await spool.update((queue) => queue.next('k2')))).toEqual(['{"id":"first"}']);
    await spool.update((queue) => queue.push(entry('refused')));
    expect(jsons(await found(path))).toEqual(['{"id":"first"}', '{"id":"refused"}']);
    await spool.close();
  });

  it('a batch whose key was not kept gets another', async () => {
    const path = newPath();
    const spool = await openSpool(path, LIMITS);
    await spool.update((queue) => queue.push(entry('a')));
    await failOnce();
    await expect(spool.update((queue) => queue.next('k'))).rejects.toThrow('ENOSPC');
    await spool.update((queue) => queue.next('k2'));
    expect((await found(path)).map(({ batch }) => batch)).toEqual(['k2']);
    await spool.close();
  });
});
