import { beforeEach, expect, test, vi } from 'vitest';
import { StaleIfErrorCache } from '../../src/platform/stale-if-error-cache.ts';

/** One load: the test answers or fails it. */
interface Load {
  resolve: (value: string | undefined) => void;
  reject: (error: Error) => void;
}

let now_ms: number;
let loads: Load[];
let cache: StaleIfErrorCache<string>;

beforeEach(() => {
  now_ms = 1_000_000;
  loads = [];
  cache = new StaleIfErrorCache<string>({
    name: 'test',
    max: 10,
    fresh_ms: 60_000,
    load: () => new Promise((resolve, reject) => loads.push({ resolve, reject })),
    clock: { now_ms: () => now_ms },
    logger: { info: vi.fn(), warn: vi.fn() },
    onStale: vi.fn(),
  });
});

const last = () => loads.at(-1)!;
const away = () => last().reject(new Error('Postgres is away'));

test.each([
  ['its key', () => cache.expire('a')],
  ['every key', () => cache.expireAll()],
])(
  'a value whose load ran while %s expired is the last known one, and is loaded again',
  async (_whose, expire) => {
    const first = cache.get('a');
    expire();
    last().resolve('old');
    expect(await first).toBe('old');
    const second = cache.get('a');
    expect(loads).toHaveLength(2);
    away();
    expect(await second).toBe('old');
  },
);

test('a value whose load ran while its key was forgotten is not returned again', async () => {
  const first = cache.get('a');
  cache.expireAll();
  cache.forget('a');
  last().resolve('revoked');
  expect(await first).toBe('revoked');
  const second = cache.get('a');
  away();
  await expect(second).rejects.toThrow('away');
});

test('an older load does not replace what a newer one has found', async () => {
  const older = cache.get('a');
  const [first_load] = loads;
  cache.expire('a');
  const newer = cache.get('a');
  last().resolve(undefined);
  expect(await newer).toBeUndefined();
  first_load!.resolve('deleted since');
  expect(await older).toBe('deleted since');
  const third = cache.get('a');
  away();
  await expect(third).rejects.toThrow('away');
});

test('a caller whose load fails after another load was kept receives the newer value', async () => {
  const first = cache.get('a');
  last().resolve('one');
  expect(await first).toBe('one');
  cache.expire('a');
  const failing = cache.get('a');
  const failing_load = last();
  cache.expire('a');
  const newer = cache.get('a');
  last().resolve('two');
  expect(await newer).toBe('two');
  failing_load.reject(new Error('Postgres is away'));
  expect(await failing).toBe('two');
});

test('callers share a load, and a load that began before the key expired is not shared with later callers', async () => {
  const [first, same] = [cache.get('a'), cache.get('a')];
  expect(loads).toHaveLength(1);
  cache.expire('a');
  const later = cache.get('a');
  expect(loads).toHaveLength(2);
  loads[0]!.resolve('old');
  last().resolve('new');
  expect(await Promise.all([first, same, later])).toEqual(['old', 'old', 'new']);
  expect(cache.get('a')).toBe('new');
});
