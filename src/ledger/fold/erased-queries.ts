import { playerOf, reduceLine } from '../../ingest/events/envelope.ts';
import { isUuid } from '../../platform/ids.ts';
import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';

/**
 * Lines of events as they may be written to ClickHouse: of erased players only with what is about money. The log has the
 * events from before an erasure as they were, and a rebuild must not bring them back.
 */
export async function withoutErased(sql: Tx, lines: readonly string[]): Promise<string[]> {
  const erased = await selectErased(sql, [...new Set(lines.map(playerOf))].filter(isUuid));
  if (erased.size === 0) return [...lines];
  return lines.map((line) => (erased.has(playerOf(line)) ? reduceLine(line) : line));
}

/** Those of these ids that are of players who were erased, or of players that were merged into one who was. */
async function selectErased(sql: Tx, player_ids: readonly string[]): Promise<Set<string>> {
  if (player_ids.length === 0) return new Set();
  const ids = plainArray(player_ids);
  const rows = await sql<{ player_id: string }[]>`
    select player_id from players where erased_at is not null and player_id = any(${ids}::text::uuid[])
    union all
    select player_id from player_merges where is_erased and player_id = any(${ids}::text::uuid[])`;
  return new Set(rows.map(({ player_id }) => player_id));
}
