import type { Platform } from '../platform/platform.ts';
import { ensureEpoch, type EpochMemory } from './epoch.ts';
import { readMirrorPosition, type MirrorPosition } from './mirror-queries.ts';

/** What a mirror copies in one turn. */
export interface MirrorBlock<Row> {
  /** Where the mirror stood. */
  position: MirrorPosition;
  /** The changes after it, in order, at least one. */
  rows: readonly Row[];
}

/**
 * Reads what the mirror has to copy next, under the epoch that is current. While no transaction of the whole database
 * has ended since it last found nothing, it asks nothing more; a position that was set back is then seen once the oldest
 * running transaction has ended. Undefined when there is nothing to copy.
 */
export async function readMirrorBlock<Row>(
  platform: Platform,
  memory: EpochMemory,
  name: string,
  readChanges: (position: MirrorPosition) => Promise<readonly Row[]>,
): Promise<MirrorBlock<Row> | undefined> {
  const at = await ensureEpoch(platform, memory);
  if (memory.idle_at === at) return undefined;
  const position = await readMirrorPosition(platform.postgres.service, name);
  const rows = await readChanges(position);
  if (rows.length > 0) return { position, rows };
  memory.idle_at = at;
  return undefined;
}
