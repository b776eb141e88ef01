-- What the last evaluation of a player has seen in ClickHouse, and what was added since: by it a change of data is known that
-- cannot change the realtime segments of the player. A row that is missing is always right: the player is evaluated again. So
-- the table is unlogged, and empty after a crash.
create unlogged table evaluated_players (
  player_id uuid not null,
  tenant_id uuid not null,
  project_id uuid not null,
  -- Changes with each write: who has read the row writes it only if nobody else has.
  version bigint not null,
  -- Of the plan whose totals and traits these are.
  stamp text not null,
  -- Numbers with commas between them; null while the player is being evaluated.
  totals text,
  -- '1' or '0' for each condition on a field.
  traits text not null default '',
  -- The windows of the totals are those of this time.
  edge_ms bigint not null default 0,
  since_ms bigint not null default 0,
  recent text not null default '',
  primary key (player_id, tenant_id, project_id)
) with (fillfactor = 60);
call protect_tenant_table('evaluated_players');
