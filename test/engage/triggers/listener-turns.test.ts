import { expect, it } from 'vitest';
import { ListenerTurns } from '../../../src/engage/triggers/listener-turns.ts';
import type { ListenerRef } from '../../../src/engage/triggers/kind.ts';

/** Listeners that always have events. Each step ends the decision that runs the longest and begins what may begin. */
class Busy {
  readonly decided = new Map<string, number>();
  readonly #turns = new ListenerTurns();
  readonly #running: { listener: ListenerRef; end: () => void }[] = [];
  readonly #listeners: readonly ListenerRef[];

  /** `listeners` in the order in which they are read. */
  constructor(listeners: readonly ListenerRef[]) {
    this.#listeners = listeners;
  }

  get running(): ListenerRef[] {
    return this.#running.map(({ listener }) => listener);
  }

  begin(): void {
    this.#turns.begin(
      this.#listeners,
      (listener) => new Promise((resolve) => this.#running.push({ listener, end: () => resolve('worked') })),
    );
  }

  async step(): Promise<void> {
    const [oldest] = this.#running.splice(0, 1);
    if (oldest === undefined) throw new Error('nothing runs');
    oldest.end();
    await this.#turns.next();
    const { listener_id } = oldest.listener;
    this.decided.set(listener_id, (this.decided.get(listener_id) ?? 0) + 1);
    this.begin();
  }
}

const listener = (id: number, project: number, tenant: number): ListenerRef => {
  return { listener_id: `listener-${id}`, project_id: `project-${project}`, tenant_id: `tenant-${tenant}` };
};
const ids = (count: number) => Array.from({ length: count }, (_, i) => i);

it('a listener is decided although many with lower ids always have events', async () => {
  const last = listener(99, 99, 99);
  const busy = new Busy([...ids(40).map((i) => listener(i, i, i)), last]);
  busy.begin();
  for (let step = 0; step < 2 * 41; step++) await busy.step();
  expect(busy.decided.get(last.listener_id)).toBe(2);
  expect([...busy.decided.values()]).toEqual(ids(41).map(() => 2));
});

it('a listener is decided although many of its own project always have events', async () => {
  const busy = new Busy([...ids(30).map((i) => listener(i, 1, 1)), listener(50, 2, 2)]);
  busy.begin();
  for (let step = 0; step < 120; step++) await busy.step();
  expect(busy.decided.size).toBe(31);
});

it('a tenant with many projects leaves places to others', async () => {
  const busy = new Busy(ids(40).map((i) => listener(i, i, 1)));
  busy.begin();
  expect(busy.running).toHaveLength(4);
  await busy.step();
  expect(busy.running).toHaveLength(4);
});

it('a project has two places', () => {
  const busy = new Busy([...ids(5).map((i) => listener(i, 1, 1)), listener(5, 2, 2)]);
  busy.begin();
  expect(busy.running.map(({ project_id }) => project_id)).toEqual(['project-1', 'project-1', 'project-2']);
});
