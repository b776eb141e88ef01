import { z } from 'zod';
import { nameSchemas } from '../../http/schema-names.ts';
import { int64 } from '../../http/int64.ts';
import { PAGE_QUERY } from '../../http/keyset-page.ts';

/** `GET /v1/players/:id/timeline`. */
export const timelineQuery = z.strictObject({
  ...PAGE_QUERY,
});

export const timelineEntry = z.object({
  ingestion_id: z.uuid(),
  event: z.string(),
  timestamp: z.iso.datetime(),
  properties: z.record(z.string(), z.unknown()),
});

export const depositsOfDay = z.object({ date: z.iso.date(), amount: int64 });

nameSchemas({ TimelineEntry: timelineEntry, DepositsOfDay: depositsOfDay });
