export const SCOPE = 'tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}';

/** The players that a statement is about, with the ids that rows of merged ones may still carry. */
export function playerIdsSql(are_merged: boolean): string {
  return are_merged ? 'arrayConcat({players:Array(UUID)}, {former:Array(UUID)})' : '{players:Array(UUID)}';
}

/**
 * Whose a row is. Of merged players whose rows still carry the old id there are mostly none, which is known before the
 * first row is read; else every row asks the dictionary, which makes the whole statement half as slow again. Asking
 * first whether the row is of a merged player took as long then, and 6 ms where there is none.
 */
const ALIASES = `select count() from player_aliases final where ${SCOPE}`;
export const OWNER =
  `if((${ALIASES}) = 0, player_id, ` +
  "dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner";
