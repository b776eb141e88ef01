import { z } from 'zod';
import { nameSchemas } from '../http/field-schemas.ts';
import { MAX_BATCH_EVENTS } from '../ingest/events/catalogue.ts';
import { eventSchema } from '../ingest/events/event-schema.ts';
import type { DocumentedEndpoint } from '../http/endpoint.ts';

/** The schema for the documentation; src/ingest/events/validate.ts checks events without zod. */
const event = z.unknown().meta(eventSchema());
const batch = z.strictObject({ events: z.array(event).min(1).max(MAX_BATCH_EVENTS) });
nameSchemas({ Event: event, EventBatch: batch });

const shared = {
  method: 'POST',
  access: { mode: 'api_key', rate: 'none' },
  server: 'ingestion',
  status: 202,
} as const;

const errors = ['INGESTION_UNAVAILABLE'] as const;

/** The endpoints of the ingestion host, which the API host documents and does not serve. */
export const INGESTION_DOCS: readonly DocumentedEndpoint[] = [
  {
    ...shared,
    path: '/v1/events',
    summary: 'Accepts one event; 202 when it is durably queued',
    body: event,
    response: z.object({
      ingestion_id: z.uuid(),
      accepted: z.literal(true),
      tenant_id: z.uuid(),
      project_id: z.uuid(),
    }),
    errors: [...errors, 'KEY_KIND_FORBIDDEN', 'IDENTITY_REQUIRED', 'PROPERTIES_INVALID'],
  },
  {
    ...shared,
    path: '/v1/events/batch',
    summary: 'Accepts the valid events of a batch of up to 100',
    body: batch,
    names_batch:
      'A batch that is sent again under this name is the same events: send the same events in the same order',
    response: z.object({
      ingestion_id: z.uuid(),
      accepted: z.int(),
      rejected: z.array(z.object({ index: z.int(), code: z.string(), reason: z.string() })),
    }),
    errors,
  },
];
