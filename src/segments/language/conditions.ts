import { z } from 'zod';
import { unsafeText } from '../../ingest/events/text-safety.ts';
import { CHANNELS, type Channel } from '../../tenants/config/channels.ts';
import { MESSAGE_STATUSES, type MessageStatus } from '../../analytics/message-status.ts';
import { ATTRIBUTE_PREFIX } from './fields.ts';
import { OPERATOR_ALIASES, OPERATORS, type Comparison } from './operators.ts';
import { spanSchema, windowSchema, type Window } from './span.ts';

// The shapes of conditions as callers write them; what suits a field or an operator is checked in definition.ts.

const MAX_NAME = 200;
const MAX_WHERE = 10;
const MIN_STEPS = 2;
const MAX_STEPS = 10;
const PERCENT_DECIMALS = 4;

export const AGGREGATES = [
  'count',
  'sum',
  'avg',
  'min',
  'max',
  'distinct',
  'first_seen',
  'last_seen',
] as const;
export type Aggregate = (typeof AGGREGATES)[number];

const op = z.enum([...OPERATORS, ...Object.keys(OPERATOR_ALIASES)], {
  error: `must be one of ${[...OPERATORS, ...Object.keys(OPERATOR_ALIASES)].join(', ')}`,
});
/** No stored text can hold what is unsafe, and the engines would not be asked for it as it is written. */
function safeText(max: number) {
  return z
    .string()
    .max(max)
    .refine((text) => !unsafeText(text), 'must not contain NUL or lone surrogates');
}

const name = safeText(MAX_NAME).min(1);
const comparison = { op, value: z.unknown().optional() };
const where = z
  .array(z.strictObject({ property: name, ...comparison }))
  .max(MAX_WHERE)
  .optional();
const percent = z
  .number()
  .min(0)
  .max(100)
  .refine(
    (value) => Number.isInteger(Number((value * 10 ** PERCENT_DECIMALS).toFixed(6))),
    `must have at most ${PERCENT_DECIMALS} decimals`,
  );

/** One condition of each type, as it is sent. */
export const CONDITION_SCHEMAS = {
  trait: z.strictObject({
    type: z.literal('trait'),
    field: safeText(ATTRIBUTE_PREFIX.length + MAX_NAME),
    ...comparison,
  }),
  event: z.strictObject({
    type: z.literal('event'),
    event: z.string(),
    aggregate: z.enum(AGGREGATES),
    property: name.optional(),
    ...comparison,
    window: windowSchema.optional(),
    where,
  }),
  sequence: z.strictObject({
    type: z.literal('sequence'),
    steps: z
      .array(z.strictObject({ event: z.string(), where, within: spanSchema.optional() }))
      .min(MIN_STEPS)
      .max(MAX_STEPS),
    window: windowSchema.optional(),
  }),
  segment: z.strictObject({
    type: z.literal('segment'),
    segment_id: z.uuid().toLowerCase(),
    op: z.enum(['in', 'not_in']),
  }),
  message: z.strictObject({
    type: z.literal('message'),
    channel: z.enum(CHANNELS),
    status: z.enum(MESSAGE_STATUSES),
    campaign_id: z.uuid().toLowerCase().optional(),
    window: windowSchema.optional(),
  }),
  random: z.strictObject({ type: z.literal('random'), percent, salt: name }),
} as const;
export type ConditionType = keyof typeof CONDITION_SCHEMAS;

/** A property of an event compared with a value. */
export interface WhereClause {
  property: string;
  comparison: Comparison;
}

/** Events of one name, at some time, with some properties. */
export interface EventSet {
  event: string;
  window: Window;
  where: readonly WhereClause[];
}

export interface TraitCondition {
  type: 'trait';
  /** A name of TRAIT_FIELDS, or `custom_attributes.<key>`. */
  field: string;
  comparison: Comparison;
}

export interface EventCondition extends EventSet {
  type: 'event';
  aggregate: Aggregate;
  /** Present with the aggregates that need one. */
  property: string | undefined;
  comparison: Comparison;
}

export interface SequenceStep extends EventSet {
  /** Since the step before; undefined: any time. */
  within_ms: number | undefined;
}

export interface SequenceCondition {
  type: 'sequence';
  steps: readonly SequenceStep[];
}

export interface SegmentCondition {
  type: 'segment';
  segment_id: string;
  negated: boolean;
}

/** The player has at least one such message. */
export interface MessageCondition {
  type: 'message';
  channel: Channel;
  status: MessageStatus;
  /** Undefined: of any campaign, or of none. */
  campaign_id: string | undefined;
  /** When it came to the status. */
  window: Window;
}

export interface RandomCondition {
  type: 'random';
  /** Of a million. */
  share: number;
  salt: string;
}

/** A checked condition. */
export type Condition =
  TraitCondition | EventCondition | SequenceCondition | SegmentCondition | MessageCondition | RandomCondition;

/** A checked definition: `NOT` has one child. */
export interface Group {
  operator: 'AND' | 'OR' | 'NOT';
  children: readonly DefinitionNode[];
}
export type DefinitionNode = Group | Condition;

export function isGroup(node: DefinitionNode): node is Group {
  return 'operator' in node;
}

/** Every condition of a definition, in the order they are written. */
export function* conditionsOf(node: DefinitionNode): Generator<Condition> {
  if (!isGroup(node)) yield node;
  else for (const child of node.children) yield* conditionsOf(child);
}
