-- Lists of compliance officers when they are narrowed: before, they read the list of everything until a page was full.
create index message_sends_blocked_by_code
  on message_sends (tenant_id, project_id, error_code, enqueued_at desc, send_id desc)
  where error_code in ('SKIPPED_SELF_EXCLUDED', 'SKIPPED_COOLDOWN', 'SKIPPED_AT_RISK', 'SKIPPED_BANNED');

-- The reason comes first, so that lists of all reasons do not use it.
create index suppressions_by_reason on suppressions (reason, tenant_id, created_at desc, suppression_id desc)
  where created_at > '-infinity';

-- Exclusions in force have no end; of those that have one, few are in force: breaks, of which most are over.
create index player_exclusions_open on player_exclusions (tenant_id, project_id, accepted_at desc, exclusion_id desc)
  where accepted_at > '-infinity' and ended_at is null and ends_at is null;
create index player_exclusions_by_end on player_exclusions (tenant_id, project_id, least(ended_at, ends_at))
  where least(ended_at, ends_at) is not null;
