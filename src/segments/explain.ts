import type { Platform } from '../platform/platform.ts';
import { playerNotFound, requirePlayer } from '../players/profile/read.ts';
import { readDefinition } from './language/definition.ts';
import { explainPlayer } from './evaluation-queries.ts';
import { selectMemberships } from './membership-queries.ts';
import type { SegmentRef } from './queries.ts';
import { requireSegment } from './read.ts';
import type { ExplainedNode } from './sql/compile.ts';

type Deps = Pick<Platform, 'postgres' | 'clickhouse' | 'clock'>;

/** One node of a definition, evaluated for one player. */
export interface NodeExplanation {
  /** The path of the node, like `definition.conditions.0`. */
  path: string;
  holds: boolean;
  /** The node as the caller wrote it; a group without its conditions. */
  node: Record<string, unknown>;
  /** For conditions: the value that was compared; null where the player has none. */
  value?: unknown;
}

/** Whether a player matches a segment's definition and is a stored member, with every node of the definition. */
export interface Explanation {
  segment_id: string;
  player_id: string;
  /** Whether the definition matches the player now. */
  matches: boolean;
  /** Whether the player is a stored member, since the last refresh or evaluation. */
  is_member: boolean;
  nodes: NodeExplanation[];
}

/**
 * Why a player is or is not in a segment, node by node in the order in which they are written. Rejects with
 * SEGMENT_NOT_FOUND or PLAYER_NOT_FOUND, the latter also while a new player is not in ClickHouse yet.
 */
export async function explainMembership(
  { postgres, clickhouse, clock }: Deps,
  ref: SegmentRef,
  named_player_id: string,
): Promise<Explanation> {
  const { tenant_id, project_id, segment_id } = ref;
  const segment = await requireSegment(postgres, ref);
  const { player_id, event_player_ids } = await requirePlayer(postgres, {
    tenant_id,
    project_id,
    player_id: named_player_id,
  });
  const players = { player_ids: [player_id], former_ids: event_player_ids.slice(1) };
  const question = { tenant_id, project_id, now_ms: clock.now_ms() };
  const found = await explainPlayer(clickhouse, question, players, readDefinition(segment.definition));
  if (found === undefined) throw playerNotFound(named_player_id);
  const members = await postgres.asTenant(tenant_id, (tx) =>
    selectMemberships(tx, ref, [player_id], [segment_id]),
  );
  const nodes = describe(found.root, segment.definition, 'definition', found.row);
  return {
    segment_id,
    player_id,
    matches: nodes[0]?.holds ?? false,
    is_member: members.get(segment_id)?.has(player_id) ?? false,
    nodes,
  };
}

/** The node and its descendants; `written`: the same node as the caller wrote it. */
function describe(
  { holds, value, children }: ExplainedNode,
  written: unknown,
  path: string,
  row: Readonly<Record<string, unknown>>,
): NodeExplanation[] {
  const { conditions, ...node } = written as Record<string, unknown> & { conditions?: unknown[] };
  const itself: NodeExplanation = { path, holds: row[holds] === 1, node };
  if (value !== undefined) itself.value = parsed(row[value]);
  const below = children.flatMap((child, i) =>
    describe(child, conditions?.[i], `${path}.conditions.${i}`, row),
  );
  return [itself, ...below];
}

/** ClickHouse returns values as JSON text, so that none loses its type. */
function parsed(text: unknown): unknown {
  if (typeof text !== 'string') return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
