import { MESSAGE_STATUSES } from '../../analytics/message-status.ts';
import {
  CUSTOM_PREFIX,
  EVENTS,
  MAX_EVENT_NAME_LENGTH,
  type EventDefinition,
  type EventName,
  type PropertySchema,
} from '../../ingest/events/catalogue.ts';
import { CHANNELS } from '../../tenants/config/channels.ts';
import {
  aggregateEntry,
  AGGREGATES,
  CONDITION_SCHEMAS,
  MAX_STEPS,
  MAX_WHERE,
  MIN_STEPS,
} from './conditions.ts';
import { MAX_BYTES, MAX_CONDITIONS, MAX_DEPTH } from './definition.ts';
import {
  ATTRIBUTE_PREFIX,
  isMoneyProperty,
  MONEY_UNIT,
  TRAIT_FIELDS,
  type TraitField,
  type TraitFieldName,
} from './fields.ts';
import { HARM_EVENTS, HARM_FIELDS, HARM_SIGNS } from './harm.ts';
import { MAX_LIST, type ValueKind } from './operands.ts';
import { operatorOf, OPERATORS, OPERATORS_OF, type Operator } from './operators.ts';

/** What a value on the left of a comparison is, and how it can be compared. */
interface Comparable {
  name: string;
  kind: ValueKind;
  /** Null: it is not money. */
  unit: typeof MONEY_UNIT | null;
  /** All allowed values; null: any. */
  values: readonly string[] | null;
  operators: readonly Operator[];
}

/**
 * Everything that a definition may say, from the tables by which definitions are read, so that a builder can be made of
 * it. Properties of events have the kind that the catalogue gives them; others are free, and of the kind `json`.
 */
export function vocabulary() {
  return {
    condition_types: Object.keys(CONDITION_SCHEMAS),
    fields: Object.entries<TraitField>(TRAIT_FIELDS).map(([name, field]) => ({
      ...comparable(name, field.kind, field.unit, field.values),
      harm: HARM_FIELDS[name as TraitFieldName] ?? null,
      nullable: field.nullable,
      max_values: field.max_values ?? MAX_LIST,
    })),
    custom_attributes: { prefix: ATTRIBUTE_PREFIX, kind: 'json' as const, operators: OPERATORS_OF.json },
    operators: OPERATORS.map((name) => {
      const { aliases, complement_of, positive } = operatorOf(name);
      return { name, aliases, value: positive.value, complement_of };
    }),
    events: Object.entries<EventDefinition>(EVENTS).map(([name, definition]) => ({
      name,
      group: definition.group,
      harm: HARM_EVENTS[name as EventName] ?? null,
      properties: Object.entries(definition.properties).map(([property, schema]) => ({
        ...propertyOf(property, name, schema),
        required: definition.required.includes(property),
      })),
    })),
    custom_events: { prefix: CUSTOM_PREFIX, max_length: MAX_EVENT_NAME_LENGTH },
    aggregates: AGGREGATES.map((name) => {
      const { needs_property, keeps_unit, kind } = aggregateEntry(name);
      return { name, needs_property, keeps_unit, kind, operators: OPERATORS_OF[kind] };
    }),
    harm_signs: Object.entries(HARM_SIGNS).map(([code, message]) => ({ code, message })),
    channels: CHANNELS,
    message_statuses: MESSAGE_STATUSES,
    limits: {
      depth: MAX_DEPTH,
      conditions: MAX_CONDITIONS,
      bytes: MAX_BYTES,
      list_values: MAX_LIST,
      where_clauses: MAX_WHERE,
      min_steps: MIN_STEPS,
      max_steps: MAX_STEPS,
    },
  };
}

function comparable(
  name: string,
  kind: ValueKind,
  unit: Comparable['unit'] | undefined,
  values: readonly string[] | undefined,
): Comparable {
  return { name, kind, unit: unit ?? null, values: values ?? null, operators: OPERATORS_OF[kind] };
}

/** A property of an event by its JSON Schema: a list of values is text, a text with a format of times is a time. */
function propertyOf(name: string, event: string, schema: PropertySchema): Comparable {
  if (isMoneyProperty(name, event)) return comparable(name, 'number', MONEY_UNIT, undefined);
  if (Array.isArray(schema['enum'])) return comparable(name, 'text', undefined, schema['enum'] as string[]);
  if (['date-time', 'date-or-time'].includes(String(schema['format'])))
    return comparable(name, 'date', undefined, undefined);
  const { type } = schema;
  const kind = type === 'integer' || type === 'number' ? 'number' : type === 'string' ? 'text' : 'json';
  return comparable(name, kind, undefined, undefined);
}
