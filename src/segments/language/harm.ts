import { EVENTS, type EventName } from '../../ingest/events/catalogue.ts';
import {
  aggregateEntry,
  isGroup,
  type Condition,
  type DefinitionNode,
  type EventCondition,
  type EventSet,
  type Group,
  type SequenceCondition,
  type WhereClause,
} from './conditions.ts';
import { ATTRIBUTE_PREFIX, type TraitFieldName } from './fields.ts';
import { isNumeric, type Comparison, type PositiveComparison, type Scalar } from './forms.ts';
import { holds } from './holds.ts';
import { lengthMs } from './span.ts';

/** The signs of gambling harm by which a definition may select players, with why that matters and what to do instead. */
export const HARM_SIGNS = {
  LOSSES:
    'This selects players because they lose. Losing much or more than before is a sign of harm. Select by what they like to play, or leave these players out.',
  CHASED_LOSSES:
    'This selects players who deposit after they have lost. Chasing losses is a strong sign of harm. Do not promote to them; offer limits or a break.',
  MANY_DEPOSITS:
    'This selects players who deposit often in a short time, which is a sign of harm. Take a longer time or fewer deposits, or leave these players out.',
  FAILED_DEPOSITS:
    'This selects players whose deposits failed or were reversed. Failed, declined and reversed deposits are a sign of money trouble. Use it for help with payments only, or leave these players out.',
  CANCELLED_WITHDRAWALS:
    'This selects players whose withdrawals failed or were cancelled. Playing on with money that was to be paid out is a sign of harm. Use it for service messages only.',
  LONG_SESSIONS:
    'This selects players who play for long. Long sessions are a sign of harm. Do not promote to them; remind them of limits and breaks.',
  NIGHT_PLAY:
    'This selects players who play at night, which is a sign of harm. Select another time of day, or leave these players out.',
  LIMITS_REACHED:
    'This selects players who have reached a limit that protects them. Do not invite them to play on; wait until the limit begins anew.',
  AT_RISK:
    'This selects players who are at risk. Promotion to them is forbidden under several licences. Reverse the comparison, so that they are excluded.',
  EXCLUDED:
    'This selects players who exclude themselves, take a break, or did before. No message reaches those who are excluded; promotion to the others invites a relapse. Turn the comparison round.',
} as const;
export type HarmSign = keyof typeof HARM_SIGNS;
export const HARM_CODES = Object.keys(HARM_SIGNS) as [HarmSign, ...HarmSign[]];

/** Fields by which players with a sign of harm can be selected. */
export const HARM_FIELDS: Partial<Record<TraitFieldName, HarmSign>> = {
  ggr: 'LOSSES',
  ngr: 'LOSSES',
  status: 'EXCLUDED',
};

/** Events that are a sign of harm; deposits are one when they are many. */
export const HARM_EVENTS: Partial<Record<EventName, HarmSign>> = {
  self_exclusion_set: 'EXCLUDED',
  self_exclusion_lifted: 'EXCLUDED',
  cooldown_entered: 'EXCLUDED',
  deposit_limit_reached: 'LIMITS_REACHED',
  loss_limit_reached: 'LIMITS_REACHED',
  session_limit_warning: 'LONG_SESSIONS',
  session_limit_exceeded: 'LONG_SESSIONS',
  deposit_initiated: 'MANY_DEPOSITS',
  deposit_confirmed: 'MANY_DEPOSITS',
  deposit_failed: 'FAILED_DEPOSITS',
  deposit_reversed: 'FAILED_DEPOSITS',
  withdrawal_failed: 'CANCELLED_WITHDRAWALS',
  withdrawal_reversed: 'CANCELLED_WITHDRAWALS',
  bet_lost: 'LOSSES',
};

/** From how many deposits within so long they are many. */
const MANY_DEPOSITS = [
  { within_ms: 86_400_000, from: 3 },
  { within_ms: 7 * 86_400_000, from: 10 },
];
/** From how many deposits in one sequence they are many. */
const DEPOSIT_STEPS = 3;

