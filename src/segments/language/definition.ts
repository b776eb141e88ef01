import type { Issue } from '../../errors.ts';
import { ApiError } from '../../errors.ts';
import { EVENTS } from '../../ingest/events/catalogue.ts';
import { EVENT_NAME_RULE } from '../../ingest/event-name.ts';
import { isEventName } from '../../ingest/events/validate.ts';
import { issuesOf } from '../../http/error-handler.ts';
import { isObject } from '../../platform/json-object.ts';
import { readComparison } from './comparison.ts';
import {
  aggregateEntry,
  CONDITION_SCHEMAS,
  type Condition,
  type ConditionType,
  type DefinitionNode,
  type Group,
  type WhereClause,
} from './conditions.ts';
import { ATTRIBUTE_PREFIX, isMoneyProperty, isTraitField, TRAIT_FIELDS, traitField } from './fields.ts';
import type { Comparison } from './forms.ts';
import type { Operand } from './operands.ts';
import { nearestOf, quoted } from '../../http/quoted.ts';
import { spanMs, windowOf, type Window } from './span.ts';

/** Depth of nested groups; the root is at depth 1. */
export const MAX_DEPTH = 5;
/** Conditions in the whole tree; also the members of one group. */
export const MAX_CONDITIONS = 50;
/** Bytes of the definition as JSON, without the lists of fields that take more values than others. */
export const MAX_BYTES = 64 * 1024;
/** Bytes of the definition as JSON with these lists: they and the rest of a request fit into its body. */
const MAX_BYTES_WITH_LISTS = 768 * 1024;
const MAX_ISSUES = 20;
const GROUP_KEYS = ['operator', 'conditions'];
const MAX_KEY = 200;

/**
 * The state of reading a definition: the problems and the number of conditions so far. Reading goes on after a problem,
 * to report several at once.
 */
interface Reading {
  /** What the paths of issues begin with. */
  root: readonly string[];
  issues: Issue[];
  conditions: number;
}

/**
 * Checks a definition as a caller wrote it (spec part 2, "Segment"), and parses it. Throws SEGMENT_DEFINITION_INVALID,
 * whose issues name the path of each wrong node and what would be allowed there. Equal definitions give equal trees.
 */
export function readDefinition(written: unknown): Group {
  const reading: Reading = { root: ['definition'], issues: [], conditions: 0 };
  const root = readBounded(written, reading, () => readGroup(written, [], 1, reading));
  if (root === undefined || reading.issues.length > 0) throw invalidDefinition(reading.issues);
  return root;
}

/**
 * Reads one condition or group that is a part of something else, under the same rules and limits. Returns it, or its
 * issues, whose paths begin at the condition.
 */
export function readPartialDefinition(written: unknown): DefinitionNode | { issues: readonly Issue[] } {
  const reading: Reading = { root: [], issues: [], conditions: 0 };
  const node = readBounded(written, reading, () => readNode(written, [], 1, reading));
  return node === undefined || reading.issues.length > 0 ? { issues: reading.issues } : node;
}

/** What `read` returns, unless the definition is too large to be read, with the check of the number of conditions. */
function readBounded<Node>(
  written: unknown,
  reading: Reading,
  read: () => Node | undefined,
): Node | undefined {
  const too_large = sizeProblem(written);
  if (too_large !== undefined) return report(reading, [], too_large);
  const node = read();
  if (reading.conditions > MAX_CONDITIONS) {
    report(reading, [], `has ${reading.conditions} conditions: at most ${MAX_CONDITIONS} are allowed`);
  }
  return node;
}

/** 422 SEGMENT_DEFINITION_INVALID with `details.issues`; paths begin at the definition. */
export function invalidDefinition(issues: Issue[]): ApiError {
  const first = issues[0];
  const message = first === undefined ? 'unusable definition' : `${first.path}: ${first.message}`;
  return new ApiError('SEGMENT_DEFINITION_INVALID', message, { details: { issues } });
}

/** Why the definition is too large to be read; undefined when it is not. */
function sizeProblem(written: unknown): string | undefined {
  const beyond = (most: number, what: string) =>
    `is more than ${most} bytes of JSON${what}: at most ${most} are allowed`;
  try {
    const bytes = Buffer.byteLength(JSON.stringify(written) ?? '');
    if (bytes <= MAX_BYTES) return undefined;
    const rest = Buffer.byteLength(JSON.stringify(written, withoutLongLists));
    if (rest > MAX_BYTES) return beyond(MAX_BYTES, rest < bytes ? ' without its long lists' : '');
    return bytes > MAX_BYTES_WITH_LISTS ? beyond(MAX_BYTES_WITH_LISTS, '') : undefined;
  } catch (error) {
    // The value is nested deeper than the stack of JSON.stringify; it is refused as too large.
    if (error instanceof RangeError) return beyond(MAX_BYTES, '');
    throw error;
  }
}

