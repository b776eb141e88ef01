import { z } from 'zod';
import { nameSchemas, trimmedText } from '../../../http/field-schemas.ts';
import { FAULTS, REFERENCE_FAULTS, WARNINGS } from './issues.ts';
import { nodeId } from './fields.ts';

export const JOURNEY_STATUSES = ['draft', 'active', 'paused'] as const;
export type JourneyStatus = (typeof JOURNEY_STATUSES)[number];

const MAX_MAPPED = 50;

/** Any object here; `readJourney` checks it and names each fault. */
const object = z.record(z.string(), z.unknown());
const fields = {
  name: trimmedText(1, 200),
  trigger: object.meta({
    description:
      'What starts runs: {"kind": "event" | "segment_entered" | "segment_exited" | "schedule" | "api", …}',
    examples: [{ kind: 'event', event: 'deposit_confirmed', where: { amount: { gte: 5_000 } } }],
  }),
  graph: object.meta({
    description: 'At most 50 nodes with different ids, and no cycles',
    examples: [
      {
        start_node_id: 'wait',
        nodes: [
          { id: 'wait', type: 'wait', duration_ms: 86_400_000, next: 'end' },
          { id: 'end', type: 'end' },
        ],
      },
    ],
  }),
  settings: object.meta({
    description: 'How often a player may enter, and what ends a run early',
    examples: [{ re_entry: { mode: 'after_exit' }, exit_on: [{ event: 'withdrawal_confirmed' }] }],
  }),
};

/** `POST /v1/journeys`. */
export const createJourneyBody = z.strictObject({ ...fields, settings: fields.settings.default({}) });
export type CreateJourneyBody = z.infer<typeof createJourneyBody>;

/** `PATCH /v1/journeys/:id`; trigger, graph and settings are replaced as a whole. */
export const patchJourneyBody = z.strictObject(fields).partial();
export type PatchJourneyBody = z.infer<typeof patchJourneyBody>;

/** The query of `PATCH /v1/journeys/:id`. */
export const patchJourneyQuery = z.strictObject({ draft: z.enum(['true', 'false']).default('false') });

/** `POST /v1/journeys/:id/activate`: what happens to runs that came due while they were held. */
export const activateBody = z.strictObject({ resume: z.enum(['run', 'skip']).default('run') }).optional();

/** `POST /v1/journeys/:id/pause`: with `hold` runs stand still, too. */
export const pauseBody = z.strictObject({ hold: z.boolean().default(false) }).optional();

const versionNumber = z.int().min(1).max(2_147_483_647);

/** `POST /v1/journeys/:id/migrate-runs`. */
export const migrateBody = z.strictObject({
  from_version: versionNumber,
  to_version: versionNumber,
  node_map: z
    .record(nodeId, nodeId)
    .refine((map) => Object.keys(map).length <= MAX_MAPPED, `must have at most ${MAX_MAPPED} nodes`)
    .meta({ maxProperties: MAX_MAPPED })
    .default({}),
  unmapped: z.enum(['stay', 'exit']).default('stay'),
  recompute_waits: z.boolean().default(false),
  dry_run: z.boolean().default(false),
});
export type MigrateBody = z.infer<typeof migrateBody>;

const count = z.int();

/** What became, or would become, of the runs. */
export const migrateResult = z.object({
  moved: count,
  stayed: count,
  exited: count,
  by_node: z.record(z.string(), count).describe('Runs by the node on which they stood'),
});
export type MigrateResult = z.infer<typeof migrateResult>;

/** The filters of `GET /v1/journeys`. */
export const JOURNEY_FILTERS = { status: z.enum(JOURNEY_STATUSES).optional() };
export type JourneyFilters = z.infer<z.ZodObject<typeof JOURNEY_FILTERS>>;

/** Fields that only the service sets: a caller that sends one gets FIELD_NOT_WRITABLE. */
export const COMPUTED_FIELDS = new Set([
  'id',
  'tenant_id',
  'project_id',
  'status',
  'version',
  'draft_version',
  'activated_at',
  'paused_at',
  'hold',
  'last_error',
  'created_at',
  'updated_at',
  'deleted_at',
  'warnings',
]);

const timestamp = z.iso.datetime();

/** A journey as lists have it. */
export const listedJourney = z.object({
  id: z.uuid(),
  tenant_id: z.uuid(),
  project_id: z.uuid(),
  name: z.string(),
  status: z.enum(JOURNEY_STATUSES),
  trigger: object,
  version: z.int().nullable().describe('The version that new runs use; null: never activated'),
  activated_at: timestamp.nullable(),
  paused_at: timestamp.nullable(),
  hold: z.boolean().describe('Runs stand still'),
  last_error: z.string().nullable().describe('Why events that may start runs wait'),
  created_at: timestamp,
  updated_at: timestamp,
  deleted_at: timestamp.nullable(),
});

/** The journey resource (spec part 2). */
export const journeyResource = listedJourney.extend({
  graph: object.describe(
    'Like trigger and settings as saved last. Headers that may be credentials are `***`; sent back, they keep their values',
  ),
  settings: object,
  draft_version: z
    .int()
    .nullable()
    .describe('The version that the last saved state becomes when it is published; null: it is live'),
  warnings: z
    .array(
      z.object({
        path: z.string(),
        code: z.enum([...WARNINGS, ...REFERENCE_FAULTS, ...FAULTS]),
        message: z.string(),
        node_id: z.string().optional(),
      }),
    )
    .optional()
    .describe('Those about other records prevent activation. Absent in the answer to a deletion'),
});

/** A version in a list. */
export const listedVersion = z.object({
  version: z.int(),
  published_at: timestamp,
  published_by: z.string().nullable(),
  running: count.describe('Running runs, counted up to 1,000'),
});

/** One version. */
export const journeyVersion = z.object({
  version: z.int(),
  trigger: object,
  graph: object,
  settings: object,
  published_at: timestamp,
  published_by: z.string().nullable(),
});

nameSchemas({
  CreateJourneyBody: createJourneyBody,
  PatchJourneyBody: patchJourneyBody,
  ActivateJourneyBody: activateBody,
  PauseJourneyBody: pauseBody,
  MigrateRunsBody: migrateBody,
  MigrateRunsResult: migrateResult,
  Journey: journeyResource,
  ListedJourney: listedJourney,
  ListedJourneyVersion: listedVersion,
  JourneyVersion: journeyVersion,
});
