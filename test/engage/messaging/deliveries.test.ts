import { expect, test } from 'vitest';
import { Deliveries } from '../../../src/engage/messaging/batch-dispatcher.ts';

/** Begins deliveries of the tenant as long as it may; returns how many, and what ends them. */
function fill(deliveries: Deliveries<object>, tenant_id: string) {
  const ends: (() => void)[] = [];
  while (deliveries.mayBegin(tenant_id)) {
    deliveries.add(tenant_id, {}, new Promise<void>((resolve) => ends.push(resolve)));
  }
  return ends;
}

test('a tenant whose deliveries do not end stops no other tenant', async () => {
  const deliveries = new Deliveries();
  const slow = fill(deliveries, 'slow');
  expect(slow).toHaveLength(100);
  expect(deliveries.mayBegin('other')).toBe(true);
  for (const end of slow) end();
  await deliveries.ended();
  expect(deliveries.count).toBe(0);
  expect(deliveries.mayBegin('slow')).toBe(true);
});

test('beyond a thousand deliveries each tenant has one', () => {
  const deliveries = new Deliveries();
  for (let n = 0; n < 10; n++) expect(fill(deliveries, `slow ${n}`)).toHaveLength(100);
  expect(deliveries.mayBegin('slow 1')).toBe(false);
  expect(fill(deliveries, 'other')).toHaveLength(1);
  expect(fill(deliveries, 'another')).toHaveLength(1);
  expect(deliveries.count).toBe(1_002);
});
