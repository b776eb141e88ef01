import { z } from 'zod';
import { nameSchemas } from '../../http/field-schemas.ts';
import { BONUSES } from './bonuses/bonuses.ts';
import type { InsightKind } from './kind.ts';
import { DISTRIBUTION } from './kinds/distribution.ts';
import { FUNNEL } from './kinds/funnel.ts';
import { LIFECYCLE_KIND } from './kinds/lifecycle.ts';
import { RETENTION } from './kinds/retention.ts';
import { MAX_PLAYERS } from './limits.ts';
import { CELL_SCHEMAS, QUERY_SCHEMAS, type InsightQuery, type KindName, type QueryOf } from './schema.ts';
import { TREND } from './trend/trend.ts';

/** The kinds, each for the queries of its own schema. */
const KINDS = {
  trend: TREND,
  funnel: FUNNEL,
  retention: RETENTION,
  lifecycle: LIFECYCLE_KIND,
  distribution: DISTRIBUTION,
  bonuses: BONUSES,
} satisfies { [K in KindName]: InsightKind<QueryOf<K>, never> };

/** The kind of a query that {@link queryBody} has read. */
export function kindOf({ kind }: InsightQuery): InsightKind<InsightQuery, unknown> {
  // The schema of the body has chosen the kind, so its functions get their own queries.
  return KINDS[kind] as unknown as InsightKind<InsightQuery, unknown>;
}

const { trend, ...others } = QUERY_SCHEMAS;

/** A query of any kind. */
export const queryBody = z.discriminatedUnion('kind', [
  trend,
  ...Object.values(others),
]) as z.ZodType<InsightQuery>;

/** Which of the figures of a query is meant, as callers send it; {@link readCell} checks it. */
export const writtenCell = z
  .record(z.string(), z.unknown())
  .describe('Which figure: docs/insights.md and docs/insight-kinds.md have the fields of each kind');

/** `POST /v1/insights/players`: the query of a figure, and which of its figures. */
export const playersBody = z.strictObject({
  query: queryBody,
  cell: writtenCell.default({}),
  cursor: z.string().optional(),
  limit: z.int().min(1).max(MAX_PLAYERS).default(100),
});

/** The figure that a cell means. Throws a ZodError with paths below `cell`. */
export function readCell({ kind }: InsightQuery, cell: Readonly<Record<string, unknown>>): unknown {
  return z.object({ cell: CELL_SCHEMAS[kind] }).parse({ cell }).cell;
}

nameSchemas({ InsightQuery: queryBody, InsightPlayersBody: playersBody });
