import { expect, it } from 'vitest';
import { EndpointBulkhead, GROUPED_LIMITS } from '../../src/http/endpoint-bulkhead.ts';

it('requests of one tenant that share transactions leave half of the places to others', async () => {
  const bulkhead = new EndpointBulkhead(GROUPED_LIMITS);
  const running: { tenant_id: string; end: () => void }[] = [];
  const ask = (tenant_id: string, count: number) => {
    for (let i = 0; i < count; i++) {
      void bulkhead.run(tenant_id, () => new Promise<void>((end) => running.push({ tenant_id, end })));
    }
  };
  const count = (tenant_id: string) => running.filter((one) => one.tenant_id === tenant_id).length;
  const end = async (tenant_id: string) => {
    const [ended] = running.splice(
      running.findIndex((one) => one.tenant_id === tenant_id),
      1,
    );
    ended?.end();
    await new Promise(setImmediate);
  };
  const half = GROUPED_LIMITS.max_running / 2;
  ask('one', half + 2);
  ask('two', half);
  ask('three', 1);
  expect([count('one'), count('two'), count('three')]).toEqual([half, half, 0]);
  await end('two');
  expect([count('one'), count('two'), count('three')]).toEqual([half, half - 1, 1]);
  await end('one');
  expect([count('one'), count('two'), count('three')]).toEqual([half, half - 1, 1]);
  await end('two');
  expect([count('one'), count('two'), count('three')]).toEqual([half, half - 2, 1]);
  ask('three', 1);
  expect([count('one'), count('two'), count('three')]).toEqual([half, half - 2, 2]);
  while (running.length > 0) await end(running[0]?.tenant_id ?? '');
  ask('one', half + 1);
  expect(count('one')).toBe(half);
  while (running.length > 0) await end('one');
});

it('a short wait for a locked table refuses nobody, a long one does', async () => {
  const bulkhead = new EndpointBulkhead();
  const fail = () => Promise.reject(Object.assign(new Error('locked'), { code: '55P03' }));
  const answer = () => Promise.resolve('answered');
  await expect(bulkhead.run('one', fail, true)).rejects.toThrow('locked');
  expect(await bulkhead.run('two', answer)).toBe('answered');
  await expect(bulkhead.run('one', fail)).rejects.toThrow('locked');
  expect(() => bulkhead.run('two', answer)).toThrow('a table that this request needs is locked now');
});
