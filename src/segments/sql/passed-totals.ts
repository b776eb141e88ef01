import type { Total } from '../language/totals.ts';
import { Bindings } from './bindings.ts';
import type { CompiledQuery } from './compile.ts';
import { EventScan } from './event-scan.ts';
import { SCOPE } from './owner-sql.ts';
import { JOINED_LISTS, TotalLists, type Totals } from './total-lists.ts';

/** An event that was received so short a time ago may not be counted yet. */
const JUST_RECEIVED_MS = 60_000;

/** A statement about what has crossed the edges of windows, and the functions that read its rows: one per player. */
export interface CompiledPassage extends CompiledQuery {
  /** How much of a total, by its index, has left its window. */
  amountOf: (row: Readonly<Record<string, unknown>>, index: number) => number;
  /** The names of the events that have crossed an edge. */
  namesOf: (row: Readonly<Record<string, unknown>>) => string[];
}

/**
 * Compiles a statement that finds, for every player, how much of totals over moving windows left them after `since_ms` and up
 * to `now_ms`. `is_unclear`: an event of the future has entered a window, or one at an edge was received just now.
 */
export function compilePassage(
  totals: readonly Total[],
  since_ms: number,
  now_ms: number,
  limit: number,
): CompiledPassage {
  const bindings = new Bindings();
  const sets = totals.map(({ set }) => set);
  const lists = new TotalLists(
    new EventScan(sets, bindings, { of_players: false, of_presence: false }),
    bindings,
  );
  const places = totals.map((total) => {
    const { window } = total.set;
    const ago_ms = window.kind === 'last' ? window.last_ms : undefined;
    // No time is later than itself: nothing leaves the other windows.
    const times = ago_ms === undefined ? [0, 0] : [since_ms - ago_ms, now_ms - ago_ms];
    return lists.add(total, { after_ms: times[0] ?? 0, until_ms: times[1] ?? 0 });
  });
  const within = (after_ms: number, until_ms: number) =>
    `(occurred_at > fromUnixTimestamp64Milli(${bindings.bind('Int64', after_ms)}, 'UTC') and ` +
    `occurred_at <= fromUnixTimestamp64Milli(${bindings.bind('Int64', until_ms)}, 'UTC'))`;
  const entered = `(${within(since_ms, now_ms)} and occurred_at > received_at)`;
  const late = `received_at > fromUnixTimestamp64Milli(${bindings.bind('Int64', now_ms - JUST_RECEIVED_MS)}, 'UTC')`;
  const spans = new Map<string, Set<number>>();
  for (const { event, window } of sets)
    if (window.kind === 'last') spans.set(event, (spans.get(event) ?? new Set()).add(window.last_ms));
  const edges = [...spans].map(([event, of_event]) => {
    const left = [...of_event].map((ago_ms) => within(since_ms - ago_ms, now_ms - ago_ms));
    return `(event = ${bindings.bind('String', event)} and (${[...left, entered].join(' or ')}))`;
  });
  const sql =
    `select player_id, ${JOINED_LISTS}, max(unclear) as is_unclear\nfrom (\n` +
    `  select player_id, name, ${lists.sql()} as totals, max(is_apart) as unclear\n  from (\n` +
    `    select player_id, ${lists.columns().join(', ')}, ${entered} or ${late} as is_apart\n    from events\n` +
    `    where ${SCOPE} and (${edges.join(' or ')})\n` +
    `    order by revision desc limit 1 by ingestion_id, event_index\n  )\n  group by player_id, name\n)\n` +
    `group by player_id limit ${limit}`;
  return {
    sql,
    params: bindings.params,
    namesOf: (row) => [...spans.keys()].filter((event) => lists.numberOf(event) in (row['totals'] as Totals)),
    amountOf: (row, index) => {
      const at = places[index];
      const lists_of_player = row['totals'] as Totals;
      return at === undefined ? 0 : Number(lists_of_player[at.name]?.[at.index] ?? 0);
    },
  };
}
