/**
 * ClickHouse expression: the player to which a row of the table `alias` belongs now. Events of a merged player have the
 * old id until event-rewriter has rewritten them.
 */
export function survivorOf(alias: string): string {
  const key = `(${alias}.tenant_id, ${alias}.project_id, ${alias}.player_id)`;
  return `dictGetOrDefault('player_alias', 'into_player_id', ${key}, ${alias}.player_id)`;
}
