import { z } from 'zod';
import { MESSAGE_STATUSES } from '../analytics/message-status.ts';
import { PAGE_QUERY } from '../http/keyset-page.ts';
import { nameSchemas } from '../http/field-schemas.ts';
import { PLAYER_STATUSES } from '../players/profile/schema.ts';
import { CHANNELS } from '../tenants/config/channels.ts';
import { AGGREGATES } from './language/conditions.ts';
import { MONEY_UNIT } from './language/fields.ts';
import { OPERAND_SHAPES } from './language/operands.ts';
import { OPERATORS } from './language/operators.ts';
import { REFERRING } from './references.ts';
import { harmSign, REFRESH_STRATEGIES } from './schema.ts';
import { KEPT_DAYS } from './sizes.ts';

/** `GET /v1/segments/:id/members` and `GET /v1/players/:id/segments`. */
export const pageQuery = z.strictObject(PAGE_QUERY);

const text = z.string().nullable();
const timestamp = z.iso.datetime();

/** A member of a segment. */
export const segmentMember = z.object({
  player_id: z.uuid(),
  entered_at: timestamp,
  external_id: text,
  email: text,
  phone: text,
  status: z.enum(PLAYER_STATUSES),
  current_tier_code: text,
  last_seen_at: timestamp,
});

/** A segment that a player is in. */
export const playerSegment = z.object({
  segment_id: z.uuid(),
  name: z.string(),
  refresh_strategy: z.enum(REFRESH_STRATEGIES),
  entered_at: timestamp,
});

/** `GET /v1/segments/:id/history`. */
export const historyQuery = z.strictObject({
  days: z.coerce.number().int().min(1).max(KEPT_DAYS).default(30),
});

export const sizePoint = z.object({ at: timestamp, size: z.int() });

export const segmentReference = z.object({
  type: z.enum(REFERRING),
  id: z.uuid(),
  name: z.string(),
  status: z.string().nullable().describe('Null: records of this type have none'),
});

const kind = z.enum(['text', 'number', 'date', 'json']);
const operator = z.enum(OPERATORS);
const operators = z.array(operator);
const harm = harmSign
  .nullable()
  .describe('The sign of gambling harm by which it can select players; null: none');
const comparable = {
  name: z.string(),
  kind,
  unit: z
    .literal(MONEY_UNIT)
    .nullable()
    .describe('Money, in the smallest unit of the base currency; null: none'),
  values: z.array(z.string()).nullable().describe('All allowed values; null: any'),
  operators,
};

/** Everything that a definition may say. */
export const segmentVocabulary = z.object({
  condition_types: z.array(z.string()),
  fields: z.array(z.object({ ...comparable, harm, nullable: z.boolean(), max_values: z.int() })),
  custom_attributes: z.object({ prefix: z.string(), kind, operators }),
  operators: z.array(
    z.object({
      name: operator,
      aliases: z.array(z.string()),
      value: z.enum(OPERAND_SHAPES),
      complement_of: operator.nullable(),
    }),
  ),
  events: z.array(
    z.object({
      name: z.string(),
      group: z.string(),
      harm,
      properties: z.array(z.object({ ...comparable, required: z.boolean() })),
    }),
  ),
  custom_events: z.object({ prefix: z.string(), max_length: z.int() }),
  aggregates: z.array(
    z.object({
      name: z.enum(AGGREGATES),
      needs_property: z.boolean(),
      keeps_unit: z.boolean().describe('Whether the aggregate has the unit of its property'),
      kind,
      operators,
    }),
  ),
  harm_signs: z.array(z.object({ code: harmSign, message: z.string() })),
  channels: z.array(z.enum(CHANNELS)),
  message_statuses: z.array(z.enum(MESSAGE_STATUSES)),
  limits: z.object({
    depth: z.int(),
    conditions: z.int(),
    bytes: z.int(),
    list_values: z.int(),
    where_clauses: z.int(),
    min_steps: z.int(),
    max_steps: z.int(),
  }),
});

nameSchemas({
  SegmentOperator: operator,
  SegmentMember: segmentMember,
  PlayerSegment: playerSegment,
  SegmentSize: sizePoint,
  SegmentReference: segmentReference,
  SegmentVocabulary: segmentVocabulary,
});
