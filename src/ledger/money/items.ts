import { unsafeText } from '../../ingest/events/text-safety.ts';
import { isBefore } from './bets.ts';
import { betKindOf, moneyKindOf, type BetKind, type Item, type LedgerRow, type MoneyKind } from './ledger.ts';

/** The properties that say it. ClickHouse reads the same ones for events that say it themselves (`clickhouse/007_insights.sql`). */
const PROPERTIES: Readonly<Record<BetKind, readonly [item: string, item_group: string]>> = {
  casino: ['game_id', 'game_category'],
  sport: ['sport', 'bet_type'],
};

const UNKNOWN: Item = { item: '', item_group: '' };

/** What an event itself says a bet is about. */
export function itemOf(event: string, properties: Readonly<Record<string, unknown>>): Item {
  const kind = betKindOf(event);
  if (kind === undefined) return UNKNOWN;
  const [item, item_group] = PROPERTIES[kind];
  return { item: textOf(properties[item]), item_group: textOf(properties[item_group]) };
}

/** What the ledger keeps of an event: of a placed bet what it is about; null for all others. */
export function itemOfPlaced(event: string, properties: Readonly<Record<string, unknown>>): Item | null {
  if (!isPlaced(event)) return null;
  const item = itemOf(event, properties);
  // Postgres takes no NUL. Intake refuses it.
  const isKept = item.item !== '' && !unsafeText(item.item) && !unsafeText(item.item_group);
  return isKept ? item : null;
}

/**
 * What the rows of a reference say that the bet of this kind is about: its first placed row by event time that says it. In any
 * order of arrival it is the same; undefined when none does, and for other kinds.
 */
export function placedItem(kind: MoneyKind, rows: readonly LedgerRow[]): Item | undefined {
  let first: LedgerRow | undefined;
  for (const row of rows) {
    if (row.item === null || moneyKindOf(row.event) !== kind) continue;
    if (first === undefined || isBefore(row, first)) first = row;
  }
  return first?.item ?? undefined;
}

/**
 * What an event that says `own` is about where it does not say all of it: as the bet was `placed`. Undefined: as it says itself. The
 * group of another item is not taken.
 */
export function takenItem(own: Item, placed: Item | undefined): Item | undefined {
  if (placed === undefined || (own.item !== '' && own.item !== placed.item)) return undefined;
  const taken = { item: placed.item, item_group: own.item_group === '' ? placed.item_group : own.item_group };
  return isSameItem(own, taken) ? undefined : taken;
}

/** Whether two items are the same. */
export function isSameItem(a: Item | undefined, b: Item | undefined): boolean {
  return a === b || (a?.item === b?.item && a?.item_group === b?.item_group);
}

function isPlaced(event: string): boolean {
  return event === 'bet_placed' || event === 'sport_bet_placed';
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
