-- The number of the player in Postgres, and what it means (projects.numbering); 0 in rows that an earlier version has
-- copied, which are copied once more.
alter table players add column if not exists player_no UInt32 after player_id;
alter table players add column if not exists numbering UInt64 after player_no;

-- Sets of members as numbers of one numbering, made from segment_members and players when a question needs them. A row never
-- changes: `members_hash` names the set (segments.members_hash in Postgres), and the segment is only what it was made for.
create table segment_bitmaps (
  tenant_id UUID,
  project_id UUID,
  segment_id UUID,
  numbering UInt64,
  members_hash UInt64,
  last_no UInt32,
  members AggregateFunction(groupBitmap, UInt32)
)
engine = ReplacingMergeTree
order by (tenant_id, project_id, segment_id);
