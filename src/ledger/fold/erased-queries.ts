import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';

/** Those of these players who were erased. */
export async function selectErased(sql: Tx, player_ids: readonly string[]): Promise<Set<string>> {
  if (player_ids.length === 0) return new Set();
  const rows = await sql<{ player_id: string }[]>`
    select player_id from players
    where erased_at is not null and player_id = any(${plainArray(player_ids)}::text::uuid[])`;
  return new Set(rows.map(({ player_id }) => player_id));
}
