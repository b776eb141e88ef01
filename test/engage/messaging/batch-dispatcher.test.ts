import { expect, test } from 'vitest';
import { BatchDispatcher, type Served } from '../../../src/engage/messaging/batch-dispatcher.ts';
import type { SendQueue } from '../../../src/engage/messaging/queue-queries.ts';

function queueOf(n: number): SendQueue {
  const queue_id = String(n).padStart(3, '0');
  return {
    tenant_id: 't',
    project_id: 'p',
    queue_id,
    channel: 'email',
    provider_id: 'p',
    is_cancelled: false,
  };
}
const queuesOf = (count: number) => Array.from({ length: count }, (_, n) => queueOf(n));
const forever = () => new Promise<Served>(() => undefined);

/** The order in which a messenger finds queues: those after the last one served come first. */
function inTurn(dispatcher: BatchDispatcher, queues: readonly SendQueue[]): SendQueue[] {
  const { last } = dispatcher;
  const from = queues.findIndex(({ queue_id }) => last !== undefined && queue_id > last.queue_id);
  return from < 0 ? [...queues] : [...queues.slice(from), ...queues.slice(0, from)];
}

test('many empty queues do not delay one that has work', async () => {
  const dispatcher = new BatchDispatcher(() => undefined);
  const queues = queuesOf(30);
  const worked: string[] = [];
  const serve = async ({ queue_id }: SendQueue): Promise<Served> => {
    if (queue_id !== '029') return 'nothing';
    worked.push(queue_id);
    return 'worked';
  };
  for (let turn = 0; turn < 10 && worked.length === 0; turn++) {
    dispatcher.dispatch(inTurn(dispatcher, queues), serve);
    await dispatcher.close();
  }
  expect(worked).toContain('029');
});

test('queues that always have work are served equally often', async () => {
  const dispatcher = new BatchDispatcher(() => undefined);
  const queues = queuesOf(40);
  const served = new Map<string, number>();
  for (let turn = 0; turn < 40; turn++) {
    dispatcher.dispatch(inTurn(dispatcher, queues), async ({ queue_id }) => {
      served.set(queue_id, (served.get(queue_id) ?? 0) + 1);
      return 'worked';
    });
    await dispatcher.close();
  }
  const counts = [...served.values()];
  expect(served.size).toBe(40);
  expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(3);
});

test('batches that never end occupy at most 3 slots per queue and 12 in total', () => {
  const dispatcher = new BatchDispatcher(() => undefined);
  expect(dispatcher.dispatch([queueOf(1)], forever)).toBe(3);
  expect(dispatcher.dispatch(queuesOf(30), forever)).toBe(9);
  expect(dispatcher.running).toBe(12);
});

/** A clock that only waits move. */
function steppedTime() {
  let now_ms = 0;
  return {
    now_ms: () => now_ms,
    sleep: async (ms: number, { aborted }: AbortSignal) => {
      if (!aborted) now_ms += ms;
    },
  };
}

test('an empty queue is asked at growing intervals, until a wake-up for it arrives', async () => {
  const time = steppedTime();
  const dispatcher = new BatchDispatcher(() => undefined, time);
  const asked_at_ms: number[] = [];
  const ask = () =>
    dispatcher.dispatch([queueOf(1)], async () => {
      asked_at_ms.push(time.now_ms());
      return 'nothing';
    });
  while (time.now_ms() < 2_000) {
    ask();
    await dispatcher.close();
    await dispatcher.nextWakeUp();
  }
  // At first in three slots.
  expect(asked_at_ms).toEqual([0, 0, 0, 100, 300, 700, 1_500]);
  dispatcher.wake('of another');
  expect(ask()).toBe(0);
  dispatcher.wake('001');
  expect(ask()).toBeGreaterThan(0);
  await dispatcher.close();
});

test('a queue that failed is left alone even after a wake-up; the other queues go on', async () => {
  const failures: string[] = [];
  const dispatcher = new BatchDispatcher(({ queue_id }) => failures.push(queue_id));
  const serve = async ({ queue_id }: SendQueue): Promise<Served> => {
    if (queue_id === '001') throw new Error('no');
    return 'worked';
  };
  dispatcher.dispatch(queuesOf(2), serve);
  await dispatcher.close();
  expect(new Set(failures)).toEqual(new Set(['001']));
  dispatcher.wake();
  expect(dispatcher.dispatch([queueOf(1)], serve)).toBe(0);
  expect(dispatcher.dispatch([queueOf(0)], serve)).toBe(3);
  await dispatcher.close();
});

test('an event before `nextWakeUp` is called ends the wait at once', async () => {
  const time = steppedTime();
  const dispatcher = new BatchDispatcher(() => undefined, time);
  dispatcher.dispatch([queueOf(1)], async () => 'worked');
  await dispatcher.close();
  await dispatcher.nextWakeUp();
  expect(time.now_ms()).toBe(0);
  await dispatcher.nextWakeUp();
  expect(time.now_ms()).toBeGreaterThan(0);
});

test('queues that may not be served now take no slot and no turn', async () => {
  const dispatcher = new BatchDispatcher(() => undefined);
  const queues = queuesOf(30);
  const served: string[] = [];
  const mayServe = ({ queue_id }: SendQueue) => queue_id === '029';
  const serve = async ({ queue_id }: SendQueue): Promise<Served> => {
    served.push(queue_id);
    return 'worked';
  };
  // A page without a queue to serve is passed over.
  expect(dispatcher.dispatch(queues.slice(0, 20), serve, mayServe)).toBe(0);
  expect(dispatcher.last).toBe(queues[19]);
  expect(dispatcher.dispatch(queues.slice(20), serve, mayServe)).toBe(3);
  await dispatcher.close();
  expect(new Set(served)).toEqual(new Set(['029']));
});
