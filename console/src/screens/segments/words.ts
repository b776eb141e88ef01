import { formatMoney, type Currency } from '../../format/money.ts';
import { formatValue } from '../../format/value.ts';
import { t } from '../../messages/t.ts';
import { isObject } from './tree.ts';
import { spanParts } from './values.ts';
import {
  aggregateWord,
  fieldWord,
  operatorOf,
  propertyWord,
  type Vocabulary,
  type Written,
} from './vocabulary.ts';

const m = t.segments.words;
/** Values of a list that are said, and the longest text. */
const SAID = 5;
const LONGEST = 200;

/** What a condition is said with; without the vocabulary or the currency amounts are said as they are stored. */
export interface Sayer {
  vocabulary: Vocabulary | undefined;
  currency: Currency | undefined;
  /** The names of segments by their ids. */
  names: ReadonlyMap<string, string>;
}

/** A condition in words: `total deposited is more than €500.00`. One that is not understood is said as JSON. */
export function sayCondition(written: unknown, sayer: Sayer): string {
  if (!isObject(written)) return short(formatValue(written));
  switch (written['type']) {
    case 'trait':
      return `${m.fields(text(written['field']))} ${sayComparison(written, sayer, unitOfTrait(written, sayer))}`;
    case 'event':
      return sayEvent(written, sayer);
    case 'sequence':
      return saySequence(written, sayer);
    case 'segment': {
      const id = text(written['segment_id']);
      const name = sayer.names.get(id) ?? id;
      return written['op'] === 'in' ? m.inSegment(name) : m.notInSegment(name);
    }
    case 'list': {
      const id = text(written['list_id']);
      return m.onList(sayer.names.get(id) ?? id);
    }
    case 'message': {
      const { channel, status, campaign_id, window } = written;
      const campaign = campaign_id === undefined ? '' : m.campaign(text(campaign_id));
      return `${m.message(text(channel), text(status))}${campaign}${sayWindow(window)}`;
    }
    case 'random':
      return m.random(text(written['percent']), text(written['salt']));
    default:
      return short(formatValue(written));
  }
}

function unitOfTrait({ field }: Written, { vocabulary }: Sayer): string | null {
  return (vocabulary && fieldWord(vocabulary, field)?.unit) ?? null;
}

function sayEvent(written: Written, sayer: Sayer): string {
  const { aggregate, property, event, window } = written;
  const { vocabulary } = sayer;
  const unit = vocabulary === undefined ? null : aggregateWord(vocabulary, written).unit;
  const of = property === undefined ? undefined : m.fields(text(property));
  const name = m.aggregates[text(aggregate)] ?? text(aggregate);
  const where = sayWhere(written, sayer);
  return `${m.aggregate(name, of, text(event))}${where}${sayWindow(window)} ${sayComparison(written, sayer, unit)}`;
}

function sayWhere({ event, where }: Written, sayer: Sayer): string {
  if (!Array.isArray(where) || where.length === 0) return '';
  const { vocabulary } = sayer;
  const said = where.filter(isObject).map((clause) => {
    const { property } = clause;
    const unit = vocabulary === undefined ? null : propertyWord(vocabulary, event, property).unit;
    return `${m.fields(text(property))} ${sayComparison(clause, sayer, unit)}`;
  });
  return m.where(said.join(m.and));
}

function saySequence({ steps, window }: Written, sayer: Sayer): string {
  if (!Array.isArray(steps)) return short(formatValue(steps));
  const said = steps.filter(isObject).map((step) => {
    const within = step['within'] === undefined ? '' : m.within(saySpan(step['within']));
    return `${text(step['event'])}${sayWhere(step, sayer)}${within}`;
  });
  return `${said.join(m.followed)}${sayWindow(window)}`;
}

function sayWindow(window: unknown): string {
  if (!isObject(window)) return '';
  const { last, from, to } = window;
  return last === undefined ? m.range(text(from), text(to)) : m.last(saySpan(last));
}

function saySpan(span: unknown): string {
  const parts = spanParts(span);
  return parts === undefined ? formatValue(span) : m.span(text(parts.length), parts.unit);
}

function sayComparison({ op, value }: Written, { vocabulary, currency }: Sayer, unit: string | null): string {
  const name = (vocabulary && operatorOf(vocabulary, op)?.name) ?? text(op);
  const said = m.operators[name] ?? name;
  if (value === undefined) return said;
  const one = (single: unknown) => sayValue(single, unit === null ? undefined : currency);
  if (!Array.isArray(value)) return `${said} ${isObject(value) ? saySpan(value) : one(value)}`;
  const more = value.length > SAID ? m.and_more(value.length - SAID) : '';
  const joiner = name === 'between' ? m.and : ', ';
  return `${said} ${value.slice(0, SAID).map(one).join(joiner)}${more}`;
}

function sayValue(value: unknown, currency: Currency | undefined): string {
  const is_whole = typeof value === 'bigint' || Number.isInteger(value);
  if (currency !== undefined && is_whole) return formatMoney(value as number | bigint, currency);
  return typeof value === 'string' ? short(`“${value}”`) : short(formatValue(value));
}

function text(value: unknown): string {
  return short(typeof value === 'string' ? value : formatValue(value));
}

function short(said: string): string {
  return said.length > LONGEST ? `${said.slice(0, LONGEST).toWellFormed()}…` : said;
}
