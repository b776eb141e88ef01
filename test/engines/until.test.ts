import { expect, it } from 'vitest';
import { until } from './until.ts';

it('gives the first value that is neither false nor undefined', async () => {
  const values = [undefined, false, 0];
  expect(await until(() => values.shift())).toBe(0);
});

it('says what was still false, and what the last call saw', async () => {
  let calls = 0;
  const never = until('all are there', async (saw) => saw({ calls: ++calls }).calls > 99, 20);
  await expect(never).rejects.toThrow(
    /^still false after 20 ms: all are there\nseen last: \{ calls: \d+ \}$/,
  );
  await expect(until('it is there', () => false, 0)).rejects.toThrow('it is there\nseen last: false');
});

it('ends at an error of the probe', async () => {
  const failing = () => Promise.reject(new Error('no service'));
  await expect(until('it answers', failing)).rejects.toThrow('no service');
});
