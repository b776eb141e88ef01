import { z } from 'zod';

/** `GET /v1/players/:id/timeline`. */
export const timelineQuery = z.strictObject({
  cursor: z.string().optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});

export const timelineEntry = z.object({
  ingestion_id: z.uuid(),
  event: z.string(),
  timestamp: z.iso.datetime(),
  properties: z.record(z.string(), z.unknown()),
});

export const depositsOfDay = z.object({ date: z.iso.date(), amount: z.int() });
