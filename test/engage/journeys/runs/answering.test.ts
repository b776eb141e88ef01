import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { AskingRun } from '../../../../src/engage/journeys/runs/advance-batch.ts';
import { Answering } from '../../../../src/engage/journeys/runs/answering.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** How long a group waits whose evaluations are late. */
const LATE_MS = 2_000;

const ref = (tenant_id = randomUUID()) => ({ tenant_id, project_id: randomUUID() });
const runsOf = (project: ReturnType<typeof ref>, count: number) =>
  Array.from({ length: count }, () => ({ run: { ...project, run_id: randomUUID() } }) as AskingRun);

/** Answers groups, those of these tenants late; counts the answered runs by project. */
function answers(late: readonly string[]) {
  const answered = new Map<string, number>();
  const answering = new Answering(async (group) => {
    const { tenant_id = '', project_id = '' } = group[0]?.run ?? {};
    if (late.includes(tenant_id)) await new Promise((resolve) => setTimeout(resolve, LATE_MS));
    answered.set(project_id, (answered.get(project_id) ?? 0) + group.length);
  });
  return { answering, of: ({ project_id }: ReturnType<typeof ref>) => answered.get(project_id) ?? 0 };
}

it('a tenant whose evaluations are late holds up no run of another tenant, however many projects it has', async () => {
  const late = randomUUID();
  const { answering, of } = answers([late]);
  const projects = Array.from({ length: 6 }, () => ref(late));
  // More than one group of each: they gather while the first ones wait.
  for (let round = 0; round < 3; round += 1) {
    for (const project of projects) answering.add(runsOf(project, 600));
  }
  const [other, third] = [ref(), ref()];
  for (let step = 1; step <= 50; step += 1) {
    answering.add(runsOf(other, 10));
    answering.add(runsOf(third, 1));
    await vi.advanceTimersByTimeAsync(1);
    expect([of(other), of(third)], `step ${step}`).toEqual([10 * step, step]);
  }
  expect(projects.map(of)).toEqual([0, 0, 0, 0, 0, 0]);
  // Those that are late get their answers, too, as far as there was room for them.
  await vi.advanceTimersByTimeAsync(20 * LATE_MS);
  const in_all = projects.reduce((sum, project) => sum + of(project), 0);
  expect(projects.every((project) => of(project) > 0)).toBe(true);
  expect(in_all).toBeGreaterThan(5_000);
  await answering.close();
});
