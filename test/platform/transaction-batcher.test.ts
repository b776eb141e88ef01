import { setImmediate } from 'node:timers/promises';
import * as fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import {
  TransactionBatcher,
  type RetryAlone,
  type BatchLimits,
  type BatchOutcome,
} from '../../src/platform/transaction-batcher.ts';
import { TooBusy } from '../../src/platform/fair-queue.ts';
import { runs } from '../engines/effort.ts';

interface Asked {
  id: number;
  tenant: string;
  player: string;
}

const LIMITS: BatchLimits = {
  max_size: 3,
  overlap_after_ms: 50,
  waiting: { max_waiting: 20, max_waiting_of_group: 10, max_wait_ms: 60_000 },
};

/** A batcher whose transactions end when the test ends them. */
function heldBatcher(limits = LIMITS, isRetried = true) {
  const begun: { batch: readonly Asked[]; end: (outcomes: BatchOutcome<string>[] | Error) => void }[] = [];
  const alone: number[] = [];
  const retryAlone: RetryAlone<Asked, string> = {
    run: ({ id }) => {
      alone.push(id);
      return Promise.resolve(`alone ${id}`);
    },
    isFinal: (error) => error instanceof Error && error.message === 'lost',
    onFailure: () => undefined,
  };
  let notify = () => {};
  const batcher = new TransactionBatcher<Asked, string>(
    {
      kindOf: ({ tenant }) => tenant,
      groupOf: ({ tenant }) => tenant,
      namesOf: ({ player }) => [player],
      runBatch: (batch) =>
        new Promise((resolve, reject) => {
          begun.push({ batch, end: (how) => (how instanceof Error ? reject(how) : resolve(how)) });
          notify();
        }),
      ...(isRetried ? { retryAlone } : {}),
    },
    limits,
  );
  /** The batch of this number, once it has begun. */
  const batch = async (number: number) => {
    while (begun.length <= number) await new Promise<void>((resolve) => (notify = resolve));
    const found = begun[number];
    if (found === undefined) throw new Error('no batch');
    return {
      ids: found.batch.map(({ id }) => id),
      end: found.end,
      done: () => found.end(found.batch.map(({ id }) => ({ kind: 'done', value: `batch ${id}` }))),
    };
  };
  return { batcher, batch, alone, begun };
}

const ask = (id: number, player = `p${id}`, tenant = 't'): Asked => ({ id, player, tenant });

