import { ApiError } from '../errors.ts';
import type { Platform } from '../platform/platform.ts';
import { resolvePlayers } from './dirty-player-queries.ts';
import { matchPlayers } from './evaluation-queries.ts';
import { readDefinition } from './language/definition.ts';
import { selectWithReferences, type SegmentRef } from './queries.ts';

type Deps = Pick<Platform, 'postgres' | 'clickhouse' | 'clock'>;

/**
 * Which of these players a segment's definition matches now, regardless of its stored members: the members of a
 * scheduled or manual segment are those of its last refresh, and those of a realtime segment follow a moment later.
 * Segments that the definition refers to are asked in the same way. A merged player is answered for by its survivor.
 * Nothing is written. Rejects with SEGMENT_NOT_FOUND (also when it is deleted), SEGMENT_DEFINITION_INVALID,
 * SEGMENT_TOO_EXPENSIVE, and with any error of ClickHouse.
 */
export async function matchNow(
  { postgres, clickhouse, clock }: Deps,
  ref: SegmentRef,
  player_ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const { tenant_id, project_id, segment_id } = ref;
  const segments = await selectWithReferences(postgres.service, ref);
  const definitions = new Map(
    segments.map((segment) => [segment.segment_id, readDefinition(segment.definition)]),
  );
  const definition = definitions.get(segment_id);
  if (definition === undefined) {
    throw new ApiError('SEGMENT_NOT_FOUND', `the segment ${segment_id} does not exist any more`);
  }
  definitions.delete(segment_id);
  const players = await resolvePlayers(postgres.service, ref, player_ids);
  const question = { tenant_id, project_id, now_ms: clock.now_ms() };
  const [matching] = await matchPlayers(clickhouse, question, players, [definition], definitions);
  return matching ?? new Set();
}