/** For JSON.stringify: omits the values that a trait is compared with where its field takes long lists. */
function withoutLongLists(this: Record<string, unknown>, key: string, value: unknown): unknown {
  if (key !== 'value' || !Array.isArray(value) || this['type'] !== 'trait') return value;
  const { field } = this;
  const takes_many =
    typeof field === 'string' && isTraitField(field) && traitField(field).max_values !== undefined;
  return takes_many ? undefined : value;
}

type Path = readonly (string | number)[];

/** What the keys of conditions hold, for messages about a wrong one. */
const NOUNS: Readonly<Record<string, string>> = {
  aggregate: 'aggregate',
  event: 'event',
  field: 'field',
  op: 'operator',
  operator: 'operator of a group',
  type: 'type of condition',
};

/** Reports what is wrong with a value that was sent, and quotes it; undefined: nothing was sent. */
function reportSent(reading: Reading, path: Path, sent: unknown, message: string): undefined {
  if (sent === undefined) return report(reading, path, message);
  const noun = NOUNS[String(path.at(-1))];
  const wrong = noun === undefined ? 'is not allowed' : `is not a valid ${noun}`;
  return report(reading, path, `${quoted(sent)} ${wrong}; it ${message}`);
}

function report(reading: Reading, path: Path, message: string): undefined {
  if (reading.issues.length < MAX_ISSUES) {
    reading.issues.push({ path: [...reading.root, ...path].join('.'), message });
  }
  return undefined;
}

function readNode(written: unknown, path: Path, depth: number, reading: Reading): DefinitionNode | undefined {
  if (!isObject(written)) {
    return reportSent(
      reading,
      path,
      written,
      'must be a condition {"type": …} or a group {"operator": …, "conditions": […]}',
    );
  }
  return 'type' in written ? readCondition(written, path, reading) : readGroup(written, path, depth, reading);
}

function readGroup(written: unknown, path: Path, depth: number, reading: Reading): Group | undefined {
  if (depth > MAX_DEPTH) return report(reading, path, `groups may be nested ${MAX_DEPTH} deep at most`);
  if (!isObject(written)) {
    return reportSent(reading, path, written, 'must be a group {"operator": "AND", "conditions": […]}');
  }
  for (const key of Object.keys(written).filter((key) => !GROUP_KEYS.includes(key))) {
    report(
      reading,
      [...path, key.slice(0, MAX_KEY)],
      `is not a known key: a group has ${GROUP_KEYS.join(', ')}`,
    );
  }
  const { operator, conditions } = written;
  const is_operator = operator === 'AND' || operator === 'OR' || operator === 'NOT';
  if (!is_operator) reportSent(reading, [...path, 'operator'], operator, 'must be AND, OR or NOT');
  if (!Array.isArray(conditions) || conditions.length === 0) {
    return report(reading, [...path, 'conditions'], 'must be a list of at least one condition or group');
  }
  if (operator === 'NOT' && conditions.length > 1) {
    report(reading, [...path, 'conditions'], 'NOT takes one condition or group: put several into a group');
  }
  if (conditions.length > MAX_CONDITIONS) {
    const message = `has ${conditions.length} members: at most ${MAX_CONDITIONS} are allowed`;
    return report(reading, [...path, 'conditions'], message);
  }
  const children = (conditions as unknown[]).map((child, i) =>
    readNode(child, [...path, 'conditions', i], depth + 1, reading),
  );
  if (!is_operator) return undefined;
  return { operator, children: children.filter((child) => child !== undefined) };
}

function readCondition(
  written: Record<string, unknown>,
  path: Path,
  reading: Reading,
): Condition | undefined {
  reading.conditions++;
  const { type } = written;
  if (typeof type !== 'string' || !Object.hasOwn(CONDITION_SCHEMAS, type)) {
    const types = Object.keys(CONDITION_SCHEMAS);
    const message = `must be one of ${types.join(', ')}${nearestOf(type, types)}`;
    return reportSent(reading, [...path, 'type'], type, message);
  }
  const parsed = CONDITION_SCHEMAS[type as ConditionType].safeParse(written);
  if (!parsed.success) {
    for (const issue of issuesOf(parsed.error)) reportShape(reading, path, written, issue);
    return undefined;
  }
  const { data } = parsed;
  switch (data.type) {
    case 'trait':
      return readTrait(data, path, reading);
    case 'event':
      return readEvent(data, path, reading);
    case 'sequence':
      return readSequence(data, path, reading);
    case 'segment':
      return { type: 'segment', segment_id: data.segment_id, negated: data.op === 'not_in' };
    case 'message': {
      const { type, channel, status, campaign_id } = data;
      return { type, channel, status, campaign_id, window: windowOf(data.window) };
    }
    case 'random':
      return { type: 'random', share: Math.round(data.percent * 10_000), salt: data.salt };
    case 'list':
      return { type: 'list', list_id: data.list_id };
  }
}

