-- Whether a message of a campaign went out at the player's own hour, or was drawn to go out at once; null: not compared. The
-- second table first: it is filled from the first.
alter table campaign_sends add column if not exists is_own_hour Nullable(UInt8) after assigned_at;
alter table message_sends add column if not exists is_own_hour Nullable(UInt8) after assigned_at;
alter table message_sends_to_campaign_sends modify query
  select * from message_sends where campaign_id is not null;
