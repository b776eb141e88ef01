import { expect, test } from 'vitest';
import { QueueLanes, type Served } from '../../../src/engage/messaging/queue-lanes.ts';
import type { SendQueue } from '../../../src/engage/messaging/messenger-queries.ts';

function queueOf(n: number): SendQueue {
  const campaign_id = String(n).padStart(3, '0');
  return {
    tenant_id: 't',
    project_id: 'p',
    campaign_id,
    channel: 'email',
    provider_id: 'p',
    is_cancelled: false,
  };
}
const queuesOf = (count: number) => Array.from({ length: count }, (_, n) => queueOf(n));
const forever = () => new Promise<Served>(() => undefined);

/** As a messenger finds them: those after the last one first. */
function inTurn(lanes: QueueLanes, queues: readonly SendQueue[]): SendQueue[] {
  const { last } = lanes;
  const from = queues.findIndex(({ campaign_id }) => last !== undefined && campaign_id > last.campaign_id);
  return from < 0 ? [...queues] : [...queues.slice(from), ...queues.slice(0, from)];
}

test('many queues that have nothing to do hold up none that has', async () => {
  const lanes = new QueueLanes(() => undefined);
  const queues = queuesOf(30);
  const worked: string[] = [];
  const serve = async ({ campaign_id }: SendQueue): Promise<Served> => {
    if (campaign_id !== '029') return 'nothing';
    worked.push(campaign_id);
    return 'worked';
  };
  for (let turn = 0; turn < 10 && worked.length === 0; turn++) {
    lanes.begin(inTurn(lanes, queues), serve);
    await lanes.close();
  }
  expect(worked).toContain('029');
});

test('queues with work without end have their turns', async () => {
  const lanes = new QueueLanes(() => undefined);
  const queues = queuesOf(40);
  const served = new Map<string, number>();
  for (let turn = 0; turn < 40; turn++) {
    lanes.begin(inTurn(lanes, queues), async ({ campaign_id }) => {
      served.set(campaign_id, (served.get(campaign_id) ?? 0) + 1);
      return 'worked';
    });
    await lanes.close();
  }
  const counts = [...served.values()];
  expect(served.size).toBe(40);
  expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(3);
});

test('batches that never end take a share of what is in hand each', () => {
  const lanes = new QueueLanes(() => undefined);
  expect(lanes.begin([queueOf(1)], forever)).toBe(3);
  expect(lanes.begin(queuesOf(30), forever)).toBe(9);
  expect(lanes.running).toBe(12);
});

test('a queue without anything to take is asked about less and less, until somebody calls', async () => {
  const lanes = new QueueLanes(() => undefined);
  let asked = 0;
  const until = performance.now() + 2_000;
  const ask = () =>
    lanes.begin([queueOf(1)], async () => {
      asked += 1;
      return 'nothing';
    });
  while (performance.now() < until) {
    ask();
    await lanes.somethingHappens();
  }
  // At 0 (in three lanes), 100, 300, 700 and 1,500 ms.
  expect(asked).toBeGreaterThan(3);
  expect(asked).toBeLessThanOrEqual(7);
  lanes.call('of another');
  expect(ask()).toBe(0);
  lanes.call('001');
  expect(ask()).toBeGreaterThan(0);
  await lanes.close();
});

test('a queue that failed rests, even if somebody calls; the others go on', async () => {
  const failures: string[] = [];
  const lanes = new QueueLanes(({ campaign_id }) => failures.push(campaign_id));
  const serve = async ({ campaign_id }: SendQueue): Promise<Served> => {
    if (campaign_id === '001') throw new Error('no');
    return 'worked';
  };
  lanes.begin(queuesOf(2), serve);
  await lanes.close();
  expect(new Set(failures)).toEqual(new Set(['001']));
  lanes.call();
  expect(lanes.begin([queueOf(1)], serve)).toBe(0);
  expect(lanes.begin([queueOf(0)], serve)).toBe(3);
  await lanes.close();
});

test('what happens before anybody waits for it ends the wait', async () => {
  const lanes = new QueueLanes(() => undefined);
  lanes.begin([queueOf(1)], async () => 'worked');
  await lanes.close();
  const began = performance.now();
  await lanes.somethingHappens();
  expect(performance.now() - began).toBeLessThan(500);
});
