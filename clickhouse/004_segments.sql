-- Who is in which segment: a copy of Postgres' segment_members, for questions over sets. `is_deleted`: left it.
create table segment_members (
  tenant_id UUID,
  project_id UUID,
  segment_id UUID,
  player_id UUID,
  -- The number of the change in Postgres; the highest holds.
  revision UInt64,
  is_deleted UInt8 default 0
)
engine = ReplacingMergeTree(revision, is_deleted)
order by (tenant_id, project_id, segment_id, player_id)
settings non_replicated_deduplication_window = 10000;
