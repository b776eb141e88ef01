import type { z } from 'zod';
import type { Channel } from '../tenants/config/channels.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';
import type { Platform } from '../platform/platform.ts';
import { requireReferences } from './change.ts';
import { countConditions, countMembers } from './evaluation-queries.ts';
import { conditionPaths, type Group } from './language/conditions.ts';
import { readDefinition } from './language/definition.ts';
import { harmWarnings } from './language/harm.ts';
import type { TenantBulkhead } from './tenant-bulkhead.ts';
import type { PreviewBody, previewResult } from './schema.ts';
import { compileMembers } from './sql/compile.ts';

const SAMPLE = 10;
/** Members of whom the reach is asked. */
const REACH_SAMPLE = 10_000;

/** How many of some players a message on a channel would reach now; `by_code`: why not the others. */
interface ChannelReach {
  channel: Channel;
  sampled: number;
  reachable: number;
  by_code: Partial<Record<string, number>>;
}

export interface PreviewDeps extends Pick<Platform, 'postgres' | 'clickhouse' | 'clock'> {
  /** What the gate of messages says about these players, channel by channel. */
  readReach: (project: ProjectRef, player_ids: readonly string[]) => Promise<readonly ChannelReach[]>;
}

/**
 * The size of a definition, some of its players and its query; on request also whom each condition alone matches, whom
 * of a sample a message would reach, and which conditions select by a sign of harm. `turns` bound how many requests of a tenant ask for the reach at once. Rejects
 * with SEGMENT_DEFINITION_INVALID or SEGMENT_TOO_EXPENSIVE.
 */
export async function preview(
  deps: PreviewDeps,
  turns: TenantBulkhead,
  project: ProjectRef,
  { definition: written, per_condition = false, reach = false, warnings = false }: PreviewBody,
): Promise<z.infer<typeof previewResult>> {
  const { clickhouse } = deps;
  const definition = readDefinition(written);
  await requireReferences(deps.postgres, project, definition);
  const question = { ...project, now_ms: deps.clock.now_ms() };
  const query = compileMembers(definition);
  const larger_sample = reach ? REACH_SAMPLE : 0;
  const {
    size,
    player_ids,
    more_ids,
    per_condition: alone,
  } = per_condition
    ? await countConditions(clickhouse, question, definition, SAMPLE, larger_sample)
    : await countMembers(clickhouse, question, query, SAMPLE, larger_sample);
  const result = {
    estimated_size: size,
    sample: player_ids,
    compiled_query: query.sql,
    ...(warnings ? { warnings: harmWarnings(definition) } : {}),
    ...(alone === undefined ? {} : { per_condition: withPaths(definition, alone) }),
  };
  if (!reach) return result;
  const found = await turns.run(project.tenant_id, () => deps.readReach(project, more_ids));
  return { ...result, reach: found.map((one) => ({ ...one, by_code: countsOf(one) })) };
}

/** The sizes of the conditions of a definition, with their paths. */
function withPaths(definition: Group, sizes: readonly number[]) {
  return [...conditionPaths(definition)].map(([path], i) => ({ path, size: sizes[i] ?? 0 }));
}

function countsOf({ by_code }: ChannelReach): Record<string, number> {
  return Object.fromEntries(Object.entries(by_code).map(([code, count]) => [code, count ?? 0]));
}
