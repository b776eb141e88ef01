import { it } from 'vitest';
import { ApiError } from '../../src/errors.ts';
import { CUSTOM_PREFIX, EVENTS } from '../../src/ingest/events/catalogue.ts';
import { CHANNELS } from '../../src/tenants/config/channels.ts';
import { MESSAGE_STATUSES } from '../../src/analytics/message-status.ts';
import {
  AGGREGATES,
  CONDITION_SCHEMAS,
  type Aggregate,
  type ConditionType,
} from '../../src/segments/language/conditions.ts';
import { readDefinition } from '../../src/segments/language/definition.ts';
import { ATTRIBUTE_PREFIX, TRAIT_FIELDS, type TraitField } from '../../src/segments/language/fields.ts';
import {
  OPERATOR_ALIASES,
  OPERATORS,
  OPERATORS_OF,
  type Operator,
} from '../../src/segments/language/operators.ts';
import { compileMembers } from '../../src/segments/sql/compile.ts';
import { code, expectSections, table } from '../doc-sections.ts';
import { DEPOSIT_CAMPAIGNS } from './deposit-campaigns.ts';
import { aggregate, and, count, trait, where, type Example } from './example-shapes.ts';
import { CAMPAIGN_EXAMPLES, LANGUAGE_EXAMPLES } from './examples.ts';
import { LIMITS } from './limits.ts';
import { PLAY_CAMPAIGNS } from './play-campaigns.ts';

// The pages about segments repeat facts of the code; this test compares them. UPDATE_GOLDEN=1 writes their generated sections.

const json = (value: unknown) => `\`\`\`json\n${JSON.stringify(value)}\n\`\`\``;

/** The example of each type of condition. */
const EXAMPLES: Readonly<Record<ConditionType, string>> = {
  trait: 'text: not equal, which holds where there is none',
  event: 'count: only events over an amount, in the base currency',
  sequence: 'sequence: one thing later than another, inside a window',
  segment: 'in another segment',
  message: 'message: opened, of one campaign, in the last days',
  random: 'random: a stable share of all players',
  list: 'on a list, which stays as it was written',
};

function exampleOf(type: ConditionType): Example {
  const found = LANGUAGE_EXAMPLES.find(({ title }) => title === EXAMPLES[type]);
  if (found === undefined) throw new Error(`no such example: ${EXAMPLES[type]}`);
  return found;
}

/** The keys of a condition, and an example. */
function condition(type: ConditionType): string {
  const { shape } = CONDITION_SCHEMAS[type];
  const meanings: Record<string, string> = MEANINGS[type];
  const rows = Object.entries(shape).map(([key, schema]) => {
    const meaning = meanings[key];
    if (meaning === undefined) throw new Error(`${type}: nothing is said of ${key}`);
    return [code(key), schema.isOptional() ? '' : 'yes', meaning];
  });
  const { title, definition } = exampleOf(type);
  return [table(['Key', 'Required', 'Meaning'], rows), `Example – ${title}:`, json(definition)].join('\n\n');
}

/** The SQL of the example of a condition. */
function sql(type: ConditionType): string {
  const { title, definition } = exampleOf(type);
  return `Example – ${title}:\n\n\`\`\`sql\n${compileMembers(readDefinition(definition)).sql}\n\`\`\``;
}

/** A section for each example. */
const listed = (examples: readonly Example[]) =>
  examples.map(({ title, definition }) => `## ${title}\n\n${json(definition)}`).join('\n\n');

const COMPARED = {
  op: 'The operator',
  value: 'The value to compare with; absent with `exists` and `not_exists`',
};
const WHERE = 'A filter: a list of `{"property", "op", "value"}`. An event counts only if all of them hold';
const MESSAGE_CHANNELS = CHANNELS.map(code).join(', ');
const MEANINGS: { [T in ConditionType]: Record<keyof (typeof CONDITION_SCHEMAS)[T]['shape'], string> } = {
  trait: { type: '`trait`', field: 'A field of the player, see the table below', ...COMPARED },
  event: {
    type: '`event`',
    event: `The name of an event, see the table below; custom names begin with \`${CUSTOM_PREFIX}\``,
    aggregate: 'What is computed over the events, see the table below',
    property: 'The property to compute it over, for the aggregates that need one',
    ...COMPARED,
    window: 'The time of the events: `{"last": span}`, `{"from": time, "to": time}`, or null for all time',
    where: WHERE,
  },
  sequence: {
    type: '`sequence`',
    steps:
      'The events in their order: a list of `{"event", "where", "within"}`. `within`: at most this span after the previous step. `where`: as in a condition on events',
    window: 'As in a condition on events; all steps must be in it',
  },
  segment: {
    type: '`segment`',
    segment_id: 'The id of a segment of the same project',
    op: '`in` or `not_in`',
  },
  message: {
    type: '`message`',
    channel: MESSAGE_CHANNELS,
    status: `The status that the message reached: ${MESSAGE_STATUSES.map(code).join(', ')}. A clicked message also counts as opened, and so on`,
    campaign_id: 'Only messages of this campaign',
    window:
      'When the message reached the status, as in a condition on events. A message that was never sent has the time of that decision',
  },
  random: {
    type: '`random`',
    percent: 'The share in percent, up to 4 decimals',
    salt: 'The name of the draw',
  },
  list: {
    type: '`list`',
    list_id: 'The id of a frozen segment of the same project',
  },
};

