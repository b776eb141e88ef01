-- Merged players whose events still have the old id, with their survivors. `is_deleted` after the events are rewritten.
create table player_aliases (
  tenant_id UUID,
  project_id UUID,
  player_id UUID,
  into_player_id UUID,
  revision UInt64,
  is_deleted UInt8 default 0
)
engine = ReplacingMergeTree(revision, is_deleted)
order by (tenant_id, project_id, player_id)
settings non_replicated_deduplication_window = 1000;

-- The same in memory, for queries over many players; event-rewriter reloads it after each change. The server reads the
-- source as the user in the URL of the migrating process. After a change of that user's password the dictionary has to
-- be replaced.
create dictionary player_alias (
  tenant_id UUID,
  project_id UUID,
  player_id UUID,
  into_player_id UUID
)
primary key tenant_id, project_id, player_id
source(clickhouse({access}query 'select tenant_id, project_id, player_id, into_player_id from "{database}".player_aliases final'))
layout(complex_key_hashed())
lifetime(0);
