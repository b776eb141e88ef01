import {
  CUSTOM_PREFIX,
  EVENTS,
  ID_SCHEMA,
  MAX_EVENT_NAME_LENGTH,
  MAX_ID_LENGTH,
  propertiesSchema,
  REFERENCES,
  WHOLES,
  type EventDefinition,
} from './catalogue.ts';
import { readsDedupeId } from './dedupe-id.ts';

type JsonSchema = Record<string, unknown>;

const text: JsonSchema = { type: 'string', minLength: 1, maxLength: MAX_ID_LENGTH };

/** The top-level fields other than `event` and `properties`. */
const COMMON = {
  anonymous_id: { ...text, description: 'Of the caller; this or player_id is required' },
  player_id: { type: 'string', format: 'uuid', description: 'As identify returned it' },
  external_id: { ...text, description: "For the caller's own reference" },
  timestamp: {
    type: 'string',
    format: 'date-time',
    description: 'When it happened: from 1900 to 24 hours ahead of now; default: when it was received',
  },
} satisfies Record<string, JsonSchema>;

const EXAMPLE = {
  event: 'deposit_confirmed',
  anonymous_id: 'visitor-7',
  timestamp: '2026-01-31T12:00:00.000Z',
  properties: { amount: 5_000, currency: 'EUR', transaction_id: 'deposit-42', payment_method: 'card' },
};

/**
 * JSON Schema of one event in a request (spec part 6), derived from the catalogue. It has one alternative per shape of
 * `properties`.
 */
export function eventSchema(): JsonSchema {
  const shapes = new Map<string, { schema: JsonSchema; definition: EventDefinition; names: string[] }>();
  for (const [name, definition] of Object.entries<EventDefinition>(EVENTS)) {
    const schema = documentedSchema(name, definition);
    const key = JSON.stringify(schema);
    const shape = shapes.get(key) ?? { schema, definition, names: [] };
    shape.names.push(name);
    shapes.set(key, shape);
  }
  const canonical = [...shapes.values()].map(({ schema, definition, names }) =>
    alternative({ enum: names }, schema, definition.required.length > 0),
  );
  const custom = { type: 'string', pattern: `^${CUSTOM_PREFIX}.`, maxLength: MAX_EVENT_NAME_LENGTH };
  return {
    description: 'One event (spec part 6); money is in the smallest unit, `currency` is of the catalogue',
    examples: [EXAMPLE],
    type: 'object',
    required: ['event'],
    properties: { event: { type: 'string' }, ...COMMON, properties: { type: 'object' } },
    additionalProperties: false,
    allOf: [
      { anyOf: [{ required: ['anonymous_id'] }, { required: ['player_id'] }] },
      { anyOf: [...canonical, alternative(custom, { type: 'object' }, false)] },
    ],
  };
}

const DEDUPE_ID: JsonSchema = {
  ...ID_SCHEMA,
  description:
    'Names an event that has no id of its own: for 90 days, sent again with it, the event counts once',
};

/** The schema of an event's properties with what intake checks by code, as far as a schema can say it. */
function documentedSchema(name: string, definition: EventDefinition): JsonSchema {
  const { dedupe_id, ...more } = dedupeSchema(name, definition);
  const { refused, ...needed } = partsSchema(definition);
  const properties = { ...definition.properties, ...refused, ...(dedupe_id && { dedupe_id }) };
  return { ...propertiesSchema(definition), properties, ...needed, ...more };
}

interface PartsSchema {
  /** The schemas of properties that the event must not have. */
  refused?: JsonSchema;
  dependentRequired?: Record<string, string[]>;
}

/** Bonus parts have their wholes. */
function partsSchema({ properties, required }: EventDefinition): PartsSchema {
  const parts = Object.entries(WHOLES);
  const known = parts.filter(([part]) => Object.hasOwn(properties, part));
  if (known.length === 0) return {};
  const needed = known.filter(([, whole]) => !required.includes(whole));
  return {
    refused: Object.fromEntries(parts.filter((part) => !known.includes(part)).map(([part]) => [part, false])),
    ...(needed.length > 0 && {
      dependentRequired: Object.fromEntries(needed.map(([part, whole]) => [part, [whole]])),
    }),
  };
}

interface DedupeSchema {
  dedupe_id?: JsonSchema;
  anyOf?: JsonSchema[];
}

/** The property itself where it is always read, or a rule where only an event without a reference reads it. */
function dedupeSchema(name: string, { properties, required }: EventDefinition): DedupeSchema {
  const reference = REFERENCES.find((one) => Object.hasOwn(properties, one));
  if (!readsDedupeId(name, {}) || (reference !== undefined && required.includes(reference))) return {};
  if (reference === undefined) return { dedupe_id: DEDUPE_ID };
  return { anyOf: [{ required: [reference] }, { properties: { dedupe_id: DEDUPE_ID } }] };
}

function alternative(event: JsonSchema, properties: JsonSchema, needsProperties: boolean): JsonSchema {
  return {
    ...(needsProperties ? { required: ['properties'] } : {}),
    properties: { event, properties },
  };
}
