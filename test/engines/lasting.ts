import { expect } from 'vitest';
import type { Platform } from '../../src/platform/platform.ts';

/** What a worker can keep open from file to file. */
interface Lasting {
  platform: Platform;
  close(): Promise<void>;
}

/** Says what a file left that would go on, or would stand in the way of the next file. */
type RestOf = (platform: Platform) => Promise<string[]>;

/** Closes what is kept open. */
let closeKept: (() => Promise<void>) | undefined;
let closings = 0;

/** Closes what the worker kept open from earlier files: an embedded ClickHouse is open once per process. */
export async function closeLasting(): Promise<void> {
  const close = closeKept;
  closeKept = undefined;
  await close?.();
}

/**
 * Returns a function that gives each file of a worker the same thing: it starts it for the first file, and again after
 * a file that left something. `close` of what it gives checks that by `restOf`, or by what the file gave. A file that
 * leaves a spy, fake timers or another replaced function fails.
 */
export function lasting<T extends Lasting>(
  name: string,
  start: () => Promise<T>,
  restOf: RestOf,
): (restOf?: RestOf) => Promise<T> {
  let kept: Promise<{ thing: T; functions: Map<string, unknown> }> | undefined;
  const startKept = async () => {
    const thing = await start();
    closeKept = () => {
      kept = undefined;
      return thing.close();
    };
    return { thing, functions: functionsOf(thing) };
  };
  return async (restOfFile = restOf) => {
    // A promise: after a file that gave up waiting, the next one waits for the same start.
    kept ??= startKept().catch((error: unknown) => {
      kept = undefined;
      throw error;
    });
    const { thing, functions } = await kept;
    return {
      ...thing,
      async close() {
        const replaced = replacedOf(functions, functionsOf(thing));
        // With another clock, or on parts that are replaced, no work finishes.
        const rest = replaced.length > 0 ? replaced : await restOfFile(thing.platform);
        if (rest.length > 0) {
          await closeLasting();
          const file = expect.getState().testPath ?? 'a file';
          process.stderr.write(
            `${name} closed (${++closings} of this worker) after ${file}: ${rest.join(', ')}\n`,
          );
        }
        // To start the thing again would not help the next file.
        expect(replaced, 'restored at the end of the file').toEqual([]);
      },
    };
  };
}

/** What tests replace, of globals, of the thing and of its platform: by spies, fake timers, or by hand. */
function functionsOf({ platform, ...thing }: Lasting): Map<string, unknown> {
  const found = new Map<string, unknown>();
  const objects = Object.entries({ globalThis, console, Date, performance, platform, ...thing, ...platform });
  for (const [prefix, object] of objects) {
    if (Object(object) !== object) continue;
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(object))) {
      if (typeof value === 'function') found.set(`${prefix}.${name}`, value);
    }
  }
  return found;
}

function replacedOf(before: ReadonlyMap<string, unknown>, now: ReadonlyMap<string, unknown>): string[] {
  // Node defines some globals at their first use. A spy on a method of a class is a new property of the object.
  const isNew = (name: string) => !before.has(name) && !name.startsWith('globalThis.');
  return [...before.keys(), ...[...now.keys()].filter(isNew)].filter(
    (name) => before.get(name) !== now.get(name),
  );
}
