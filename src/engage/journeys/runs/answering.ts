import { projectRefOf, type ProjectRef } from '../../../tenants/project-ref.ts';
import type { AskingRun } from './advance-batch.ts';

/**
 * Groups of runs whose questions are answered at the same time, in all, of one tenant and of one project. A group may wait for
 * evaluations, so one tenant never has all places.
 */
const MAX_ANSWERING = 8;
const MAX_ANSWERING_PER_TENANT = 4;
const MAX_ANSWERING_PER_PROJECT = 2;
/** Runs whose questions are answered together. */
const MAX_TOGETHER = 1_000;
/** Runs that wait for a place, in all, of one tenant and of one project: each is kept with its context. */
const MAX_QUEUED = 10_000;
const MAX_QUEUED_PER_TENANT = 5_000;
const MAX_QUEUED_PER_PROJECT = 2_000;

/** Queued runs of one project, by id. */
interface Queue extends ProjectRef {
  runs: Map<string, AskingRun>;
}

/**
 * Runs whose branches ask about their players. Those of one project are answered together, in a few groups at a time;
 * while these are busy, the others gather, and projects get free places in turn. No tenant has all places, or all of the
 * queue. A run that finds no room in the queue asks again when its timer is due.
 */
export class Answering {
  readonly #answer: (asking: readonly AskingRun[]) => Promise<void>;
  /** By project; the one that has waited the longest is the first. */
  readonly #queued = new Map<string, Queue>();
  /** Groups that are being answered, and whose they are. */
  readonly #running = new Map<Promise<void>, ProjectRef>();
  #is_closed = false;

  /** `answer`: answers the questions of runs of one project; never rejects. */
  constructor(answer: (asking: readonly AskingRun[]) => Promise<void>) {
    this.#answer = answer;
  }

  add(asking: readonly AskingRun[]): void {
    if (this.#is_closed || asking.length === 0) return;
    let in_all = 0;
    const of_tenants = new Map<string, number>();
    const count = (tenant_id: string, size: number) => {
      in_all += size;
      of_tenants.set(tenant_id, (of_tenants.get(tenant_id) ?? 0) + size);
    };
    for (const { tenant_id, runs } of this.#queued.values()) count(tenant_id, runs.size);
    for (const one of asking) {
      const { tenant_id, project_id, run_id } = one.run;
      const { runs } = this.#queued.get(project_id) ?? { runs: new Map<string, AskingRun>() };
      // A run that came due again while it was queued has another timer.
      if (!runs.has(run_id)) {
        const of_tenant = of_tenants.get(tenant_id) ?? 0;
        if (in_all >= MAX_QUEUED || of_tenant >= MAX_QUEUED_PER_TENANT) continue;
        if (runs.size >= MAX_QUEUED_PER_PROJECT) continue;
        count(tenant_id, 1);
      }
      this.#queued.set(project_id, { tenant_id, project_id, runs: runs.set(run_id, one) });
    }
    this.#begin();
  }

  /** Drops the queue, whose runs ask again when they are due; resolves when the running answers have ended. */
  async close(): Promise<void> {
    this.#is_closed = true;
    this.#queued.clear();
    await Promise.all(this.#running.keys());
  }

  /** Begins groups while there are free places, one of each project in turn. */
  #begin(): void {
    for (let queue = this.#next(); queue !== undefined; queue = this.#next()) {
      const { project_id, runs } = queue;
      const group = [...runs.values()].slice(0, MAX_TOGETHER);
      for (const { run } of group) runs.delete(run.run_id);
      this.#queued.delete(project_id);
      if (runs.size > 0) this.#queued.set(project_id, queue);
      const running = this.#answer(group).then(() => {
        this.#running.delete(running);
        this.#begin();
      });
      this.#running.set(running, projectRefOf(queue));
    }
  }

  /** The project whose turn it is, if there is a free place. */
  #next(): Queue | undefined {
    if (this.#running.size >= MAX_ANSWERING) return undefined;
    const busy = [...this.#running.values()];
    return [...this.#queued.values()].find(({ tenant_id, project_id }) => {
      const of_tenant = busy.filter((one) => one.tenant_id === tenant_id);
      const of_project = of_tenant.filter((one) => one.project_id === project_id);
      return of_tenant.length < MAX_ANSWERING_PER_TENANT && of_project.length < MAX_ANSWERING_PER_PROJECT;
    });
  }
}
