-- The changes of the tiers of a project's players, the newest first.
create index player_tier_history_listed
  on player_tier_history (tenant_id, project_id, occurred_at desc, entry_id desc)
  where occurred_at > '-infinity';
