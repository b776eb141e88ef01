-- When the player had passed the gate and was drawn, as in Postgres. The second table first: it is filled from the first.
alter table campaign_sends add column if not exists assigned_at Nullable(DateTime64(3, 'UTC')) after enqueued_at;
alter table message_sends add column if not exists assigned_at Nullable(DateTime64(3, 'UTC')) after enqueued_at;
alter table message_sends_to_campaign_sends modify query
  select * from message_sends where campaign_id is not null;

alter table journey_runs add column if not exists is_held_out_globally UInt8 default 0 after is_held_out;

-- The members of a bonus campaign who were drawn: copied from Postgres when an effect is asked for, so a copy may be
-- repeated. `is_held_out`: 1 by the campaign, 2 by the project.
create table bonus_assignments (
  tenant_id UUID,
  project_id UUID,
  campaign_id UUID,
  player_id UUID,
  is_held_out UInt8,
  assigned_at DateTime64(3, 'UTC'),
  revision UInt64
)
engine = ReplacingMergeTree(revision)
order by (tenant_id, project_id, campaign_id, player_id)
settings non_replicated_deduplication_window = 10000;
