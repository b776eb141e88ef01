import type {
  AlertCondition,
  AlertQuery,
  CreateAlertBody,
  NoticeReceiver,
} from '@player-engagement/client/admin';
import { oneOf } from '../../api/choices.ts';
import type { RowOf } from '../../api/queries.ts';
import { decimalOf, parseMoney } from '../../format/money.ts';
import type { TextIssue } from '../../format/record-texts.ts';
import { t } from '../../messages/t.ts';
import type { Series } from './query.ts';

const m = t.alerts;
const OPS = ['gt', 'gte', 'lt', 'lte'] as const;
const BP_OF_PERCENT = 100;

export type AlertRecord = RowOf<'alerts.list'>;

/** An alert as its form has it; the texts of conditions that it does not have stay, too. */
export interface AlertDraft {
  name: string;
  query: AlertQuery;
  interval: string;
  'condition.kind': string;
  'condition.op': string;
  'condition.value': string;
  'condition.against': string;
  /** In percent. */
  'condition.bp': string;
  'condition.minimum': string;
  is_enabled: string;
  receivers: readonly NoticeReceiver[];
}

/** The decimal places of amounts that are typed; undefined: the limit is no amount, but a number. */
export type Scale = number | undefined;

/** An alert that is not saved yet: deposits that fall. */
export const newAlert = (user_id: string): AlertDraft => ({
  name: '',
  query: { kind: 'trend', series: [{ metric: 'deposits' }] },
  interval: 'day',
  'condition.kind': 'change',
  'condition.op': 'lte',
  'condition.value': '',
  'condition.against': 'week',
  'condition.bp': '-20',
  'condition.minimum': '0',
  is_enabled: 'true',
  receivers: [{ kind: 'email', user_id, address: '' }],
});

/** A saved alert. */
export function draftOf(
  { name, query, interval, condition, receivers, is_enabled }: AlertRecord,
  scale: Scale,
): AlertDraft {
  const written = condition as Readonly<Record<string, string | number | undefined>>;
  const text = (field: string, none: string) => String(written[field] ?? none);
  const { value, bp } = written;
  const is_amount = scale !== undefined && Number.isSafeInteger(Number(value)) && value !== undefined;
  return {
    name,
    query: query as unknown as AlertQuery,
    interval,
    'condition.kind': text('kind', 'threshold'),
    'condition.op': text('op', 'lt'),
    'condition.value': is_amount ? decimalOf(BigInt(Number(value)), scale) : text('value', ''),
    'condition.against': text('against', 'week'),
    'condition.bp': bp === undefined ? '' : String(Number(bp) / BP_OF_PERCENT),
    'condition.minimum': text('minimum', '0'),
    is_enabled: String(is_enabled),
    receivers,
  };
}

/** The only series of an alert that a form can change; undefined: the alert has more, or a filter. */
export function seriesOf({ series, ratio, filter }: AlertQuery): Series | undefined {
  return ratio === undefined && filter === undefined && series.length === 1 ? series[0] : undefined;
}

/** What a form says as the API takes it, and which of its fields are no values. */
export function bodyOf(draft: AlertDraft, scale: Scale): { body: CreateAlertBody; issues: TextIssue[] } {
  const issues: TextIssue[] = [];
  const number = (path: 'condition.value' | 'condition.bp' | 'condition.minimum') => {
    const text = draft[path].trim();
    const is_amount = scale !== undefined && path === 'condition.value';
    const value = is_amount ? Number(parseAmount(text, scale)) : Number(text);
    if (text === '' || Number.isNaN(value)) issues.push({ path, message: m.number });
    return value;
  };
  const { name, query, receivers } = draft;
  const interval = oneOf(['hour', 'day'], draft.interval) ?? 'day';
  const condition = conditionOf(draft, number);
  const body = {
    name: name.trim(),
    query,
    interval,
    condition,
    receivers: [...receivers],
    is_enabled: draft.is_enabled === 'true',
  };
  return { body, issues };
}

function parseAmount(text: string, scale: number): bigint | undefined {
  if (!text.startsWith('-')) return parseMoney(text, scale);
  const size = parseMoney(text.slice(1), scale);
  return size === undefined ? undefined : -size;
}

function conditionOf(
  draft: AlertDraft,
  number: (path: 'condition.value' | 'condition.bp' | 'condition.minimum') => number,
): AlertCondition {
  const op = oneOf(OPS, draft['condition.op']) ?? 'lt';
  switch (draft['condition.kind']) {
    case 'change': {
      const against = draft['condition.against'] === 'previous' ? 'previous' : 'week';
      return { kind: 'change', against, op, bp: Math.round(number('condition.bp') * BP_OF_PERCENT) };
    }
    case 'unusual':
      return { kind: 'unusual', minimum: number('condition.minimum') };
    default:
      return { kind: 'threshold', op, value: number('condition.value') };
  }
}