/** What names that operators choose mean: those of custom attributes, custom events and properties. */
const NAMES: readonly (readonly [RegExp, HarmSign])[] = [
  [
    /at_?risk|rg_?risk|(?<!fraud_?|aml_?)risk_?(level|score|group)|problem_?gambl|vulnerab|addict|(^|_)harm(?!on)/i,
    'AT_RISK',
  ],
  [/self_?exclu|cool_?(down|off)/i, 'EXCLUDED'],
  [/(^|_)chas(e|ing)/i, 'CHASED_LOSSES'],
  [
    /(failed|declined|reversed)_?deposit|deposits?_?(failed|declined|revers)|charge_?back/i,
    'FAILED_DEPOSITS',
  ],
  [/(cancell?ed|reversed)_?withdrawal|withdrawals?_?(cancel|revers)/i, 'CANCELLED_WITHDRAWALS'],
  [/limits?_?(reached|hit|exceeded)/i, 'LIMITS_REACHED'],
  [/session_?(length|duration|minutes|hours)|^duration/i, 'LONG_SESSIONS'],
  [/(^|_)night/i, 'NIGHT_PLAY'],
  [/(^|_)loss(es)?(_|$)|(^|_)lost(_|$)|(^|_)[gn]gr(_|$)/i, 'LOSSES'],
];

/** Values that say that a player has a sign, and those that say that there is none. */
interface Witnesses {
  having: readonly Scalar[];
  without: readonly (Scalar | null)[];
}
const FLAG: Witnesses = {
  having: [true, 'true', 'yes', 'high', 'strong'],
  without: [false, 'false', 'no', 'none', 0],
};
/** Neither: under some licences they may be promoted to. */
const UNDECIDED: readonly Scalar[] = ['low', 'medium', 'unknown', ''];
const STATUS: Witnesses = { having: ['self_excluded'], without: ['active'] };
const OUTCOME: Witnesses = { having: ['lost'], without: ['won'] };
/** Cashback is paid for losses; other credits are not. */
const CASHBACK: Witnesses = { having: ['cashback'], without: ['prize'] };
const HOUR: Witnesses = { having: [0, 1, 2, 3, 4, 5], without: [12, 18] };
const LARGE = 1e12;

/** A condition that selects players by a sign of harm. */
export interface HarmWarning {
  /** As `definition.conditions.0`. */
  path: string;
  code: HarmSign;
  message: string;
}

/**
 * The conditions of a definition that select players by a sign of harm, in the order in which they are written. A
 * condition that excludes such players does not count: a negated comparison, or one inside of a NOT.
 */
export function harmWarnings(definition: Group): HarmWarning[] {
  return [...selecting(definition, true, 'definition')].map(([path, code]) => ({
    path,
    code,
    message: HARM_SIGNS[code],
  }));
}

/** `is_wanted`: whether the definition takes players for whom the node holds; false inside of an odd number of NOTs. */
function* selecting(
  node: DefinitionNode,
  is_wanted: boolean,
  path: string,
): Generator<[path: string, code: HarmSign]> {
  if (!isGroup(node)) {
    const code = signOf(node, is_wanted);
    if (code !== undefined) yield [path, code];
    return;
  }
  const inner = node.operator === 'NOT' ? !is_wanted : is_wanted;
  for (const [i, child] of node.children.entries()) yield* selecting(child, inner, `${path}.conditions.${i}`);
}

function signOf(condition: Condition, is_wanted: boolean): HarmSign | undefined {
  switch (condition.type) {
    case 'trait':
      return traitSign(condition.field, condition.comparison, is_wanted);
    case 'event':
      return eventSign(condition, is_wanted);
    case 'sequence':
      return is_wanted ? sequenceSign(condition) : undefined;
    case 'segment':
    case 'message':
    case 'random':
    case 'list':
      return undefined;
  }
}

function traitSign(field: string, comparison: Comparison, is_wanted: boolean): HarmSign | undefined {
  if (field.startsWith(ATTRIBUTE_PREFIX)) {
    const code = signOfName(field.slice(ATTRIBUTE_PREFIX.length));
    return code !== undefined && singlesOut(comparison, flagOf(comparison), is_wanted) ? code : undefined;
  }
  const code = HARM_FIELDS[field as TraitFieldName];
  if (code === undefined) return undefined;
  const witnesses = field === 'status' ? STATUS : { having: amountsOf(comparison), without: [0] };
  return singlesOut(comparison, witnesses, is_wanted) ? code : undefined;
}

