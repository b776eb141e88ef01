import { expect, it } from 'vitest';
import { Fence, type FenceDeps, type FenceMark } from '../../src/protection/fence.ts';

/** Of these ids each is in the partition of its last digit. */
const fence = new Fence({
  eventLog: { partitionOf: (key: string) => Number(key.at(-1)) },
  postgres: {},
  clock: { now_ms: () => 0 },
} as unknown as FenceDeps);
const mark: FenceMark = {
  noted_at: new Date(0),
  is_log_short: false,
  ends: new Map([0, 1, 2, 3].map((one) => [one, 5n])),
};
const project = { tenant_id: 't', project_id: 'p' };

it('a message waits for the partitions of everybody whose address it is, and for all if they are very many', () => {
  const of = (others: { project_id: string; ids: string[] }[] | null) =>
    fence.addressPartitions(mark, project, { player_id: 'a-0', ids: ['a-0', 'device-1'], others });
  expect(of([])).toEqual(new Set([0, 1]));
  expect(of([{ project_id: 'q', ids: ['b-1', 'device-3'] }])).toEqual(new Set([0, 1, 3]));
  expect(of(null)).toEqual(new Set([0, 1, 2, 3]));
});
