import { groupBy } from '../../../platform/group-by.ts';
import type { RunningRow } from './run-row.ts';
import type { Effect, Step } from './shapes.ts';

/** What a batch writes, at most: rows of steps and effects, and bytes of what the effects are made of. */
const MAX_ROWS = 10_000;
const MAX_BYTES = 16 * 1024 * 1024;
/** Bonuses that a batch grants: their budgets and players are locked until it is committed. */
const MAX_GRANTS = 250;

/**
 * What a batch has gathered to write. A run sends up to 49 messages with up to 16 KB of context each, so a thousand of
 * them could not be written at once: once the batch is full, its other runs are left for the next one. A single run may
 * go beyond the bound; it writes less than 1 MB.
 */
export class BatchLoad {
  #rows = 0;
  #bytes = 0;
  #grants = 0;

  get is_full(): boolean {
    return this.#rows >= MAX_ROWS || this.#bytes >= MAX_BYTES || this.#grants >= MAX_GRANTS;
  }

  add({ context }: RunningRow, steps: readonly Step[], effects: readonly Effect[]): void {
    this.#rows += steps.length + effects.length;
    if (effects.length === 0) return;
    let context_bytes: number | undefined;
    for (const { kind, node } of effects) {
      if (kind === 'send' || kind === 'delivery') this.#bytes += context_bytes ??= bytesOf(context);
      if (kind === 'delivery') this.#bytes += bytesOf(node.data) + bytesOf(node.headers);
      if (kind === 'grant') this.#grants += 1;
      if (kind === 'update_player') this.#bytes += bytesOf(node.traits);
    }
  }
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '');
}

/** The rows one of each project in turn, so that those of one project do not fill a batch before the others' come. */
export function inTurns<T extends { project_id: string }>(rows: readonly T[]): readonly T[] {
  const of_projects = groupBy(rows, ({ project_id }) => project_id);
  if (of_projects.size <= 1) return rows;
  const lanes = [...of_projects.values()];
  const longest = Math.max(...lanes.map(({ length }) => length));
  const turns: T[] = [];
  for (let i = 0; i < longest; i++) {
    for (const lane of lanes) {
      const row = lane[i];
      if (row !== undefined) turns.push(row);
    }
  }
  return turns;
}
