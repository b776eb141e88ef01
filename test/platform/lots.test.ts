import { setImmediate } from 'node:timers/promises';
import * as fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { Lots, type ApartWork, type LotLimits, type LotOutcome } from '../../src/platform/lots.ts';
import { TooBusy } from '../../src/platform/waiting-line.ts';
import { runs } from '../engines/effort.ts';

interface Asked {
  id: number;
  tenant: string;
  player: string;
}

const LIMITS: LotLimits = {
  max_size: 3,
  beside_after_ms: 50,
  waiting: { max_waiting: 20, max_waiting_of_group: 10, max_wait_ms: 60_000 },
};

/** Lots whose transactions end when they are told to. */
function heldLots(limits = LIMITS, isApart = true) {
  const begun: { lot: readonly Asked[]; end: (outcomes: LotOutcome<string>[] | Error) => void }[] = [];
  const alone: number[] = [];
  const apart: ApartWork<Asked, string> = {
    alone: ({ id }) => {
      alone.push(id);
      return Promise.resolve(`alone ${id}`);
    },
    isFinal: (error) => error instanceof Error && error.message === 'lost',
    onFailure: () => undefined,
  };
  let notify = () => {};
  const lots = new Lots<Asked, string>(
    {
      kindOf: ({ tenant }) => tenant,
      groupOf: ({ tenant }) => tenant,
      namesOf: ({ player }) => [player],
      together: (lot) =>
        new Promise((resolve, reject) => {
          begun.push({ lot, end: (how) => (how instanceof Error ? reject(how) : resolve(how)) });
          notify();
        }),
      ...(isApart ? { apart } : {}),
    },
    limits,
  );
  /** The lot of this number, once it has begun. */
  const lot = async (number: number) => {
    while (begun.length <= number) await new Promise<void>((resolve) => (notify = resolve));
    const found = begun[number];
    if (found === undefined) throw new Error('no lot');
    return {
      ids: found.lot.map(({ id }) => id),
      end: found.end,
      done: () => found.end(found.lot.map(({ id }) => ({ kind: 'done', value: `lot ${id}` }))),
    };
  };
  return { lots, lot, alone, begun };
}

const ask = (id: number, player = `p${id}`, tenant = 't'): Asked => ({ id, player, tenant });

