import { z } from 'zod';
import type { DocumentedEndpoint } from './openapi.ts';

const event = z
  .strictObject({
    event: z.string().describe('A canonical event name, or one with the prefix custom_'),
    anonymous_id: z.string().optional().describe('This or player_id is required'),
    player_id: z.uuid().optional(),
    external_id: z.string().optional(),
    timestamp: z.iso.datetime().optional().describe('When it happened, UTC; default: when it was received'),
    properties: z.record(z.string(), z.unknown()).optional(),
  })
  .describe('One event (spec part 6)');

const shared = {
  method: 'POST',
  access: { mode: 'api_key', rate: 'none' },
  server: 'ingestion',
  status: 202,
} as const;

const errors = ['RATE_LIMITED', 'INGESTION_UNAVAILABLE'] as const;

/** The endpoints of the ingestion host, which the API host documents and does not serve. */
export const INGESTION_DOCS: readonly DocumentedEndpoint[] = [
  {
    ...shared,
    path: '/v1/events',
    summary: 'Ingests one event; 202 once it is durably queued',
    body: event,
    response: z.object({
      ingestion_id: z.uuid(),
      accepted: z.literal(true),
      tenant_id: z.uuid(),
      project_id: z.uuid(),
    }),
    errors: [...errors, 'IDENTITY_REQUIRED', 'PROPERTIES_INVALID'],
  },
  {
    ...shared,
    path: '/v1/events/batch',
    summary: 'Ingests up to 100 events; the valid ones of a batch are accepted',
    body: z.strictObject({ events: z.array(event).min(1).max(100) }),
    response: z.object({
      ingestion_id: z.uuid(),
      accepted: z.int(),
      rejected: z.array(z.object({ index: z.int(), code: z.string(), reason: z.string() })),
    }),
    errors,
  },
];