/** Reports what the schema of a condition says about a key of it, and quotes its value. */
function reportShape(
  reading: Reading,
  path: Path,
  written: Record<string, unknown>,
  issue: Pick<Issue, 'path' | 'message'>,
): undefined {
  const keys = issue.path.split('.');
  const at = [...path, ...keys];
  // Messages about the key itself, which the path names.
  if (issue.message.startsWith('is ')) return report(reading, at, issue.message);
  const sent = keys.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, key)
        ? (value as Record<string, unknown>)[key]
        : undefined,
    written,
  );
  if (issue.message.startsWith('must ')) return reportSent(reading, at, sent, issue.message);
  return report(reading, at, sent === undefined ? issue.message : `${quoted(sent)}: ${issue.message}`);
}

type Written<T extends ConditionType> = ReturnType<(typeof CONDITION_SCHEMAS)[T]['parse']>;

function readTrait(written: Written<'trait'>, path: Path, reading: Reading): Condition | undefined {
  const { field } = written;
  const operand = traitOperand(field);
  if (operand === undefined) {
    const fields = [...Object.keys(TRAIT_FIELDS), `${ATTRIBUTE_PREFIX}<key>`].join(', ');
    const near = nearestOf(field, Object.keys(TRAIT_FIELDS));
    return reportSent(reading, [...path, 'field'], field, `must be one of ${fields}${near}`);
  }
  const comparison = compare(operand, written, path, reading);
  return comparison && { type: 'trait', field, comparison };
}

function traitOperand(field: string): Operand | undefined {
  if (isTraitField(field)) return TRAIT_FIELDS[field];
  const key = field.startsWith(ATTRIBUTE_PREFIX) ? field.slice(ATTRIBUTE_PREFIX.length) : '';
  return key === '' ? undefined : { kind: 'json' };
}

function readEvent(written: Written<'event'>, path: Path, reading: Reading): Condition | undefined {
  const { event, aggregate, property } = written;
  const events = readEventSet(written, windowOf(written.window), path, reading);
  const { kind, needs_property } = aggregateEntry(aggregate);
  if (needs_property !== (property !== undefined)) {
    const message = needs_property
      ? `is required: ${aggregate} is taken over a property`
      : `must be omitted: ${aggregate} is taken over the events`;
    report(reading, [...path, 'property'], message);
  }
  const comparison = compare({ kind }, written, path, reading);
  return events && comparison && { type: 'event', ...events, event, aggregate, property, comparison };
}

function readSequence(written: Written<'sequence'>, path: Path, reading: Reading): Condition | undefined {
  const window = windowOf(written.window);
  const steps = written.steps.map((step, i) => {
    const at = [...path, 'steps', i];
    const events = readEventSet(step, window, at, reading);
    if (i === 0 && step.within !== undefined) {
      return report(reading, [...at, 'within'], 'must be omitted: the first step follows none');
    }
    return events && { ...events, within_ms: step.within && spanMs(step.within) };
  });
  const sound = steps.filter((step) => step !== undefined);
  return sound.length === steps.length ? { type: 'sequence', steps: sound } : undefined;
}

function readEventSet(
  { event, where = [] }: { event: string; where?: Written<'event'>['where'] },
  window: Window,
  path: Path,
  reading: Reading,
): { event: string; window: Window; where: WhereClause[] } | undefined {
  if (!isEventName(event)) {
    const near = nearestOf(event, Object.keys(EVENTS));
    reportSent(reading, [...path, 'event'], event, EVENT_NAME_RULE + near);
  }
  const clauses = where.map(({ property, ...written }, i) => {
    const kind = isMoneyProperty(property, event) ? 'number' : 'json';
    const comparison = compare({ kind }, written, [...path, 'where', i], reading);
    return comparison && { property, comparison };
  });
  const sound = clauses.filter((clause) => clause !== undefined);
  return isEventName(event) && sound.length === clauses.length ? { event, window, where: sound } : undefined;
}

function compare(
  operand: Operand,
  written: { op: string; value?: unknown },
  path: Path,
  reading: Reading,
): Comparison | undefined {
  const read = readComparison(operand, written);
  return 'key' in read ? reportSent(reading, [...path, read.key], read.sent, read.message) : read;
}
