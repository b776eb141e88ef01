import { z } from 'zod';
import { nameSchemas } from '../http/field-schemas.ts';

/** Differences that a report lists one by one; `differences` counts all. */
export const MAX_LISTED = 1_000;

/** Tables of ClickHouse that a repair rebuilds. */
const COPIED_TABLES = [
  'events',
  'events_by_player',
  'players',
  'segment_members',
  'message_sends',
  'campaign_sends',
  'journey_sends',
  'journey_runs',
  'journey_steps',
] as const;
export type CopiedTable = (typeof COPIED_TABLES)[number];

/** Tables of ClickHouse that are compared with their source. */
export const CHECKED_TABLES = [...COPIED_TABLES, 'player_aliases'] as const;
export type CheckedTable = (typeof CHECKED_TABLES)[number];

/** `POST /v1/internal/reconcile`. */
export const reconcileBody = z.strictObject({
  tenant_id: z.guid().optional().describe('Only this tenant; absent: every tenant'),
  repair: z
    .boolean()
    .default(false)
    .describe(
      'Rebuild the tables of ClickHouse that differ, for the projects that differ, then compare again',
    ),
  wait_ms: z
    .int()
    .min(0)
    .max(300_000)
    .default(30_000)
    .describe(
      'How long to wait for the processors to catch up with what was accepted before the call, and for another run to end',
    ),
});
export type ReconcileBody = z.infer<typeof reconcileBody>;

/** One value of one player that differs between two sources. */
export const difference = z.object({
  check: z
    .enum(['ledger', 'events', 'mirror'])
    .describe(
      'Totals against the ledger, events in ClickHouse against Postgres, or other copies in ClickHouse against Postgres',
    ),
  table: z
    .enum(CHECKED_TABLES)
    .nullable()
    .describe('The table of ClickHouse that differs; null: totals in Postgres'),
  tenant_id: z.string(),
  project_id: z.string(),
  player_id: z.string(),
  field: z.string(),
  expected: z.string().nullable(),
  actual: z.string().nullable(),
  cause: z.string(),
});
export type Difference = z.infer<typeof difference>;

/** An event that undoes what never came, or a movement of a bet that is wholly voided. It is no difference. */
export const unmatched = z.object({
  problem: z
    .enum(['void_without_original', 'reversal_without_original', 'movement_after_void'])
    .describe(
      'The original is missing a day after the void or the reversal, or the movement happened after the void of the whole bet',
    ),
  tenant_id: z.string(),
  project_id: z.string(),
  player_id: z.string(),
  event: z.string(),
  reference: z.string().describe('bet_id or transaction_id'),
  movement_id: z.string().nullable().describe('Of a reversal: its reversal_id'),
  occurred_at: z.iso.datetime(),
});
export type Unmatched = z.infer<typeof unmatched>;

/** What was compared; counts of whole rows. */
export const reconcileReport = z.object({
  differences: z.int().describe('How many there are'),
  listed: z.array(difference).describe(`The first ${MAX_LISTED} of them`),
  unmatched: z.int().describe('How many voids, reversals and movements do not fit; they are no differences'),
  unmatched_listed: z.array(unmatched).describe(`The first ${MAX_LISTED} of them`),
  tenants: z.int(),
  projects: z.int(),
  players: z.int(),
  ledger_rows: z.int(),
  event_rows: z.int().describe('Rows of money events and session starts in ClickHouse, each event once'),
  repaired_projects: z
    .int()
    .describe('Projects that were rebuilt in ClickHouse; the differences are those left'),
  waited_ms: z.int(),
  duration_ms: z.int(),
});
export type ReconcileReport = z.infer<typeof reconcileReport>;

nameSchemas({
  ReconcileBody: reconcileBody,
  Difference: difference,
  UnmatchedEvent: unmatched,
  ReconcileReport: reconcileReport,
});
