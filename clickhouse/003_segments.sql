-- The members of segments: a copy of segment_members in Postgres, for queries over sets. `is_deleted`: has left.
create table segment_members (
  tenant_id UUID,
  project_id UUID,
  segment_id UUID,
  player_id UUID,
  -- The change_id in Postgres; the row with the highest one counts.
  revision UInt64,
  is_deleted UInt8 default 0
)
engine = ReplacingMergeTree(revision, is_deleted)
order by (tenant_id, project_id, segment_id, player_id)
settings non_replicated_deduplication_window = 10000;
