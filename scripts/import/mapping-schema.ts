import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { MAX_EVENT_NAME_LENGTH } from '../../src/ingest/events/catalogue.ts';
import { TimeZone } from '../../src/platform/time-zone.ts';
import { ImportError } from './refusal.ts';

/** Events that one line may become. */
const MAX_EVENTS = 10;
const MAX_SCALE = 18;

const column = z.string().min(1).max(256);
const text = z.string().min(1).max(256);
const scale = z.int().min(0).max(MAX_SCALE);

const options = {
  map: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])).optional(),
  type: z.enum(['text', 'integer', 'number', 'boolean']).optional(),
  prefix: z.string().max(100).optional(),
};

const ofColumn = z.strictObject({ column, ...options });
const ofColumns = z.strictObject({
  columns: z.array(column).min(2).max(8),
  separator: z.string().max(8).default(':'),
  prefix: options.prefix,
});
const money = z.strictObject({
  money: column,
  scale: z.union([
    scale,
    z.strictObject({ column, of: z.record(z.string(), scale), otherwise: scale.optional() }),
  ]),
  decimal: z.enum(['.', ',']).default('.'),
  group: z.string().length(1).optional(),
  sign: z.enum(['refuse', 'drop', 'negate']).default('refuse'),
});
/** Formats that a time zone is not needed for. */
const WITHOUT_ZONE = new Set(['iso', 'unix_s', 'unix_ms']);
const time = z
  .strictObject({
    time: column,
    format: text.default('iso'),
    zone: z
      .string()
      .refine((name) => TimeZone.named(name) !== undefined, 'is not a time zone such as Europe/Malta')
      .optional(),
  })
  .refine(({ format, zone }) => zone !== undefined || WITHOUT_ZONE.has(format), {
    message: 'needs a "zone" for this format',
  });
const constant = z.strictObject({ value: z.union([z.string(), z.number(), z.boolean()]) });
const ofLine = z.strictObject({ line: z.literal(true), prefix: options.prefix });

/** Where a value comes from; a text alone is the name of a column. */
const value = z.union([column, ofColumn, ofColumns, money, time, constant, ofLine], {
  error: ({ input }) => problemOfValue(input),
});
export type ValueMapping = z.infer<typeof value>;
export type MoneyMapping = z.infer<typeof money>;
export type TimeMapping = z.infer<typeof time>;

const KINDS = { column: ofColumn, columns: ofColumns, money, time, value: constant, line: ofLine };

/** A message about the one kind that the object has the field of, since a union says only that nothing fits. */
function problemOfValue(input: unknown): string {
  const otherwise = `must be the name of a column, or an object with one of: ${Object.keys(KINDS).join(', ')}`;
  if (typeof input !== 'object' || input === null) return otherwise;
  const kind = Object.entries(KINDS).find(([name]) => Object.hasOwn(input, name));
  const issues = kind?.[1].safeParse(input).error?.issues ?? [];
  return issues.length === 0
    ? otherwise
    : issues.map(({ path, message }) => `${path.join('.')} ${message}`.trim()).join('; ');
}

const condition = z.record(column, z.union([z.string(), z.array(z.string()).min(1)]));
export type ConditionMapping = z.infer<typeof condition>;

const event = z.strictObject({
  when: condition.optional(),
  unless: condition.optional(),
  event: z.union([z.string().min(1).max(MAX_EVENT_NAME_LENGTH), ofColumn], {
    error: 'must be the name of an event, or {"column": …, "map": {…}}',
  }),
  anonymous_id: value.optional(),
  player_id: value.optional(),
  external_id: value.optional(),
  timestamp: time.optional(),
  properties: z.record(z.string().min(1), value).default({}),
});
export type EventMapping = z.infer<typeof event>;

const mapping = z
  .strictObject({
    format: z.enum(['csv', 'ndjson']).optional(),
    csv: z
      .strictObject({
        delimiter: z
          .union([z.string().length(1), z.literal('spaces')], { error: 'must be a character, or "spaces"' })
          .default(','),
        quote: z.string().length(1).nullable().default('"'),
        columns: z.array(z.string()).min(1).max(1_000).optional(),
      })
      .optional(),
    anonymous_id: value.optional(),
    player_id: value.optional(),
    external_id: value.optional(),
    timestamp: time.optional(),
    events: z.array(event).min(1).max(MAX_EVENTS),
  })
  .superRefine((whole, issues) => {
    for (const [i, one] of whole.events.entries()) {
      const path = ['events', i];
      if ((one.timestamp ?? whole.timestamp) === undefined)
        issues.addIssue({ code: 'custom', path, message: 'has no "timestamp", here or for all events' });
      const ids = [one.anonymous_id, one.player_id, whole.anonymous_id, whole.player_id];
      if (ids.every((id) => id === undefined))
        issues.addIssue({ code: 'custom', path, message: 'has neither "anonymous_id" nor "player_id"' });
    }
  });
/** The mapping of a file, as its JSON says it (docs/import.md). */
export type Mapping = z.infer<typeof mapping>;

/** Reads a mapping; throws ImportError with a line for each field that is wrong. */
export function parseMapping(json: string): Mapping {
  let read: unknown;
  try {
    read = JSON.parse(json);
  } catch (cause) {
    throw new ImportError(`the mapping is not JSON: ${(cause as Error).message}`);
  }
  const parsed = mapping.safeParse(read);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(
    ({ path, message }) => `  ${path.join('.') || 'mapping'}: ${message}`,
  );
  throw new ImportError(`the mapping cannot be used:\n${issues.join('\n')}`);
}

/** The text of the file of a mapping. Rejects with ImportError when it cannot be read. */
export async function readMappingFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new ImportError(`the mapping ${path} cannot be read: ${(cause as Error).message}`);
  }
}
