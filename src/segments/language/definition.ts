import type { Issue } from '../../errors.ts';
import { ApiError } from '../../errors.ts';
import { CUSTOM_PREFIX } from '../../ingest/events/catalogue.ts';
import { isEventName } from '../../ingest/events/validate.ts';
import { issuesOf } from '../../http/error-handler.ts';
import { readComparison, type Operand } from './comparison.ts';
import {
  CONDITION_SCHEMAS,
  type Aggregate,
  type Condition,
  type ConditionType,
  type DefinitionNode,
  type Group,
  type WhereClause,
} from './conditions.ts';
import { ATTRIBUTE_PREFIX, isMoneyProperty, isTraitField, TRAIT_FIELDS } from './fields.ts';
import type { Comparison } from './operators.ts';
import { spanMs, windowOf, type Window } from './span.ts';

/** Depth of nested groups; the root is at depth 1. */
const MAX_DEPTH = 5;
/** Conditions in the whole tree; also the members of one group. */
const MAX_CONDITIONS = 50;
/** Bytes of the definition as JSON. */
const MAX_BYTES = 64 * 1024;
const MAX_ISSUES = 20;
const GROUP_KEYS = ['operator', 'conditions'];
const MAX_KEY = 200;
const NEEDS_PROPERTY: readonly Aggregate[] = ['sum', 'avg', 'min', 'max', 'distinct'];
const DATE_AGGREGATES: readonly Aggregate[] = ['first_seen', 'last_seen'];

/**
 * The state of reading a definition: the problems and the number of conditions so far. Reading goes on after a problem,
 * to report several at once.
 */
interface Reading {
  issues: Issue[];
  conditions: number;
}

/**
 * Checks a definition as a caller wrote it (spec part 2, "Segment"), and parses it. Throws SEGMENT_DEFINITION_INVALID,
 * whose issues name the path of each wrong node and what would be allowed there. Equal definitions give equal trees.
 */
export function readDefinition(written: unknown): Group {
  const reading: Reading = { issues: [], conditions: 0 };
  if (!isWithinBytes(written)) {
    report(reading, [], `is more than ${MAX_BYTES} bytes of JSON: at most ${MAX_BYTES} are allowed`);
    throw invalidDefinition(reading.issues);
  }
  const root = readGroup(written, [], 1, reading);
  if (reading.conditions > MAX_CONDITIONS) {
    report(reading, [], `has ${reading.conditions} conditions: at most ${MAX_CONDITIONS} are allowed`);
  }
  if (root === undefined || reading.issues.length > 0) throw invalidDefinition(reading.issues);
  return root;
}

/** 422 SEGMENT_DEFINITION_INVALID with `details.issues`; paths begin at the definition. */
export function invalidDefinition(issues: Issue[]): ApiError {
  const first = issues[0];
  const message = first === undefined ? 'unusable definition' : `${first.path}: ${first.message}`;
  return new ApiError('SEGMENT_DEFINITION_INVALID', message, { details: { issues } });
}

function isWithinBytes(written: unknown): boolean {
  try {
    return Buffer.byteLength(JSON.stringify(written) ?? '') <= MAX_BYTES;
  } catch (error) {
    // The value is nested deeper than the stack of JSON.stringify; it is refused as too large.
    if (error instanceof RangeError) return false;
    throw error;
  }
}

type Path = readonly (string | number)[];

function report(reading: Reading, path: Path, message: string): undefined {
  if (reading.issues.length < MAX_ISSUES) {
    reading.issues.push({ path: ['definition', ...path].join('.'), message });
  }
  return undefined;
}

function readNode(written: unknown, path: Path, depth: number, reading: Reading): DefinitionNode | undefined {
  if (!isObject(written)) {
    return report(
      reading,
      path,
      'must be a condition {"type": …} or a group {"operator": …, "conditions": […]}',
    );
  }
  return 'type' in written ? readCondition(written, path, reading) : readGroup(written, path, depth, reading);
}

function readGroup(written: unknown, path: Path, depth: number, reading: Reading): Group | undefined {
  if (depth > MAX_DEPTH) return report(reading, path, `groups may be nested ${MAX_DEPTH} deep at most`);
  if (!isObject(written)) {
    return report(reading, path, 'must be a group {"operator": "AND", "conditions": […]}');
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
  if (!is_operator) report(reading, [...path, 'operator'], 'must be AND, OR or NOT');
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
    const types = Object.keys(CONDITION_SCHEMAS).join(', ');
    return report(reading, [...path, 'type'], `must be one of ${types}`);
  }
  const parsed = CONDITION_SCHEMAS[type as ConditionType].safeParse(written);
  if (!parsed.success) {
    for (const issue of issuesOf(parsed.error)) report(reading, [...path, issue.path], issue.message);
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
  }
}

type Written<T extends ConditionType> = ReturnType<(typeof CONDITION_SCHEMAS)[T]['parse']>;

function readTrait(written: Written<'trait'>, path: Path, reading: Reading): Condition | undefined {
  const { field } = written;
  const operand = traitOperand(field);
  if (operand === undefined) {
    const fields = [...Object.keys(TRAIT_FIELDS), `${ATTRIBUTE_PREFIX}<key>`].join(', ');
    return report(reading, [...path, 'field'], `must be one of ${fields}`);
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
  const needs_property = NEEDS_PROPERTY.includes(aggregate);
  if (needs_property !== (property !== undefined)) {
    const message = needs_property
      ? `is required: ${aggregate} is taken over a property`
      : `must be left out: ${aggregate} is taken over the events`;
    report(reading, [...path, 'property'], message);
  }
  const kind = DATE_AGGREGATES.includes(aggregate) ? 'date' : 'number';
  const comparison = compare({ kind }, written, path, reading);
  return events && comparison && { type: 'event', ...events, event, aggregate, property, comparison };
}

function readSequence(written: Written<'sequence'>, path: Path, reading: Reading): Condition | undefined {
  const window = windowOf(written.window);
  const steps = written.steps.map((step, i) => {
    const at = [...path, 'steps', i];
    const events = readEventSet(step, window, at, reading);
    if (i === 0 && step.within !== undefined) {
      return report(reading, [...at, 'within'], 'must be left out: the first step follows none');
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
    const message = `must be a name of the event catalogue, or begin with ${CUSTOM_PREFIX}`;
    report(reading, [...path, 'event'], message);
  }
  const clauses = where.map(({ property, ...written }, i) => {
    const kind = isMoneyProperty(property) ? 'number' : 'json';
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
  return 'key' in read ? report(reading, [...path, read.key], read.message) : read;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
