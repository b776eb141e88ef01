import { afterEach, expect, it, vi } from 'vitest';
import { bisect } from '../../src/segments/refusal.ts';

afterEach(() => vi.restoreAllMocks());

const REFUSED = Object.assign(new Error('too slow'), { code: '159' });

it('finds the item that is refused however long each refusal takes', async () => {
  let now_ms = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => (now_ms += 20_000));
  const [asked, refused]: [number[], number[]] = [[], []];
  const ask = async (part: readonly number[]) => {
    if (part.includes(37)) throw REFUSED;
    asked.push(...part);
    await Promise.resolve();
  };
  const items = Array.from({ length: 100 }, (_, i) => i);
  const once = (from: readonly number[]) =>
    bisect(from, ask, async (item) => void refused.push(await Promise.resolve(item)));
  await once(items).catch(() => undefined);
  // Without it, as when it is quarantined.
  await once(items.filter((item) => !refused.includes(item)));
  expect(refused).toEqual([37]);
  expect(new Set(asked).size).toBe(99);
});

it('gives up after 16 refusals, of which some were found', async () => {
  let asks = 0;
  const refused: number[] = [];
  const ask = () => (asks++, Promise.reject(REFUSED));
  const items = Array.from({ length: 100 }, (_, i) => i);
  await expect(
    bisect(items, ask, async (item) => void refused.push(await Promise.resolve(item))),
  ).rejects.toBe(REFUSED);
  expect(asks).toBe(16);
  expect(refused.length).toBeGreaterThan(3);
});
