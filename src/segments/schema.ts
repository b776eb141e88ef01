import { z } from 'zod';
import { ignored, nameSchemas, trimmedText } from '../http/field-schemas.ts';
import { HARM_CODES } from './language/harm.ts';
import { CHANNELS } from '../tenants/config/channels.ts';

export const harmSign = z.enum(HARM_CODES);

export const REFRESH_STRATEGIES = ['realtime', 'scheduled', 'manual'] as const;
export type RefreshStrategy = (typeof REFRESH_STRATEGIES)[number];

const MAX_DESCRIPTION = 2_000;
const MAX_INTERVAL_MINUTES = 60 * 24 * 31;
export const MAX_SAMPLE = 100;

/** Any object here; `readDefinition` checks it and names each wrong node. */
const definition = z.record(z.string(), z.unknown()).meta({
  description: 'A group {"operator": "AND" | "OR" | "NOT", "conditions": [condition or group]}',
  examples: [
    {
      operator: 'AND',
      conditions: [
        {
          type: 'event',
          event: 'deposit_confirmed',
          aggregate: 'sum',
          property: 'amount',
          op: 'gt',
          value: 50_000,
          window: { last: { days: 30 } },
        },
        { type: 'trait', field: 'current_tier_code', op: 'neq', value: 'gold' },
      ],
    },
  ],
});

const fields = {
  name: trimmedText(1, 200),
  description: z.string().max(MAX_DESCRIPTION),
  definition,
  refresh_strategy: z.enum(REFRESH_STRATEGIES),
  refresh_interval_minutes: z.int().min(1).max(MAX_INTERVAL_MINUTES),
};

/** `POST /v1/segments`; an interval belongs to `scheduled` alone. */
export const createSegmentBody = z.strictObject({
  ...fields,
  description: fields.description.default(''),
  refresh_strategy: fields.refresh_strategy.default('manual'),
  refresh_interval_minutes: fields.refresh_interval_minutes.optional(),
});
export type CreateSegmentBody = z.infer<typeof createSegmentBody>;

/** `PATCH /v1/segments/:id`. */
export const patchSegmentBody = z.strictObject({
  name: fields.name.optional(),
  description: fields.description.optional(),
  definition: definition.optional(),
  refresh_strategy: fields.refresh_strategy.optional(),
  refresh_interval_minutes: fields.refresh_interval_minutes.nullable().optional(),
});
export type PatchSegmentBody = z.infer<typeof patchSegmentBody>;

/** `POST /v1/segments/preview`. */
export const previewBody = z.strictObject({
  ...ignored(createSegmentBody),
  definition,
  per_condition: z.boolean().describe('Also count the players that each condition alone matches').optional(),
  reach: z.boolean().describe('Also ask of a sample whom a message would reach now').optional(),
  warnings: z
    .boolean()
    .describe('Also name the conditions that select players by a sign of gambling harm')
    .optional(),
});
export type PreviewBody = z.infer<typeof previewBody>;

export const sampleQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(MAX_SAMPLE).default(10),
});

export const explainQuery = z.strictObject({ player_id: z.string().max(64) });

/** Fields that only the service sets: a caller that sends one gets FIELD_NOT_WRITABLE. */
export const COMPUTED_FIELDS = new Set([
  'id',
  'tenant_id',
  'project_id',
  'compiled_query',
  'estimated_size',
  'last_computed_at',
  'last_error',
  'refresh_progress',
  'refresh_lag_seconds',
  'created_at',
  'updated_at',
  'deleted_at',
]);

const timestamp = z.iso.datetime();

/** The segment resource (spec part 2). */
export const segmentResource = z.object({
  id: z.uuid(),
  tenant_id: z.uuid(),
  project_id: z.uuid(),
  name: z.string(),
  description: z.string(),
  definition,
  compiled_query: z.string(),
  estimated_size: z.int(),
  last_computed_at: timestamp.nullable(),
  last_error: z.string().nullable(),
  refresh_progress: z
    .object({
      phase: z.enum(['comparing', 'writing']),
      started_at: timestamp,
      done: z.int(),
      total: z.int().nullable(),
    })
    .nullable(),
  refresh_lag_seconds: z.int().nullable(),
  refresh_strategy: z.enum(REFRESH_STRATEGIES),
  refresh_interval_minutes: z.int().nullable(),
  created_at: timestamp,
  updated_at: timestamp,
  deleted_at: timestamp.nullable(),
});

export const refreshResult = z.object({
  matched: z.int(),
  added: z.int(),
  removed: z.int(),
  duration_ms: z.int(),
});

/** What selects players by a sign of harm. */
export const harmWarning = z.object({ path: z.string(), code: harmSign, message: z.string() });

export const previewResult = z.object({
  estimated_size: z.int(),
  sample: z.array(z.uuid()),
  compiled_query: z.string(),
  per_condition: z
    .array(z.object({ path: z.string(), size: z.int() }))
    .describe('With `per_condition`: the conditions in the order in which they are written')
    .optional(),
  reach: z
    .array(
      z.object({
        channel: z.enum(CHANNELS),
        sampled: z.int(),
        reachable: z.int(),
        by_code: z
          .record(z.string(), z.int())
          .describe('How many would be skipped, by the first code that applies'),
      }),
    )
    .describe('With `reach`: of all members, or of 10,000 random ones where there are more')
    .optional(),
  warnings: z
    .array(harmWarning)
    .describe('With `warnings`: what to think about before the segment is used; nothing is refused for it')
    .optional(),
});

/**
 * `path`: the path of the node in the definition; `value`: what a condition compared, or null; groups have no value.
 */
export const explanation = z.object({
  segment_id: z.uuid(),
  player_id: z.uuid(),
  matches: z.boolean(),
  is_member: z.boolean(),
  nodes: z.array(
    z.object({
      path: z.string(),
      holds: z.boolean(),
      node: z.record(z.string(), z.unknown()),
      value: z.unknown().optional(),
    }),
  ),
});

export const playerRefreshResult = z.object({
  player_id: z.uuid(),
  matched_segment_ids: z.array(z.uuid()),
  added: z.array(z.uuid()),
  removed: z.array(z.uuid()),
  total_segments_evaluated: z.int(),
  duration_ms: z.int(),
});

const MAX_MARKED = 10_000;

/** `POST /v1/internal/recompute-player-segments`: absent `events` means that anything about the players changed. */
export const recomputeBody = z.strictObject({
  tenant_id: z.uuid(),
  project_id: z.uuid(),
  player_ids: z.array(z.uuid()).min(1).max(MAX_MARKED),
  events: z.array(z.string().max(200)).min(1).max(200).optional(),
});

export const recomputeResult = z.object({ queued: z.int() });

nameSchemas({
  HarmSign: harmSign,
  HarmWarning: harmWarning,
  SegmentDefinition: definition,
  CreateSegmentBody: createSegmentBody,
  PatchSegmentBody: patchSegmentBody,
  PreviewSegmentBody: previewBody,
  Segment: segmentResource,
  SegmentRefresh: refreshResult,
  SegmentPreview: previewResult,
  SegmentExplanation: explanation,
  PlayerSegmentsRefresh: playerRefreshResult,
  RecomputeSegmentsBody: recomputeBody,
  RecomputeSegmentsResult: recomputeResult,
});
