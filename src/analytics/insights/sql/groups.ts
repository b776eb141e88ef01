import { isMoneyProperty } from '../../../segments/language/fields.ts';
import type { Bindings } from '../../../segments/sql/bindings.ts';
import { PRODUCT } from '../metrics/measure-queries.ts';
import type { Breakdown } from '../schema.ts';

/** How rows are grouped: by an expression over rows of events, or over the player `p` that they belong to. */
export type GroupSql = { of_event: string } | { of_player: string };

const PLAYER_COLUMNS = {
  tier: 'current_tier_code',
  currency: 'default_currency_code',
  kyc_status: 'kyc_status',
  player_status: 'status',
} as const;

/** The column of `players` by which a breakdown goes; undefined: it goes by events. */
export function playerColumnOf(by: Breakdown): string | undefined {
  return by in PLAYER_COLUMNS ? PLAYER_COLUMNS[by as keyof typeof PLAYER_COLUMNS] : undefined;
}

/** The group of a row as text; an empty text: not known. */
export function groupSql(by: Breakdown, property: string | undefined, bindings: Bindings): GroupSql {
  const column = playerColumnOf(by);
  if (column !== undefined) return { of_player: `ifNull(p.${column}, '')` };
  if (by === 'product') return { of_event: PRODUCT };
  if (by === 'event') return { of_event: 'toString(event)' };
  if (by !== 'property') return { of_event: `toString(${by})` };
  const key = bindings.bind('String', property ?? '');
  const json = `if(JSONType(properties, ${key}) = 'String', JSONExtractString(properties, ${key}), JSONExtractRaw(properties, ${key}))`;
  // Longer texts than a cell can name are one group.
  return { of_event: `substringUTF8(${json}, 1, 256)` };
}

/** Whether a breakdown by the property makes sense: amounts have a value of their own for nearly each event. */
export function canGroupBy(property: string): boolean {
  return !isMoneyProperty(property, undefined);
}
