import { readOfList } from './dependencies.ts';
import type { SegmentRow, StoredDefinition } from './queries.ts';

// A frozen segment is a list of players: its members are written once, and nothing computes them. Its definition asks for
// its own list, so every form of the language means the stored members. A merge or a deletion of players changes them as it
// changes those of any segment.

/** What a frozen segment is stored as. */
export function frozenDefinition(segment_id: string): StoredDefinition {
  return {
    definition: { operator: 'AND', conditions: [{ type: 'list', list_id: segment_id }] },
    refresh_strategy: 'manual',
    refresh_interval_minutes: null,
    reads: [readOfList(segment_id)],
    windows: [],
  };
}

/** Whether the segment is frozen. No other segment can ask for its own list: that is a circle. */
export function isFrozen({ segment_id, definition }: Pick<SegmentRow, 'segment_id' | 'definition'>): boolean {
  const { conditions } = definition as { conditions?: readonly { type?: unknown; list_id?: unknown }[] };
  const [only] = conditions ?? [];
  return only?.type === 'list' && only.list_id === segment_id;
}
