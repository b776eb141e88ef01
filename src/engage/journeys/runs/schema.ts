import { z } from 'zod';
import { nameSchemas } from '../../../http/field-schemas.ts';
import { PAGE_QUERY } from '../../../http/keyset-page.ts';

const timestamp = z.iso.datetime();
const nodeId = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/);

/** The run resource (spec part 2, "Journey run"). */
export const runResource = z.object({
  run_id: z.uuid(),
  journey_id: z.uuid(),
  journey_version: z.int(),
  player_id: z.uuid(),
  status: z.enum(['running', 'completed', 'failed', 'cancelled']),
  current_node_id: z.string(),
  started_at: timestamp,
  completed_at: timestamp.nullable(),
  due_at: timestamp.nullable().describe('When a running run goes on by itself'),
  context: z.record(z.string(), z.unknown()),
  trigger: z.object({
    kind: z.enum(['event', 'segment_entered', 'segment_exited', 'schedule', 'api']),
    event: z.string().optional(),
    ingestion_id: z.string().optional(),
  }),
  outcome: z.enum(['ended', 'exited', 'goal', 'held_out']).nullable(),
  error_code: z.string().nullable(),
  cancelled_by: z.string().nullable(),
});

/** A run with its steps; the one on which it stands is the last. */
export const runWithHistory = runResource.extend({
  history: z.array(
    z.object({
      seq: z.int(),
      node_id: z.string(),
      node_type: z.string().nullable(),
      status: z.enum(['waiting', 'completed', 'skipped', 'failed']),
      entered_at: timestamp.nullable(),
      completed_at: timestamp.nullable(),
      outcome: z.string().nullable(),
      next_node_id: z.string().nullable(),
      due_at: timestamp.nullable().optional(),
      error_code: z.string().nullable(),
      message_send_id: z.uuid().optional(),
      message_status: z.string().optional(),
      webhook_event_id: z.uuid().optional(),
      grant_id: z.uuid().optional(),
    }),
  ),
});

/** A run of a player, with the name of its journey. */
export const playerRunResource = runResource.extend({ journey_name: z.string() });

/** `GET /v1/journeys/:id/runs`. */
export const listRunsQuery = z.strictObject({
  ...PAGE_QUERY,
  status: z.enum(['running', 'completed', 'failed', 'cancelled']).optional(),
  player_id: z.guid().toLowerCase().optional(),
  node_id: nodeId.optional(),
});
export type ListRunsQuery = z.infer<typeof listRunsQuery>;

/** `GET /v1/players/:id/journeys`. */
export const playerRunsQuery = z.strictObject(PAGE_QUERY);

/** `POST /v1/journeys/:id/trigger`. */
export const triggerBody = z.strictObject({
  player_id: z.guid(),
  context: z.record(z.string(), z.unknown()).optional(),
});

/** `POST /v1/journeys/:id/runs/cancel`. */
export const cancelRunsBody = z.strictObject({
  version: z.int().min(1).max(2_147_483_647).optional(),
  node_id: nodeId.optional(),
});

nameSchemas({
  JourneyRun: runResource,
  JourneyRunWithHistory: runWithHistory,
  PlayerJourneyRun: playerRunResource,
  TriggerJourneyBody: triggerBody,
  CancelRunsBody: cancelRunsBody,
});
