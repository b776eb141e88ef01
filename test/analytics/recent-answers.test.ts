import { expect, it, vi } from 'vitest';
import { RecentAnswers } from '../../src/analytics/recent-answers.ts';

const PROJECT = { tenant_id: 'tenant', project_id: 'project' };

interface Work {
  promise: Promise<string>;
  resolve: (text: string) => void;
  reject: (error: Error) => void;
}

/** Answers by a clock that is set, whose computations end when the test says so. */
function answersAt(options?: { only_dear: boolean }) {
  const clock = { ms: 1_000_000, now_ms: () => clock.ms };
  const warn = vi.fn<() => void>();
  const answers = new RecentAnswers(
    { clickhouse: { query: async () => [] }, clock, logger: { warn } },
    options,
  );
  const begun: Work[] = [];
  const ask = async (question = 'a') => (await askFor(question)).text;
  const askFor = (question: string) =>
    answers.of(PROJECT, [question], () => {
      let resolve: Work['resolve'] = () => {};
      let reject: Work['reject'] = () => {};
      const promise = new Promise<string>((...settle) => ([resolve, reject] = settle));
      begun.push({ promise, resolve, reject });
      return promise;
    });
  const finish = async (n: number, text: string) => {
    begun[n]?.resolve(text);
    await begun[n]?.promise;
    await Promise.resolve();
  };
  return { clock, warn, begun, ask, askFor, finish };
}

it('computes an answer once for all who ask while it is computed, and for 10 s from its beginning', async () => {
  const { clock, begun, ask, finish } = answersAt();
  const all = [ask(), ask()];
  const other = ask('b');
  clock.ms += 4_000;
  await finish(0, 'first');
  await finish(1, 'of another');
  expect(await Promise.all(all)).toEqual(['first', 'first']);
  expect(await other).toBe('of another');
  clock.ms += 5_999;
  expect(await ask()).toBe('first');
  expect(begun).toHaveLength(2);
});

it('gives the answer of before for a minute while the next one is computed, and then waits for it', async () => {
  const { clock, begun, ask, askFor, finish } = answersAt();
  const first = askFor('a');
  await finish(0, 'first');
  expect(await first).toEqual({ text: 'first', is_stale: false });
  clock.ms += 9_999;
  expect(await askFor('a')).toEqual({ text: 'first', is_stale: false });
  clock.ms += 1;
  expect(await askFor('a')).toEqual({ text: 'first', is_stale: true });
  clock.ms += 40_000;
  expect(await ask()).toBe('first');
  expect(begun).toHaveLength(2);
  clock.ms += 10_000;
  const late = ask();
  await finish(1, 'second');
  expect(await late).toBe('second');
  expect(begun).toHaveLength(2);
});

it('gives again what was dear only, and never an answer of before', async () => {
  const { clock, begun, ask, finish } = answersAt({ only_dear: true });
  const cheap = ask();
  clock.ms += 1_999;
  await finish(0, 'cheap');
  expect(await cheap).toBe('cheap');
  const dear = ask();
  clock.ms += 3_000;
  await finish(1, 'dear');
  expect(await dear).toBe('dear');
  clock.ms += 6_999;
  expect(await ask()).toBe('dear');
  clock.ms += 1;
  const refused = ask();
  begun[2]?.reject(new Error('down'));
  await expect(refused).rejects.toThrow('down');
  const last = ask();
  await finish(3, 'last');
  expect(await last).toBe('last');
});

it('tells a failure to those who wait, keeps none, and logs one that nobody waits for', async () => {
  const { clock, warn, begun, ask, finish } = answersAt();
  const refused = ask();
  begun[0]?.reject(new Error('down'));
  await expect(refused).rejects.toThrow('down');
  const second = ask();
  await finish(1, 'first');
  expect(await second).toBe('first');
  clock.ms += 20_000;
  expect(await Promise.all([ask(), ask()])).toEqual(['first', 'first']);
  begun[2]?.reject(new Error('down again'));
  await vi.waitFor(() => expect(warn).toHaveBeenCalledTimes(1));
  // Tried again after 10 s, as if it had succeeded.
  clock.ms += 9_999;
  expect(await ask()).toBe('first');
  expect(begun).toHaveLength(3);
  clock.ms += 1;
  expect(await ask()).toBe('first');
  expect(begun).toHaveLength(4);
  begun[3]?.reject(new Error('and again'));
  await vi.waitFor(() => expect(warn).toHaveBeenCalledTimes(2));
  // After its minute the answer of before is not given any more.
  clock.ms += 30_000;
  const late = ask();
  begun[4]?.reject(new Error('for good'));
  await expect(late).rejects.toThrow('for good');
});

it('asks one question of a project at a time when nobody waits for the answer, and all at once otherwise', async () => {
  let running = 0;
  let most = 0;
  const query = async () => {
    most = Math.max(most, ++running);
    await new Promise(setImmediate);
    running--;
    return [];
  };
  const clock = { ms: 0, now_ms: () => clock.ms };
  const answers = new RecentAnswers({ clickhouse: { query }, clock, logger: { warn: () => {} } });
  const ask = async (project_id: string, question: string, done: () => void = () => {}) =>
    answers.of({ tenant_id: 'tenant', project_id }, [question], async (clickhouse) => {
      await Promise.all([clickhouse.query('a'), clickhouse.query('b'), clickhouse.query('c')]);
      done();
      return question;
    });
  const questions = ['overview', 'deposits', 'ggr'];
  await Promise.all(questions.map((question) => ask('one', question)));
  expect(most).toBe(9);
  await ask('two', 'overview');
  clock.ms += 10_000;
  most = 0;
  const done = vi.fn<() => void>();
  await Promise.all([
    ...questions.map((question) => ask('one', question, done)),
    ask('two', 'overview', done),
  ]);
  await vi.waitFor(() => expect(done).toHaveBeenCalledTimes(4));
  // One of each project.
  expect(most).toBe(2);
});