describe('lots', () => {
  it('take what is asked for meanwhile, in its order, up to their size', async () => {
    const { lots, lot } = heldLots();
    const answers = [1, 2].map((id) => lots.run(ask(id)));
    const first = await lot(0);
    expect(first.ids).toEqual([1, 2]);
    answers.push(...[3, 4, 5, 6].map((id) => lots.run(ask(id))));
    first.done();
    const second = await lot(1);
    expect(second.ids).toEqual([3, 4, 5]);
    second.done();
    (await lot(2)).done();
    expect(await Promise.all(answers)).toEqual([1, 2, 3, 4, 5, 6].map((id) => `lot ${id}`));
  });

  it('never have two requests of one name', async () => {
    const { lots, lot } = heldLots();
    const answers = [ask(1, 'a'), ask(2, 'a'), ask(3, 'b')].map((one) => lots.run(one));
    const first = await lot(0);
    expect(first.ids).toEqual([1, 3]);
    first.done();
    const second = await lot(1);
    expect(second.ids).toEqual([2]);
    second.done();
    await Promise.all(answers);
  });

  it('begin beside one that takes long', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    try {
      const { lots, lot, begun } = heldLots();
      const answers = [lots.run(ask(1))];
      const first = await lot(0);
      answers.push(lots.run(ask(2)));
      await setImmediate();
      await vi.advanceTimersByTimeAsync(LIMITS.beside_after_ms - 1);
      expect(begun).toHaveLength(1);
      await vi.advanceTimersByTimeAsync(1);
      expect(begun).toHaveLength(2);
      (await lot(1)).done();
      first.done();
      expect(await Promise.all(answers)).toEqual(['lot 1', 'lot 2']);
    } finally {
      vi.useRealTimers();
    }
  });

  it('are two of a kind at most', async () => {
    const { lots, lot, begun } = heldLots({ ...LIMITS, beside_after_ms: 0 });
    const answers = [lots.run(ask(1))];
    const first = await lot(0);
    answers.push(lots.run(ask(2)));
    const second = await lot(1);
    answers.push(lots.run(ask(3)));
    // Another kind, asked for later, has its turn after that one would have had it.
    const other = lots.run(ask(4, 'p', 'other'));
    const third = await lot(2);
    expect(third.ids).toEqual([4]);
    third.done();
    await other;
    expect(begun).toHaveLength(3);
    second.done();
    (await lot(3)).done();
    first.done();
    expect(await Promise.all(answers)).toEqual(['lot 1', 'lot 2', 'lot 3']);
  });

  it('of other kinds do not wait for each other', async () => {
    const { lots, lot } = heldLots();
    const answers = [lots.run(ask(1)), lots.run(ask(2, 'p', 'other'))];
    const [first, second] = [await lot(0), await lot(1)];
    second.done();
    expect(await answers[1]).toBe('lot 2');
    first.done();
    await answers[0];
  });

  it('that fail are run one by one; a refusal concerns one request', async () => {
    const { lots, lot, alone } = heldLots();
    const failing = [1, 2].map((id) => lots.run(ask(id)));
    (await lot(0)).end(new Error('deadlock detected'));
    expect(await Promise.all(failing)).toEqual(['alone 1', 'alone 2']);
    const mixed = [3, 4, 5].map((id) => lots.run(ask(id)));
    (await lot(1)).end([
      { kind: 'refused', error: new Error('too much') },
      { kind: 'alone' },
      { kind: 'done', value: 'fine' },
    ]);
    expect(
      (await Promise.allSettled(mixed)).map((one) => (one.status === 'fulfilled' ? one.value : 'refused')),
    ).toEqual(['refused', 'alone 4', 'fine']);
    expect(alone).toEqual([1, 2, 4]);
  });

  it('of which nobody knows whether they were committed are not run again', async () => {
    const { lots, lot, alone } = heldLots();
    const answers = [1, 2].map((id) => lots.run(ask(id)));
    (await lot(0)).end(new Error('lost'));
    expect((await Promise.allSettled(answers)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(alone).toEqual([]);
  });

  it('have one failure for all of theirs when none is run alone', async () => {
    const { lots, lot, alone } = heldLots(LIMITS, false);
    const answers = [1, 2].map((id) => lots.run(ask(id)));
    const failed = Promise.allSettled(answers);
    const first = await lot(0);
    const next = lots.run(ask(3));
    first.end(new Error('broken'));
    expect(await failed).toMatchObject([
      { reason: { message: 'broken' } },
      { reason: { message: 'broken' } },
    ]);
    (await lot(1)).done();
    expect(await next).toBe('lot 3');
    expect(alone).toEqual([]);
  });

  it('refuse what has waited for too long', async () => {
    let now_ms = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now_ms);
    try {
      const { lots, lot, begun } = heldLots();
      const first = lots.run(ask(1));
      const held = await lot(0);
      const late = lots.run(ask(2)).catch((error: unknown) => error);
      now_ms = LIMITS.waiting.max_wait_ms + 1;
      const next = lots.run(ask(3));
      held.done();
      expect(await late).toBeInstanceOf(TooBusy);
      expect(await first).toBe('lot 1');
      (await lot(1)).done();
      expect(await next).toBe('lot 3');
      expect(begun.flatMap(({ lot: taken }) => taken.map(({ id }) => id))).toEqual([1, 3]);
    } finally {
      clock.mockRestore();
    }
  });

  it('let one tenant take only its share of the places to wait in', async () => {
    const { lots, lot } = heldLots();
    const first = lots.run(ask(0));
    const held = await lot(0);
    const burst = Array.from({ length: 12 }, (_, i) => lots.run(ask(i + 1)));
    const refused = Promise.all(burst.slice(10).map((one) => one.catch((error: unknown) => error)));
    expect((await refused).filter((error) => !(error instanceof TooBusy)).slice(0, 20)).toEqual([]);
    const other = lots.run(ask(100, 'p', 'other'));
    (await lot(1)).done();
    expect(await other).toBe('lot 100');
    held.done();
    for (let i = 2; i < 6; i++) (await lot(i)).done();
    expect((await Promise.all(burst.slice(0, 10))).at(-1)).toBe('lot 10');
    await first;
  });

  it('answer every request exactly once, whatever happens to the lots', async () => {
    const player = fc.integer({ min: 0, max: 5 }).map((n) => `p${n}`);
    const fate = fc.constantFrom('done', 'failed', 'lost', 'alone');
    await fc.assert(
      fc.asyncProperty(fc.array(fc.record({ player, fate }), { maxLength: 30 }), async (asked) => {
        const seen: number[] = [];
        const lots = new Lots<Asked & { fate: string }, number>(
          {
            kindOf: () => 'k',
            groupOf: () => 't',
            namesOf: (one) => [one.player],
            together: async (lot) => {
              await Promise.resolve();
              expect(new Set(lot.map((one) => one.player)).size).toBe(lot.length);
              const [first] = lot;
              if (first?.fate === 'failed' || first?.fate === 'lost') throw new Error(first.fate);
              return lot.map(({ id, fate: own }): LotOutcome<number> => {
                if (own === 'alone') return { kind: 'alone' };
                seen.push(id);
                return { kind: 'done', value: id };
              });
            },
            apart: {
              alone: ({ id }) => {
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
          asked.map((one, id) => lots.run({ id, tenant: 't', ...one })),
        );
        const answered = answers.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
        expect(answered).toEqual(answers.flatMap((one, i) => (one.status === 'fulfilled' ? [i] : [])));
        expect(seen.sort((a, b) => a - b)).toEqual(answered);
      }),
      { numRuns: runs(200) },
    );
  });
});
