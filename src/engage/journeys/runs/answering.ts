import type { AskingRun } from './advance-batch.ts';

/** Groups of runs whose questions are answered at the same time, in all and of one project. */
const MAX_ANSWERING = 8;
const MAX_ANSWERING_PER_PROJECT = 2;
/** Runs whose questions are answered together. */
const MAX_TOGETHER = 1_000;
/** Runs that wait for a place, in all and of one project: each is kept with its context. */
const MAX_QUEUED = 10_000;
const MAX_QUEUED_PER_PROJECT = 2_000;

/**
 * Runs whose branches ask about their players. Those of one project are answered together, in a few groups at a time;
 * while these are busy, the others gather, and projects get free places in turn. A run that finds no room in the queue
 * asks again when its timer is due.
 */
export class Answering {
  readonly #answer: (asking: readonly AskingRun[]) => Promise<void>;
  /** Queued runs by project and id; the project that has waited the longest is the first. */
  readonly #queued = new Map<string, Map<string, AskingRun>>();
  /** Groups that are being answered, by project. */
  readonly #busy = new Map<string, number>();
  readonly #running = new Set<Promise<void>>();
  #is_closed = false;

  /** `answer`: answers the questions of runs of one project; never rejects. */
  constructor(answer: (asking: readonly AskingRun[]) => Promise<void>) {
    this.#answer = answer;
  }

  add(asking: readonly AskingRun[]): void {
    if (this.#is_closed || asking.length === 0) return;
    let in_all = 0;
    for (const { size } of this.#queued.values()) in_all += size;
    for (const one of asking) {
      const { project_id, run_id } = one.run;
      const runs = this.#queued.get(project_id) ?? new Map<string, AskingRun>();
      // A run that came due again while it was queued has another timer.
      if (!runs.has(run_id)) {
        if (in_all >= MAX_QUEUED || runs.size >= MAX_QUEUED_PER_PROJECT) continue;
        in_all += 1;
      }
      this.#queued.set(project_id, runs.set(run_id, one));
    }
    this.#begin();
  }

  /** Drops the queue, whose runs ask again when they are due; resolves when the running answers have ended. */
  async close(): Promise<void> {
    this.#is_closed = true;
    this.#queued.clear();
    await Promise.all(this.#running);
  }

  /** Begins groups while there are free places, one of each project in turn. */
  #begin(): void {
    for (let project_id = this.#next(); project_id !== undefined; project_id = this.#next()) {
      const runs = this.#queued.get(project_id) ?? new Map<string, AskingRun>();
      const group = [...runs.values()].slice(0, MAX_TOGETHER);
      for (const { run } of group) runs.delete(run.run_id);
      this.#queued.delete(project_id);
      if (runs.size > 0) this.#queued.set(project_id, runs);
      this.#track(project_id, group);
    }
  }

  /** The project whose turn it is, if there is a free place. */
  #next(): string | undefined {
    if (this.#running.size >= MAX_ANSWERING) return undefined;
    return [...this.#queued.keys()].find((id) => (this.#busy.get(id) ?? 0) < MAX_ANSWERING_PER_PROJECT);
  }

  #track(project_id: string, group: readonly AskingRun[]): void {
    this.#busy.set(project_id, (this.#busy.get(project_id) ?? 0) + 1);
    const running = this.#answer(group).then(() => {
      this.#running.delete(running);
      const busy = (this.#busy.get(project_id) ?? 0) - 1;
      if (busy > 0) this.#busy.set(project_id, busy);
      else this.#busy.delete(project_id);
      this.#begin();
    });
    this.#running.add(running);
  }
}