const VALUES: Record<Operator, string> = {
  eq: 'a value',
  neq: 'a value',
  gt: 'a number',
  gte: 'a number',
  lt: 'a number',
  lte: 'a number',
  in: 'a list of values',
  nin: 'a list of values',
  between: '`[low, high]`, numbers or times',
  contains: 'a string; in a list, an element',
  starts_with: 'a string',
  exists: '',
  not_exists: '',
  before: 'a time',
  after: 'a time',
  within_last: 'a span',
  not_within_last: 'a span',
};

function operators(): string {
  const rows = OPERATORS.map((op) => {
    const alias = Object.keys(OPERATOR_ALIASES).find((name) => OPERATOR_ALIASES[name] === op);
    const suits = (kind: keyof typeof OPERATORS_OF) => (OPERATORS_OF[kind].includes(op) ? 'yes' : '');
    const name = alias === undefined ? code(op) : `${code(op)}, ${code(alias)}`;
    return [name, VALUES[op], suits('text'), suits('number'), suits('date'), suits('json')];
  });
  return table(['Operator', 'Value', 'String', 'Number, money', 'Date', 'Custom attribute, property'], rows);
}

function fields(): string {
  const rows = Object.entries<TraitField>(TRAIT_FIELDS).map(([name, { kind, nullable, values = [] }]) => [
    code(name),
    kind === 'text' ? 'string' : kind,
    nullable ? 'yes' : '',
    values.map(code).join(', '),
  ]);
  return table(
    ['Field', 'Type', 'May be missing', 'Values'],
    [...rows, [code(`${ATTRIBUTE_PREFIX}<key>`), 'any JSON value', 'yes', '']],
  );
}

const OF_NOTHING: Record<Aggregate, string> = {
  count: '0',
  sum: '0',
  avg: 'missing',
  min: 'missing',
  max: 'missing',
  distinct: '0',
  first_seen: 'missing',
  last_seen: 'missing',
};
const TAKES: Record<Aggregate, string> = {
  count: 'The number of events',
  sum: 'The total, exact',
  avg: 'The mean, exact',
  min: 'The smallest value',
  max: 'The largest value',
  distinct: 'The number of different values',
  first_seen: 'The time of the first event',
  last_seen: 'The time of the last event',
};

/** The comparisons of each aggregate, determined by the language's own parser. */
function aggregates(): string {
  const takes = (name: Aggregate, property: string | undefined, op: string, value: unknown) =>
    !refused(
      and(aggregate([name, 'bet_placed', ...(property === undefined ? [] : [property])] as never, op, value)),
    );
  const rows = AGGREGATES.map((name) => {
    const properties = [undefined, 'amount'].filter(
      (property) => takes(name, property, 'gt', 1) || takes(name, property, 'within_last', { days: 1 }),
    );
    const compared = properties.some((property) => takes(name, property, 'gt', 1)) ? 'number' : 'date';
    return [code(name), TAKES[name], properties.includes('amount') ? 'yes' : '', compared, OF_NOTHING[name]];
  });
  return table(['Aggregate', 'Result', 'Needs `property`', 'Compared as', 'Without events'], rows);
}

function refused(definition: unknown): ApiError | undefined {
  try {
    readDefinition(definition);
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

function events(): string {
  const groups = new Map<string, string[]>();
  for (const [name, { group }] of Object.entries(EVENTS)) {
    groups.set(group, [...(groups.get(group) ?? []), code(name)]);
  }
  const rows = [...groups].map(([group, names]) => [group, names.join(', ')]);
  return table(['Group', 'Events'], [...rows, ['Custom', code(`${CUSTOM_PREFIX}<name>`)]]);
}

function refusal(): string {
  const definition = and(
    trait('balance', 'gt', 500),
    trait('current_tier_code', 'gte', 'gold'),
    count('bet_placed', 'gte', 3, { window: { last: { days: 0 } }, where: [where('amount', 'gt', 10_00)] }),
  );
  const error = refused(definition);
  if (error === undefined) throw new Error('the definition is sound');
  const { code, message, details } = error;
  return [json(definition), 'is refused with:', json({ error: { code, message, details } })].join('\n\n');
}

type Sections = Readonly<Record<string, () => string>>;

/** Sections that are made for each type of condition. */
const forTypes = (section: (type: ConditionType) => string): Sections =>
  Object.fromEntries(
    Object.keys(EXAMPLES).map((type) => [type, () => section(type as ConditionType)] as const),
  );

const PAGES: Readonly<Record<string, Sections>> = {
  'segments.md': { first: () => json(CAMPAIGN_EXAMPLES[0]?.definition), refusal },
  'segment-reference.md': {
    ...forTypes(condition),
    operators,
    fields,
    aggregates,
    events,
    limits: () =>
      table(
        ['What', 'At least', 'At most'],
        LIMITS.map(({ what, least, most }) => [what, least?.toString() ?? '', most.toLocaleString('en')]),
      ),
  },
  'segment-sql.md': forTypes(sql),
  'segment-examples.md': { deposits: () => listed(DEPOSIT_CAMPAIGNS) },
  'segment-examples-play.md': { play: () => listed(PLAY_CAMPAIGNS) },
};

it.each(Object.entries(PAGES))('docs/%s agrees with the code', (page, sections) =>
  expectSections(`docs/${page}`, sections),
);
