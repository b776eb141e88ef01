-- A player that turned out to be another one. The row outlives the merge: whoever names the old id later (an event,
-- a caller, a ledger row, which keeps the player that claimed it) means `into_player_id`. Never a chain: when
-- `into_player_id` is merged itself, the row is pointed on.
create table player_merges (
  tenant_id uuid not null,
  project_id uuid not null,
  player_id uuid not null,
  into_player_id uuid not null,
  merged_at timestamptz not null,
  -- ClickHouse resolves the old id when reading …
  aliased_at timestamptz,
  -- … until its rows of the old player carry the new id.
  squashed_at timestamptz,
  -- As in player_totals: player-mirror removes the old player from ClickHouse.
  changed_xid xid8 not null default pg_current_xact_id(),
  primary key (tenant_id, project_id, player_id)
);
create index player_merges_by_survivor on player_merges (tenant_id, project_id, into_player_id);
create index player_merges_by_change on player_merges (changed_xid, player_id);
create index player_merges_in_clickhouse on player_merges (merged_at) where squashed_at is null;
call protect_tenant_table('player_merges');
