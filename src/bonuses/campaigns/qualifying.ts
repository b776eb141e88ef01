import { ApiError } from '../../errors.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { Group } from '../../segments/language/conditions.ts';
import { readDefinition } from '../../segments/language/definition.ts';
import { selectWithReferences, type SegmentRef } from '../../segments/queries.ts';
import { requiredEvents } from '../../segments/required-events.ts';
import { qualifyingProductOf, type RuleProduct } from '../../tenants/licence/rule.ts';

/** Segments whose definitions are looked at, of those that one refers to, the nearest first. */
const MAX_SEGMENTS = 200;

/**
 * What members of a segment bet on to be in it: null for nothing, `any` for bets on several products. Definitions that
 * another version has stored and this one cannot read say nothing.
 */
export async function qualifyingProductOfSegment(tx: Tx, ref: SegmentRef): Promise<RuleProduct | null> {
  const definitions = new Map<string, Group>();
  for (const { segment_id, definition } of await selectWithReferences(tx, ref, MAX_SEGMENTS)) {
    try {
      definitions.set(segment_id, readDefinition(definition));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
    }
  }
  return qualifyingProductOf(requiredEvents(ref.segment_id, definitions));
}