describe('batches', () => {
  it('take what is asked for meanwhile, in its order, up to their size', async () => {
    const { batcher, batch } = heldBatcher();
    const answers = [1, 2].map((id) => batcher.run(ask(id)));
    const first = await batch(0);
    expect(first.ids).toEqual([1, 2]);
    answers.push(...[3, 4, 5, 6].map((id) => batcher.run(ask(id))));
    first.done();
    const second = await batch(1);
    expect(second.ids).toEqual([3, 4, 5]);
    second.done();
    (await batch(2)).done();
    expect(await Promise.all(answers)).toEqual([1, 2, 3, 4, 5, 6].map((id) => `batch ${id}`));
  });

  it('never have two requests of one name', async () => {
    const { batcher, batch } = heldBatcher();
    const answers = [ask(1, 'a'), ask(2, 'a'), ask(3, 'b')].map((one) => batcher.run(one));
    const first = await batch(0);
    expect(first.ids).toEqual([1, 3]);
    first.done();
    const second = await batch(1);
    expect(second.ids).toEqual([2]);
    second.done();
    await Promise.all(answers);
  });

  it('begin next to one that takes long', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    try {
      const { batcher, batch, begun } = heldBatcher();
      const answers = [batcher.run(ask(1))];
      const first = await batch(0);
      answers.push(batcher.run(ask(2)));
      await setImmediate();
      await vi.advanceTimersByTimeAsync(LIMITS.overlap_after_ms - 1);
      expect(begun).toHaveLength(1);
      await vi.advanceTimersByTimeAsync(1);
      expect(begun).toHaveLength(2);
      (await batch(1)).done();
      first.done();
      expect(await Promise.all(answers)).toEqual(['batch 1', 'batch 2']);
    } finally {
      vi.useRealTimers();
    }
  });

  it('are two of a kind at most', async () => {
    const { batcher, batch, begun } = heldBatcher({ ...LIMITS, overlap_after_ms: 0 });
    const answers = [batcher.run(ask(1))];
    const first = await batch(0);
    answers.push(batcher.run(ask(2)));
    const second = await batch(1);
    answers.push(batcher.run(ask(3)));
    // Another kind, asked for later, has its turn after that one would have had it.
    const other = batcher.run(ask(4, 'p', 'other'));
    const third = await batch(2);
    expect(third.ids).toEqual([4]);
    third.done();
    await other;
    expect(begun).toHaveLength(3);
    second.done();
    (await batch(3)).done();
    first.done();
    expect(await Promise.all(answers)).toEqual(['batch 1', 'batch 2', 'batch 3']);
  });

  it('of other kinds do not wait for each other', async () => {
    const { batcher, batch } = heldBatcher();
    const answers = [batcher.run(ask(1)), batcher.run(ask(2, 'p', 'other'))];
    const [first, second] = [await batch(0), await batch(1)];
    second.done();
    expect(await answers[1]).toBe('batch 2');
    first.done();
    await answers[0];
  });

  it('that fail are run one by one; a refusal concerns one request', async () => {
    const { batcher, batch, alone } = heldBatcher();
    const failing = [1, 2].map((id) => batcher.run(ask(id)));
    (await batch(0)).end(new Error('deadlock detected'));
    expect(await Promise.all(failing)).toEqual(['alone 1', 'alone 2']);
    const mixed = [3, 4, 5].map((id) => batcher.run(ask(id)));
    (await batch(1)).end([
      { kind: 'refused', error: new Error('too much') },
      { kind: 'retry_alone' },
      { kind: 'done', value: 'fine' },
    ]);
    expect(
      (await Promise.allSettled(mixed)).map((one) => (one.status === 'fulfilled' ? one.value : 'refused')),
    ).toEqual(['refused', 'alone 4', 'fine']);
    expect(alone).toEqual([1, 2, 4]);
  });

  it('of which nobody knows whether they were committed are not run again', async () => {
    const { batcher, batch, alone } = heldBatcher();
    const answers = [1, 2].map((id) => batcher.run(ask(id)));
    (await batch(0)).end(new Error('lost'));
    expect((await Promise.allSettled(answers)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(alone).toEqual([]);
  });

  it('have one failure for all of theirs when none is run alone', async () => {
    const { batcher, batch, alone } = heldBatcher(LIMITS, false);
    const answers = [1, 2].map((id) => batcher.run(ask(id)));
    const failed = Promise.allSettled(answers);
    const first = await batch(0);
    const next = batcher.run(ask(3));
    first.end(new Error('broken'));
    expect(await failed).toMatchObject([
      { reason: { message: 'broken' } },
      { reason: { message: 'broken' } },
    ]);
    (await batch(1)).done();
    expect(await next).toBe('batch 3');
    expect(alone).toEqual([]);
  });

  it('refuse what has waited for too long', async () => {
    let now_ms = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now_ms);
    try {
      const { batcher, batch, begun } = heldBatcher();
      const first = batcher.run(ask(1));
      const held = await batch(0);
      const late = batcher.run(ask(2)).catch((error: unknown) => error);
      now_ms = LIMITS.waiting.max_wait_ms + 1;
      const next = batcher.run(ask(3));
      held.done();
      expect(await late).toBeInstanceOf(TooBusy);
      expect(await first).toBe('batch 1');
      (await batch(1)).done();
      expect(await next).toBe('batch 3');
      expect(begun.flatMap(({ batch: taken }) => taken.map(({ id }) => id))).toEqual([1, 3]);
    } finally {
      clock.mockRestore();
    }
  });

  it('let one tenant take only its share of the places to wait in', async () => {
    const { batcher, batch } = heldBatcher();
    const first = batcher.run(ask(0));
    const held = await batch(0);
    const burst = Array.from({ length: 12 }, (_, i) => batcher.run(ask(i + 1)));
    const refused = Promise.all(burst.slice(10).map((one) => one.catch((error: unknown) => error)));
    expect((await refused).filter((error) => !(error instanceof TooBusy)).slice(0, 20)).toEqual([]);
    const other = batcher.run(ask(100, 'p', 'other'));
    (await batch(1)).done();
    expect(await other).toBe('batch 100');
    held.done();
    for (let i = 2; i < 6; i++) (await batch(i)).done();
    expect((await Promise.all(burst.slice(0, 10))).at(-1)).toBe('batch 10');
    await first;
  });

  it('answer every request exactly once, whatever happens to the batches', async () => {
    const player = fc.integer({ min: 0, max: 5 }).map((n) => `p${n}`);
    const fate = fc.constantFrom('done', 'failed', 'lost', 'alone');
    await fc.assert(
      fc.asyncProperty(fc.array(fc.record({ player, fate }), { maxLength: 30 }), async (asked) => {
        const seen: number[] = [];
        const batcher = new TransactionBatcher<Asked & { fate: string }, number>(
          {
            kindOf: () => 'k',
            groupOf: () => 't',
            namesOf: (one) => [one.player],
            runBatch: async (batch) => {
              await Promise.resolve();
              expect(new Set(batch.map((one) => one.player)).size).toBe(batch.length);
              const [first] = batch;
              if (first?.fate === 'failed' || first?.fate === 'lost') throw new Error(first.fate);
              return batch.map(({ id, fate: own }): BatchOutcome<number> => {
                if (own === 'alone') return { kind: 'retry_alone' };
                seen.push(id);
                return { kind: 'done', value: id };
              });
            },
            retryAlone: {
              run: ({ id }) => {
                seen.push(id);
                return Promise.resolve(id);
              },
              isFinal: (error) => error instanceof Error && error.message === 'lost',
              onFailure: () => undefined,
            },
          },
          { ...LIMITS, waiting: { ...LIMITS.waiting, max_waiting: 100, max_waiting_of_group: 100 } },
        );
        const answers = await Promise.allSettled(
          asked.map((one, id) => batcher.run({ id, tenant: 't', ...one })),
        );
        const answered = answers.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
        expect(answered).toEqual(answers.flatMap((one, i) => (one.status === 'fulfilled' ? [i] : [])));
        expect(seen.sort((a, b) => a - b)).toEqual(answered);
      }),
      { numRuns: runs(200) },
    );
  });
});
