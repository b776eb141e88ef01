import {
  CUSTOM_PREFIX,
  EVENTS,
  MAX_EVENT_NAME_LENGTH,
  MAX_ID_LENGTH,
  propertiesSchema,
  type EventDefinition,
} from './catalogue.ts';

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
  const shapes = new Map<string, { definition: EventDefinition; names: string[] }>();
  for (const [name, definition] of Object.entries<EventDefinition>(EVENTS)) {
    const key = JSON.stringify(propertiesSchema(definition));
    const shape = shapes.get(key) ?? { definition, names: [] };
    shape.names.push(name);
    shapes.set(key, shape);
  }
  const canonical = [...shapes.values()].map(({ definition, names }) =>
    alternative({ enum: names }, propertiesSchema(definition), definition.required.length > 0),
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

function alternative(event: JsonSchema, properties: JsonSchema, needsProperties: boolean): JsonSchema {
  return {
    ...(needsProperties ? { required: ['properties'] } : {}),
    properties: { event, properties },
  };
}