function eventSign(condition: EventCondition, is_wanted: boolean): HarmSign | undefined {
  const code = setSign(condition);
  if (code === undefined) return undefined;
  const { aggregate, comparison, window } = condition;
  if (code === 'MANY_DEPOSITS') {
    if (aggregate !== 'count') return undefined;
    const many = MANY_DEPOSITS.find(({ within_ms }) => lengthMs(window) <= within_ms);
    if (many === undefined) return undefined;
    const few = Array.from({ length: many.from }, (_, count) => count);
    const having = amountsOf(comparison).filter((count) => count >= many.from);
    return singlesOut(comparison, { having, without: few }, is_wanted) ? code : undefined;
  }
  // Of a player without such events: the count is 0, the first time is missing.
  const { kind, of_nothing } = aggregateEntry(aggregate);
  if (kind === 'date') return comparison.negated === is_wanted ? undefined : code;
  const having = of_nothing === null ? [...amountsOf(comparison), 0] : amountsOf(comparison);
  return singlesOut(comparison, { having, without: [of_nothing] }, is_wanted) ? code : undefined;
}

function sequenceSign({ steps }: SequenceCondition): HarmSign | undefined {
  const signs = steps.map(setSign);
  const lost = signs.indexOf('LOSSES');
  if (lost >= 0 && signs.lastIndexOf('MANY_DEPOSITS') > lost) return 'CHASED_LOSSES';
  const found = signs.find((sign) => sign !== undefined && sign !== 'MANY_DEPOSITS');
  if (found !== undefined) return found;
  return signs.filter((sign) => sign === 'MANY_DEPOSITS').length >= DEPOSIT_STEPS
    ? 'MANY_DEPOSITS'
    : undefined;
}

/** The sign that events of a set are; of deposits only if there are many of them. */
function setSign({ event, where }: EventSet): HarmSign | undefined {
  const by_name = Object.hasOwn(EVENTS, event) ? HARM_EVENTS[event as EventName] : signOfName(event);
  return where.map((clause) => clauseSign(clause, event)).find((sign) => sign !== undefined) ?? by_name;
}

function clauseSign({ property, comparison }: WhereClause, event: string): HarmSign | undefined {
  if (property === 'reason' && event === 'balance_credited')
    return singlesOut(comparison, CASHBACK, true) ? 'LOSSES' : undefined;
  if (property === 'outcome') return singlesOut(comparison, OUTCOME, true) ? 'LOSSES' : undefined;
  if (/(^|_)hour$/i.test(property)) return singlesOut(comparison, HOUR, true) ? 'NIGHT_PLAY' : undefined;
  const code = signOfName(property);
  return code !== undefined && singlesOut(comparison, flagOf(comparison), true) ? code : undefined;
}

function signOfName(name: string): HarmSign | undefined {
  return NAMES.find(([pattern]) => pattern.test(name))?.[1];
}

/** Whether the comparison, or its opposite where it is not wanted, holds for somebody with the sign and nobody without. */
function singlesOut(comparison: Comparison, { having, without }: Witnesses, is_wanted: boolean): boolean {
  const takes = (value: Scalar | null) => holdsFor(comparison, value) === is_wanted;
  return having.some(takes) && !without.some(takes);
}

/** A flag may be anything that is compared with, besides what says no; of that, the word that the comparison uses. */
function flagOf(comparison: Comparison): Witnesses {
  const said = operandsOf(comparison.positive).filter((value) => FLAG.without.includes(value));
  const others = [...operandsOf(comparison.positive), ...amountsOf(comparison)].filter(
    (value) => !FLAG.without.includes(value) && !UNDECIDED.includes(value),
  );
  return { having: [...FLAG.having, ...others], without: said.length === 0 ? FLAG.without : said };
}

/** Amounts above 0 on both sides of each number that is compared with. */
function amountsOf({ positive }: Comparison): number[] {
  const numbers = operandsOf(positive).filter(isNumeric).map(Number);
  return [...numbers.flatMap((value) => [value - 1, value, value + 1]), LARGE].filter((value) => value > 0);
}

function operandsOf(positive: PositiveComparison): readonly Scalar[] {
  switch (positive.form) {
    case 'one_of':
      return positive.values;
    case 'contains':
    case 'starts_with':
      return [positive.value];
    case 'numbers':
      return [positive.range.low, positive.range.high].flatMap((bound) => bound?.value ?? []);
    case 'exists':
    case 'times':
      return [];
  }
}

/** The comparison of a witness; null: missing. No witness is a time, and a list of one is taken for its text. */
function holdsFor({ negated, positive }: Comparison, value: Scalar | null): boolean {
  const asked = positive.form === 'contains' ? { ...positive, value: String(positive.value) } : positive;
  return holds({ negated, positive: asked }, value, 0);
}
