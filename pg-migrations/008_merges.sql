-- A player that was merged into another one. The row stays: events, callers and ledger rows (which keep the player that
-- claimed them) may have the old id, which stands for `into_player_id`. There are no chains: when `into_player_id` is
-- itself merged, the row gets the new survivor.
create table player_merges (
  tenant_id uuid not null,
  project_id uuid not null,
  player_id uuid not null,
  into_player_id uuid not null,
  merged_at timestamptz not null,
  -- From then on ClickHouse resolves the old id at query time, until its rows have the new id (next column).
  aliased_at timestamptz,
  -- When ClickHouse's rows of the old player were rewritten to the survivor's id.
  squashed_at timestamptz,
  -- As in player_totals: by it player-mirror finds the old player and removes it from ClickHouse.
  changed_xid xid8 not null default pg_current_xact_id(),
  primary key (tenant_id, project_id, player_id)
);
create index player_merges_by_survivor on player_merges (tenant_id, project_id, into_player_id);
create index player_merges_by_change on player_merges (changed_xid, player_id);
create index player_merges_in_clickhouse on player_merges (merged_at) where squashed_at is null;
call protect_tenant_table('player_merges');
