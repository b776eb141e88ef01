import { z } from 'zod';
import { nameSchemas } from '../../../http/field-schemas.ts';
import { eventNameSchema } from '../../../ingest/event-name.ts';
import { nodeId } from '../graph/fields.ts';

const MAX_EVENTS = 100;
const MAX_WEBHOOKS = 50;
const MAX_EVENT_NAME = 200;
/** A hundred years: no graph takes longer. */
const MAX_AT_MS = 100 * 366 * 86_400_000;

const object = z.record(z.string(), z.unknown());

/** An event of the player, `at_ms` milliseconds after the run's start. */
const event = z.strictObject({
  at_ms: z.int().min(0).max(MAX_AT_MS),
  event: eventNameSchema.max(MAX_EVENT_NAME),
  properties: object.default({}),
});
export type SimulatedEvent = z.infer<typeof event>;

/** What the receiver of a webhook answers. */
const webhookAnswer = z.strictObject({ status: z.int().min(100).max(599), body: z.unknown().optional() });
export type WebhookAnswer = z.infer<typeof webhookAnswer>;

/** `POST /v1/journeys/:id/simulate`. */
export const simulateBody = z
  .strictObject({
    player_id: z.guid().optional(),
    traits: object.optional().describe('Of a sample player: custom attributes, and fields such as `status`'),
    trigger_payload: object.default({}),
    events: z
      .array(event)
      .max(MAX_EVENTS)
      .default([])
      .describe('In the order of `at_ms`, which counts from the start'),
    webhooks: z
      .record(nodeId, webhookAnswer)
      .refine((map) => Object.keys(map).length <= MAX_WEBHOOKS, `must have at most ${MAX_WEBHOOKS} nodes`)
      .meta({ maxProperties: MAX_WEBHOOKS })
      .default({})
      .describe('By node: what the receiver answers; absent: 200 without a body'),
  })
  .refine(({ player_id, traits }) => player_id === undefined || traits === undefined, {
    path: ['traits'],
    message: 'describes a sample player: omit it, or omit player_id',
  })
  .optional();
export type SimulateBody = NonNullable<z.infer<typeof simulateBody>>;
/** The body of a call without one. */
export const EMPTY_BODY: SimulateBody = { trigger_payload: {}, events: [], webhooks: {} };

const timestamp = z.iso.datetime();

export const simulateResult = z.object({
  steps: z.array(
    z.object({
      seq: z.int(),
      node_id: z.string(),
      node_type: z.string(),
      status: z.enum(['completed', 'skipped', 'failed']),
      entered_at: timestamp,
      completed_at: timestamp,
      outcome: z.string(),
      next_node_id: z.string().nullable(),
      error_code: z.string().nullable(),
      at_ms: z.int().describe('From the start to `completed_at`'),
      note: z.string().optional().describe('How the step may differ from that of a real run'),
    }),
  ),
  messages: z.array(
    z.object({
      node_id: z.string(),
      channel: z.string(),
      recipient: z.string(),
      subject: z.string().optional(),
      body: z.string(),
    }),
  ),
  outcome: z.enum(['ended', 'exited', 'goal', 'failed']),
  notes: z.array(z.string()).describe('How the simulation differs from a real run'),
});
export type SimulateResult = z.infer<typeof simulateResult>;

nameSchemas({ SimulateJourneyBody: simulateBody, JourneySimulation: simulateResult });
