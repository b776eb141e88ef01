-- Runs are copied to ClickHouse when they begin, and when they get another player or version or lose their steps. Nothing
-- else writes `changed_xid`, so a run that goes on changes no index by it.
alter table journey_runs
  add column changed_xid xid8 not null default pg_current_xact_id(),
  -- Its steps were removed: only ClickHouse has them.
  add column is_archived boolean not null default false;
create index journey_runs_by_change on journey_runs (changed_xid, run_id);
-- Ended runs that have their steps.
create index journey_runs_to_archive on journey_runs (completed_at, run_id) where status <> 'running' and not is_archived;
