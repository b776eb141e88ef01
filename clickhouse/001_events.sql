-- Every resolved event once, sorted for queries about one event name and many players, which read only their window of
-- time. The player is not part of the key, so that after a merge the row with the survivor's id replaces the old row.
-- No partitions: an event may have any past time, and ClickHouse refuses a block with rows of over a hundred
-- partitions.
create table events (
  tenant_id UUID,
  project_id UUID,
  event LowCardinality(String),
  player_id UUID,
  occurred_at DateTime64(3, 'UTC'),
  received_at DateTime64(3, 'UTC'),
  ingestion_id UUID,
  event_index UInt16,
  -- In the smallest unit of the base currency; null when the event has no amount or no rate is known yet.
  base_amount Nullable(Int64),
  base_payout Nullable(Int64),
  properties String CODEC(ZSTD(1)),
  -- A later revision of the same event (a better rate, a merged player) replaces the earlier one.
  revision UInt64 default 0
)
engine = ReplacingMergeTree(revision)
order by (tenant_id, project_id, event, occurred_at, ingestion_id, event_index)
settings non_replicated_deduplication_window = 10000;

-- The same events sorted for queries about one player (timeline, daily series).
create table events_by_player as events
engine = ReplacingMergeTree(revision)
order by (tenant_id, project_id, player_id, occurred_at, ingestion_id, event_index)
settings non_replicated_deduplication_window = 10000;

create materialized view events_to_events_by_player to events_by_player as select * from events;
