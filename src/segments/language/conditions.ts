import { z } from 'zod';
import { unsafeText } from '../../ingest/events/text-safety.ts';
import { CHANNELS, type Channel } from '../../tenants/config/channels.ts';
import { MESSAGE_STATUSES, type MessageStatus } from '../../analytics/message-status.ts';
import { ATTRIBUTE_PREFIX } from './fields.ts';
import type { Comparison } from './forms.ts';
import { OPERATOR_ALIASES, OPERATORS } from './operators.ts';
import { spanSchema, windowSchema, type Window } from './span.ts';

// The shapes of conditions as callers write them. definition.ts checks operators and values against the field.

const MAX_NAME = 200;
export const MAX_WHERE = 10;
export const MIN_STEPS = 2;
export const MAX_STEPS = 10;
const PERCENT_DECIMALS = 4;

/** What is computed over the events of a set. */
interface AggregateEntry {
  kind: 'number' | 'date';
  /** Whether it is taken over a property of the events. */
  needs_property: boolean;
  /** Whether it has the unit of the property. */
  keeps_unit: boolean;
  /** Its value where there are no events; null: it is missing. */
  of_nothing: 0 | null;
}
const of_events = { needs_property: false, keeps_unit: false };
const of_property = { kind: 'number', needs_property: true, keeps_unit: true } as const;

/** Every aggregate, in the order in which they are listed. */
const AGGREGATE_ENTRIES = {
  count: { kind: 'number', ...of_events, of_nothing: 0 },
  sum: { ...of_property, of_nothing: 0 },
  avg: { ...of_property, of_nothing: null },
  min: { ...of_property, of_nothing: null },
  max: { ...of_property, of_nothing: null },
  distinct: { ...of_property, keeps_unit: false, of_nothing: 0 },
  first_seen: { kind: 'date', ...of_events, of_nothing: null },
  last_seen: { kind: 'date', ...of_events, of_nothing: null },
} as const satisfies Record<string, AggregateEntry>;
export type Aggregate = keyof typeof AGGREGATE_ENTRIES;
export const AGGREGATES = Object.keys(AGGREGATE_ENTRIES) as Aggregate[];

/** The entry of an aggregate. */
export function aggregateEntry(name: Aggregate): AggregateEntry {
  return AGGREGATE_ENTRIES[name];
}

const op = z.enum([...OPERATORS, ...Object.keys(OPERATOR_ALIASES)], {
  error: `must be one of ${[...OPERATORS, ...Object.keys(OPERATOR_ALIASES)].join(', ')}`,
});
/** A text without NUL and lone surrogates: no stored text has these, and the databases would receive another text. */
function safeText(max: number) {
  return z
    .string()
    .max(max)
    .refine((text) => !unsafeText(text), 'must not contain NUL or lone surrogates');
}

const name = safeText(MAX_NAME).min(1);
const comparison = { op, value: z.unknown().optional() };
/** A clause of an event, as callers send it. */
export const clauseSchema = z.strictObject({ property: name, ...comparison });
/** The clauses of an event, as callers send them. */
export const whereSchema = z.array(clauseSchema).max(MAX_WHERE).optional();
const percent = z
  .number()
  .min(0)
  .max(100)
  .refine(
    (value) => Number.isInteger(Number((value * 10 ** PERCENT_DECIMALS).toFixed(6))),
    `must have at most ${PERCENT_DECIMALS} decimals`,
  );

/** The schema of each type of condition, as callers send it (spec part 2, "Segment"). */
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
    where: whereSchema,
  }),
  sequence: z.strictObject({
    type: z.literal('sequence'),
    steps: z
      .array(z.strictObject({ event: z.string(), where: whereSchema, within: spanSchema.optional() }))
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
  list: z.strictObject({ type: z.literal('list'), list_id: z.uuid().toLowerCase() }),
} as const;
export type ConditionType = keyof typeof CONDITION_SCHEMAS;

/** A property of an event compared with a value. */
export interface WhereClause {
  property: string;
  comparison: Comparison;
}

/** The events of one name that lie in a window and satisfy all clauses of `where`. */
export interface EventSet {
  event: string;
  window: Window;
  where: readonly WhereClause[];
}

/** A field of the player compared with a value. */
export interface TraitCondition {
  type: 'trait';
  /** A name of TRAIT_FIELDS, or `custom_attributes.<key>`. */
  field: string;
  comparison: Comparison;
}

/** An aggregate over events of the player compared with a value. */
export interface EventCondition extends EventSet {
  type: 'event';
  aggregate: Aggregate;
  /** The property that is aggregated; undefined for aggregates of the events themselves. */
  property: string | undefined;
  comparison: Comparison;
}

export interface SequenceStep extends EventSet {
  /** The longest time since the step before; undefined: no limit. */
  within_ms: number | undefined;
}

/** The player has events that take all steps, one after another. */
export interface SequenceCondition {
  type: 'sequence';
  steps: readonly SequenceStep[];
}

/** The player is (`negated`: is not) a member of another segment. */
export interface SegmentCondition {
  type: 'segment';
  segment_id: string;
  negated: boolean;
}

/** The player has at least one message that reached the status. */
export interface MessageCondition {
  type: 'message';
  channel: Channel;
  status: MessageStatus;
  /** Undefined: messages of any campaign, and of none. */
  campaign_id: string | undefined;
  /** When the message reached the status. */
  window: Window;
}

/** A stable random share of all players. */
export interface RandomCondition {
  type: 'random';
  /** In millionths of all players. */
  share: number;
  /** Names the draw: conditions with the same salt choose the same players. */
  salt: string;
}

/** The player is on a list: among the stored members of the frozen segment of this id. */
export interface ListCondition {
  type: 'list';
  list_id: string;
}

/** A checked condition. */
export type Condition =
  | TraitCondition
  | EventCondition
  | SequenceCondition
  | SegmentCondition
  | MessageCondition
  | RandomCondition
  | ListCondition;

/** A checked definition: `NOT` has one child. */
export interface Group {
  operator: 'AND' | 'OR' | 'NOT';
  children: readonly DefinitionNode[];
}
export type DefinitionNode = Group | Condition;

export function isGroup(node: DefinitionNode): node is Group {
  return 'operator' in node;
}

/** The segment whose stored members a condition asks for, and whether it holds for the others; undefined: it asks for none. */
export function askedSegment(condition: Condition): { segment_id: string; negated: boolean } | undefined {
  if (condition.type === 'segment') return condition;
  return condition.type === 'list' ? { segment_id: condition.list_id, negated: false } : undefined;
}

/** Every condition of a definition, in the order in which they are written. */
export function* conditionsOf(node: DefinitionNode): Generator<Condition> {
  if (!isGroup(node)) yield node;
  else for (const child of node.children) yield* conditionsOf(child);
}

/** Every condition of a definition with its path, like `definition.conditions.0`, in the order of {@link conditionsOf}. */
export function* conditionPaths(node: Group, path = 'definition'): Generator<[path: string, Condition]> {
  for (const [i, child] of node.children.entries()) {
    const at = `${path}.conditions.${i}`;
    if (isGroup(child)) yield* conditionPaths(child, at);
    else yield [at, child];
  }
}
