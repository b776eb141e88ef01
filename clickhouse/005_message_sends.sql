-- Messages to players, sorted for questions about players: a copy of Postgres' message_sends, of which the highest
-- revision (the writing transaction's id) holds. What never became a message (skips) is there with status failed.
create table message_sends (
  tenant_id UUID,
  project_id UUID,
  player_id UUID,
  send_id UUID,
  campaign_id Nullable(UUID),
  variant_id Nullable(UUID),
  channel LowCardinality(String),
  status LowCardinality(String),
  error_code LowCardinality(Nullable(String)),
  enqueued_at DateTime64(3, 'UTC'),
  sent_at Nullable(DateTime64(3, 'UTC')),
  delivered_at Nullable(DateTime64(3, 'UTC')),
  opened_at Nullable(DateTime64(3, 'UTC')),
  clicked_at Nullable(DateTime64(3, 'UTC')),
  bounced_at Nullable(DateTime64(3, 'UTC')),
  -- When the copy was made: a time after it is of a clock that is ahead.
  mirrored_at DateTime64(3, 'UTC') default now64(3),
  revision UInt64
)
engine = ReplacingMergeTree(revision)
order by (tenant_id, project_id, player_id, send_id)
settings non_replicated_deduplication_window = 10000;

-- The same sorted for questions about one campaign. The player is no part of the key, so that after a merge the row that
-- names the survivor replaces the old one.
create table campaign_sends as message_sends
engine = ReplacingMergeTree(revision)
order by (tenant_id, project_id, assumeNotNull(campaign_id), send_id)
settings non_replicated_deduplication_window = 10000;

create materialized view message_sends_to_campaign_sends to campaign_sends as
select * from message_sends where campaign_id is not null;
