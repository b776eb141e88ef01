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
import { aggregate, and, count, trait, where } from './example-shapes.ts';
import { CAMPAIGN_EXAMPLES, LANGUAGE_EXAMPLES } from './examples.ts';
import { LIMITS } from './limits.ts';

// docs/segments.md repeats facts of the code; this test compares them. UPDATE_GOLDEN=1 writes its generated sections.

it('docs/segments.md agrees with the code', () => expectSections('docs/segments.md', SECTIONS));

const json = (value: unknown) => `\`\`\`json\n${JSON.stringify(value)}\n\`\`\``;
const sql = (definition: unknown) => `\`\`\`sql\n${compileMembers(readDefinition(definition)).sql}\n\`\`\``;

/** The keys of a condition, and an example with the SQL that it compiles to. */
function condition(type: ConditionType, example: string): string {
  const { shape } = CONDITION_SCHEMAS[type];
  const meanings: Record<string, string> = MEANINGS[type];
  const rows = Object.entries(shape).map(([key, schema]) => {
    const meaning = meanings[key];
    if (meaning === undefined) throw new Error(`${type}: nothing is said of ${key}`);
    return [code(key), schema.isOptional() ? '' : 'yes', meaning];
  });
  const found = LANGUAGE_EXAMPLES.find(({ title }) => title === example);
  if (found === undefined) throw new Error(`no such example: ${example}`);
  const keys = table(['Key', 'Needed', 'Meaning'], rows);
  const compiled =
    'It compiles to this; values are never part of the text, `p0` and the like stand for them:';
  return [keys, `Example – ${example}:`, json(found.definition), compiled, sql(found.definition)].join(
    '\n\n',
  );
}

const COMPARED = { op: 'How it is compared', value: 'With what; left out with `exists` and `not_exists`' };
const WHERE = 'Only events for which all of these hold: a list of `{"property", "op", "value"}`';
const MESSAGE_CHANNELS = CHANNELS.map(code).join(', ');
const MEANINGS: { [T in ConditionType]: Record<keyof (typeof CONDITION_SCHEMAS)[T]['shape'], string> } = {
  trait: { type: '`trait`', field: 'A field of the player, see below', ...COMPARED },
  event: {
    type: '`event`',
    event: `A name of the catalogue, or one that begins with \`${CUSTOM_PREFIX}\``,
    aggregate: 'What is taken over the events, see below',
    property: 'Over which property, for the aggregates that need one',
    ...COMPARED,
    window: 'When: `{"last": span}`, `{"from": time, "to": time}`, or null for always',
    where: WHERE,
  },
  sequence: {
    type: '`sequence`',
    steps: `A list of \`{"event", "where", "within"}\`: what happened, one after another. \`within\`: at most this span after the step before. \`where\`: as of events`,
    window: 'As of events; all steps lie in it',
  },
  segment: {
    type: '`segment`',
    segment_id: 'The id of a segment of the same project',
    op: '`in` or `not_in`',
  },
  message: {
    type: '`message`',
    channel: MESSAGE_CHANNELS,
    status: `How far it came: ${MESSAGE_STATUSES.map(code).join(', ')}; one that was clicked was opened, and so on`,
    campaign_id: 'Only messages of this campaign',
    window: 'When it came so far, as of events; what was never sent has the time when that was decided',
  },
  random: { type: '`random`', percent: 'How many of 100, up to 4 decimals', salt: 'Names the draw' },
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
  contains: 'a text; of a list, an element',
  starts_with: 'a text',
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
  return table(['Operator', 'Value', 'Text', 'Number, money', 'Date', 'Custom attribute, property'], rows);
}

function fields(): string {
  const rows = Object.entries<TraitField>(TRAIT_FIELDS).map(([name, { kind, nullable, values = [] }]) => [
    code(name),
    kind,
    nullable ? 'yes' : '',
    values.map(code).join(', '),
  ]);
  return table(
    ['Field', 'Holds', 'May be missing', 'Values'],
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
  count: 'How many events',
  sum: 'The total, exact',
  avg: 'The mean, exact',
  min: 'The least',
  max: 'The greatest',
  distinct: 'How many different values',
  first_seen: 'When the first was',
  last_seen: 'When the last was',
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
  return table(['Aggregate', 'Is', 'Needs `property`', 'Compared as', 'Of nothing'], rows);
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
  return table(['Group', 'Events'], [...rows, ["The operator's own", code(`${CUSTOM_PREFIX}<name>`)]]);
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

const SECTIONS: Record<string, () => string> = {
  first: () => json(CAMPAIGN_EXAMPLES[0]?.definition),
  operators,
  fields,
  aggregates,
  events,
  refusal,
  trait: () => condition('trait', 'text: not equal, which holds where there is none'),
  event: () => condition('event', 'count: only events over an amount, in the base currency'),
  sequence: () => condition('sequence', 'sequence: one thing later than another, inside a window'),
  segment: () => condition('segment', 'in another segment'),
  message: () => condition('message', 'message: opened, of one campaign, in the last days'),
  random: () => condition('random', 'random: a stable share of all players'),
  limits: () =>
    table(
      ['What', 'At least', 'At most'],
      LIMITS.map(({ what, least, most }) => [what, least?.toString() ?? '', most.toLocaleString('en')]),
    ),
  campaigns: () =>
    CAMPAIGN_EXAMPLES.map(
      ({ title, definition }) =>
        `<details>\n<summary>${title}</summary>\n\n${json(definition)}\n\n</details>`,
    ).join('\n\n'),
};
