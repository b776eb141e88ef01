import { BET_EVENTS, MONEY_EVENTS } from '../../ledger/money/ledger.ts';
import { GGR_SQL, NGR_EVENTS, NGR_SQL } from '../../ledger/money/ngr-sql.ts';
import type { DefinitionNode, Group } from '../language/conditions.ts';
import { conditionsOf } from '../language/conditions.ts';
import { isTraitField, type TraitFieldName } from '../language/fields.ts';
import { OWNER, SCOPE } from './owner-sql.ts';

/** The moment of the statement, before which everything that it reads must have been known. */
export const NOW = "fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')";

/** The events that were known at the moment of the statement. */
export const KNOWN_EVENTS = `received_at <= ${NOW}`;

const listed = (events: readonly string[]) => `event in (${events.map((event) => `'${event}'`).join(', ')})`;

/** Sums of what the fold decided that rows count. */
const counted = (column: 'stake' | 'payout' | 'bonus_stake' | 'bonus_payout', ...events: readonly string[]) =>
  `sumIf(toInt128(${column}_counted), ${listed(events)})`;

const SUMS = {
  total_deposited: `${counted('stake', 'deposit_confirmed')} - ${counted('stake', 'deposit_reversed')}`,
  total_withdrawn: `${counted('stake', 'withdrawal_confirmed')} - ${counted('stake', 'withdrawal_reversed')}`,
  total_wagered: counted('stake', ...BET_EVENTS),
  total_won: counted('payout', ...BET_EVENTS),
  total_bonus_wagered: counted('bonus_stake', ...BET_EVENTS),
  total_bonus_won: counted('bonus_payout', ...BET_EVENTS),
  total_credited: counted('stake', 'balance_credited'),
  total_debited: counted('stake', 'balance_debited'),
} as const satisfies Partial<Record<TraitFieldName, string>>;

/** The totals of which events tell what they were, with their expressions over the events of a player. */
const HISTORIC = {
  ...SUMS,
  ggr: `sumIf(${GGR_SQL}, ${listed(BET_EVENTS)})`,
  ngr: `sumIf(${NGR_SQL}, ${listed(NGR_EVENTS)})`,
  session_count: "countIf(event = 'session_start')",
} as const satisfies Partial<Record<TraitFieldName, string>>;
export type HistoricTotal = keyof typeof HISTORIC;

/** Fields that do not change, or of which the row itself tells what they were. */
const OF_THE_ROW: readonly string[] = ['created_at', 'deleted_at'];

/** Whether events tell what the field was. */
export function isHistoricTotal(field: string): field is HistoricTotal {
  return Object.hasOwn(HISTORIC, field);
}

/** What a statement about an earlier moment needs besides. */
export interface AsOf {
  /** The definitions of all segments that are referred to: of members nothing but the present is stored. */
  inlined: ReadonlyMap<string, Group>;
  /** The totals that conditions read; compiling them adds to it. */
  totals: Set<HistoricTotal>;
  /** How many more conditions and groups may be compiled: a chain of segments that refer to others many times has no end. */
  nodes_left: number;
}

/** The totals of all players as they were, each row with its `owner`. */
export function totalsSql(totals: ReadonlySet<HistoricTotal>): string {
  const names = [...MONEY_EVENTS, 'session_start'].map((event) => `'${event}'`).join(', ');
  const columns = [...totals].map((name) => `${HISTORIC[name]} as ${name}`);
  return (
    `  select ${[OWNER, ...columns].join(',\n    ')}\n  from events final\n` +
    `  where ${SCOPE} and ${KNOWN_EVENTS} and event in (${names})\n  group by owner`
  );
}

/**
 * The fields of a definition, and of those that it refers to, of which only the present is known: they are read as they are
 * now. Each once and sorted.
 */
export function fieldsWithoutHistory(
  definition: DefinitionNode,
  inlined: ReadonlyMap<string, Group>,
): string[] {
  const found = new Set<string>();
  for (const one of [definition, ...inlined.values()]) {
    for (const condition of conditionsOf(one)) {
      if (condition.type === 'list') found.add('list_id');
      if (condition.type !== 'trait' || OF_THE_ROW.includes(condition.field)) continue;
      if (!isTraitField(condition.field) || !isHistoricTotal(condition.field)) found.add(condition.field);
    }
  }
  return [...found].sort();
}
