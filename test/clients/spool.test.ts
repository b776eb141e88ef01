import { appendFile, copyFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
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
