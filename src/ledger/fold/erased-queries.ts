import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';

/** Those of these ids that are of players who were erased, or of players that were merged into one who was. */
export async function selectErased(sql: Tx, player_ids: readonly string[]): Promise<Set<string>> {
  if (player_ids.length === 0) return new Set();
  const ids = plainArray(player_ids);
  const rows = await sql<{ player_id: string }[]>`
    select player_id from players where erased_at is not null and player_id = any(${ids}::text::uuid[])
    union all
    select player_id from player_merges where is_erased and player_id = any(${ids}::text::uuid[])`;
  return new Set(rows.map(({ player_id }) => player_id));
}
