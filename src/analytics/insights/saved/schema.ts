import { z } from 'zod';
import { nameSchemas, trimmedText } from '../../../http/field-schemas.ts';
import { queryBody } from '../kinds.ts';
import { rangeSchema, type InsightQuery } from '../schema.ts';

const MAX_DESCRIPTION = 2_000;
export const MAX_TILES = 24;

const name = trimmedText(1, 200);
const description = z.string().max(MAX_DESCRIPTION);
const computed = {
  id: z.uuid(),
  tenant_id: z.uuid(),
  project_id: z.uuid(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
  deleted_at: z.iso.datetime().nullable(),
};

/** Fields that no body sets. */
export const COMPUTED_FIELDS: ReadonlySet<string> = new Set(Object.keys(computed));

/** What of an insight is stored in addition to its name. */
export interface InsightContent {
  description: string;
  query: InsightQuery;
}
/** `POST /v1/insights`. */
export const createInsightBody = z.strictObject({
  name,
  description: description.default(''),
  query: queryBody,
});
/** `PATCH /v1/insights/:id`. */
export const patchInsightBody = z.strictObject({
  name: name.optional(),
  description: description.optional(),
  query: queryBody.optional(),
});
/** What was sent, with the defaults of its kind: as an answer it is described by what bodies are. */
const storedQuery = z.record(z.string(), z.unknown()).describe('A query, as /v1/insights/query takes it');

export const insightResource = z.object({
  ...computed,
  name: z.string(),
  description: z.string(),
  query: storedQuery,
});

const tile = z.strictObject({
  insight_id: z.uuid().toLowerCase(),
  size: z.enum(['half', 'full']).default('half'),
});
const dashboardFields = {
  range: rangeSchema.nullable().describe('Instead of the ranges of the insights; null: their own'),
  segment_id: z
    .uuid()
    .toLowerCase()
    .nullable()
    .describe('Instead of the segments in the filters of the insights; null: their own'),
  tiles: z.array(tile).max(MAX_TILES),
};
/** What of a dashboard is stored in addition to its name. */
export type DashboardContent = Omit<z.infer<typeof createDashboardBody>, 'name'>;
/** `POST /v1/dashboards`. */
export const createDashboardBody = z.strictObject({
  name,
  range: dashboardFields.range.default(null),
  segment_id: dashboardFields.segment_id.default(null),
  tiles: dashboardFields.tiles.default([]),
});
/** `PATCH /v1/dashboards/:id`. */
export const patchDashboardBody = z.strictObject({
  name: name.optional(),
  range: dashboardFields.range.optional(),
  segment_id: dashboardFields.segment_id.optional(),
  tiles: dashboardFields.tiles.optional(),
});
export const dashboardResource = z.object({
  ...computed,
  name: z.string(),
  range: z.record(z.string(), z.unknown()).nullable().describe('Instead of the ranges of the insights'),
  segment_id: z.uuid().nullable(),
  tiles: z.array(z.object({ insight_id: z.uuid(), size: z.enum(['half', 'full']) })),
});

nameSchemas({
  CreateInsightBody: createInsightBody,
  PatchInsightBody: patchInsightBody,
  Insight: insightResource,
  CreateDashboardBody: createDashboardBody,
  PatchDashboardBody: patchDashboardBody,
  Dashboard: dashboardResource,
});
