-- Messages to players, sorted for queries about players: a copy of message_sends in Postgres. The row with the highest
-- revision (the id of the writing transaction) counts. Skipped messages are rows too, with the status failed.
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
  -- When the row was copied. A later time in another column comes from a clock that is ahead.
  mirrored_at DateTime64(3, 'UTC') default now64(3),
  revision UInt64
)
engine = ReplacingMergeTree(revision)
order by (tenant_id, project_id, player_id, send_id)
settings non_replicated_deduplication_window = 10000;

-- The same sorted for queries about one campaign. The player is not part of the key, so that after a merge the row with
-- the survivor's id replaces the old row.
create table campaign_sends as message_sends
engine = ReplacingMergeTree(revision)
order by (tenant_id, project_id, assumeNotNull(campaign_id), send_id)
settings non_replicated_deduplication_window = 10000;

create materialized view message_sends_to_campaign_sends to campaign_sends as
select * from message_sends where campaign_id is not null;
