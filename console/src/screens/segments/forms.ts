import { parseExactly } from '../../api/json.ts';
import { canShow, spanParts, UTC_TIME, type Operand } from './values.ts';
import { isGroup, isObject, isRaw, nodeOf, textOf, type Node } from './tree.ts';
import {
  aggregateWord,
  fieldWord,
  operatorOf,
  propertyWord,
  type Vocabulary,
  type Word,
  type Written,
} from './vocabulary.ts';

/** A left side with the digits of the base currency. */
export function operandOf({ kind, unit, values }: Word, scale: number): Operand {
  return { kind, unit, values, scale };
}

/** The keys of each type of condition that its form shows. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  trait: ['field', 'op', 'value'],
  event: ['event', 'aggregate', 'property', 'op', 'value', 'window', 'where'],
  sequence: ['steps', 'window'],
  segment: ['segment_id', 'op'],
  message: ['channel', 'status', 'campaign_id', 'window'],
  random: ['percent', 'salt'],
  list: ['list_id'],
};

/** Whether the segment is a frozen one: its definition asks for its own list. */
export function isFrozen({ id, definition }: { id: string; definition: unknown }): boolean {
  const conditions = isObject(definition) ? definition['conditions'] : undefined;
  const only: unknown = Array.isArray(conditions) ? conditions[0] : undefined;
  return isObject(only) && only['type'] === 'list' && only['list_id'] === id;
}

/** Whether the form of the condition shows all of it. Other conditions are edited as JSON. */
export function hasForm(written: Written, vocabulary: Vocabulary, scale: number): boolean {
  const { type, ...rest } = written;
  const keys = typeof type === 'string' ? KEYS[type] : undefined;
  if (keys === undefined || Object.keys(rest).some((key) => !keys.includes(key))) return false;
  const texts = (...names: string[]) =>
    names.every((name) => typeof rest[name] === 'string' && !rest[name].includes('\n'));
  switch (type) {
    case 'trait': {
      const word = fieldWord(vocabulary, rest['field']);
      return word !== undefined && comparisonHasForm(rest, word, vocabulary, scale);
    }
    case 'event':
      return (
        texts('event', 'aggregate') &&
        (rest['property'] === undefined || texts('property')) &&
        comparisonHasForm(rest, aggregateWord(vocabulary, written), vocabulary, scale) &&
        windowHasForm(rest['window']) &&
        whereHasForm(rest, vocabulary, scale)
      );
    case 'sequence':
      return (
        windowHasForm(rest['window']) &&
        Array.isArray(rest['steps']) &&
        rest['steps'].every((step) => stepHasForm(step, vocabulary, scale))
      );
    case 'segment':
      return texts('segment_id', 'op');
    case 'list':
      return texts('list_id');
    case 'message':
      return (
        texts('channel', 'status') &&
        (rest['campaign_id'] === undefined || texts('campaign_id')) &&
        windowHasForm(rest['window'])
      );
    case 'random':
      return (
        texts('salt') &&
        canShow(rest['percent'], 'number', { kind: 'number', unit: null, values: null, scale: 0 })
      );
    default:
      return false;
  }
}

/** The tree with text in place of each condition that has no form. */
export function withForms(node: Node, vocabulary: Vocabulary, scale: number): Node {
  if (isGroup(node)) {
    return { ...node, children: node.children.map((child) => withForms(child, vocabulary, scale)) };
  }
  return isRaw(node) || hasForm(node.written, vocabulary, scale) ? node : textOf(node);
}

/** What a text says as groups and forms; undefined: it is not JSON, or has no form. */
export function formOf(text: string, vocabulary: Vocabulary, scale: number): Node | undefined {
  try {
    const node = withForms(nodeOf(parseExactly(text)), vocabulary, scale);
    return isRaw(node) ? undefined : node;
  } catch {
    return undefined;
  }
}

function comparisonHasForm(
  { op, value }: Written,
  word: Word,
  vocabulary: Vocabulary,
  scale: number,
): boolean {
  const operator = operatorOf(vocabulary, op);
  return operator !== undefined && canShow(value, operator.value, operandOf(word, scale));
}

function stepHasForm(step: unknown, vocabulary: Vocabulary, scale: number): boolean {
  if (!isObject(step)) return false;
  const { event, where: _where, within, ...rest } = step;
  return (
    typeof event === 'string' &&
    Object.keys(rest).length === 0 &&
    (within === undefined || isSpan(within)) &&
    whereHasForm(step, vocabulary, scale)
  );
}

function whereHasForm({ event, where }: Written, vocabulary: Vocabulary, scale: number): boolean {
  if (where === undefined) return true;
  if (!Array.isArray(where)) return false;
  return where.every((clause) => {
    if (!isObject(clause)) return false;
    const { property, op: _op, value: _value, ...rest } = clause;
    const word = propertyWord(vocabulary, event, property);
    return (
      typeof property === 'string' &&
      Object.keys(rest).length === 0 &&
      comparisonHasForm(clause, word, vocabulary, scale)
    );
  });
}

function isSpan(value: unknown): boolean {
  return canShow(value, 'span', { kind: 'number', unit: null, values: null, scale: 0 });
}

function windowHasForm(window: unknown): boolean {
  if (window === undefined || window === null) return true;
  if (!isObject(window)) return false;
  const { last, from, to, ...rest } = window;
  if (Object.keys(rest).length > 0) return false;
  if (last !== undefined)
    return from === undefined && to === undefined && spanParts(last) !== undefined && isSpan(last);
  return typeof from === 'string' && typeof to === 'string';
}

/** A window as the three things that its form chooses from. */
export function windowKind(window: unknown): 'always' | 'last' | 'range' {
  if (!isObject(window)) return 'always';
  return 'last' in window ? 'last' : 'range';
}

/** Whether the browser's control of times shows the text. */
export function isUtcTime(text: unknown): boolean {
  return typeof text === 'string' && UTC_TIME.test(text);
}

/**
 * A new condition of the type that can be counted at once, as far as there is one. Conditions on lists begin with the first
 * of the frozen ones among `segments`.
 */
export function firstCondition(
  type: string,
  vocabulary: Vocabulary,
  segments: readonly { id: string; definition: unknown }[] = [],
): Written {
  const first_event =
    vocabulary.events.find(({ name }) => name === 'deposit_confirmed') ?? vocabulary.events[0];
  const event = first_event?.name ?? vocabulary.custom_events.prefix;
  switch (type) {
    case 'trait':
      return { type, field: 'total_deposited', op: 'gt', value: 0 };
    case 'event':
      return { type, event, aggregate: 'count', op: 'gte', value: 1, window: { last: { days: 30 } } };
    case 'sequence':
      return { type, steps: [{ event }, { event, within: { days: 7 } }], window: { last: { days: 30 } } };
    case 'segment':
      return { type, segment_id: '', op: 'in' };
    case 'message':
      return {
        type,
        channel: vocabulary.channels[0] ?? '',
        status: vocabulary.message_statuses[0] ?? '',
        window: { last: { days: 30 } },
      };
    case 'random':
      return { type, percent: 10, salt: crypto.randomUUID().slice(0, 8) };
    case 'list':
      return { type, list_id: segments.find(isFrozen)?.id ?? '' };
    default:
      return { type };
  }
}
