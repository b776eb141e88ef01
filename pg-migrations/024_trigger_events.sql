-- Events that may fire a campaign. An event waits here until ClickHouse has it and what it changed; then it is decided
-- whether it fires. A decided row stays until the event is too old to fire anything, so that an event that comes again
-- is not decided again.
create table trigger_events (
  tenant_id uuid not null,
  project_id uuid not null,
  -- The campaign that the event may fire.
  listener_id uuid not null,
  listener_kind text not null check (listener_kind in ('campaign')),
  -- `<ingestion_id>:<index>`.
  event_key text not null,
  -- The player of the event; the survivor, when the player was merged before the decision.
  player_id uuid not null,
  -- The event's position on `player-events`.
  partition integer not null,
  log_offset bigint not null,
  -- The last change of the player that player-mirror must have copied before the decision.
  player_xid xid8 not null,
  -- The event as it is on the log; null once it is decided, unless it failed.
  value text,
  recorded_at timestamptz not null,
  -- A process is deciding, or the last attempt failed: not to be tried before this time.
  claimed_until timestamptz,
  attempts integer not null default 0,
  -- Why the last attempt failed.
  last_error text,
  decided_at timestamptz,
  -- `fired`; `refused`: the player is not in the segment; `failed`: it could not be decided in time.
  outcome text check (outcome in ('fired', 'refused', 'failed')),
  -- A decided row is deleted after this time.
  keep_until timestamptz not null,
  -- It does not begin like the index of waiting events, so that the planner has one choice, also without statistics:
  -- this one where an event is named, the other one where not.
  primary key (tenant_id, project_id, event_key, listener_id),
  check ((decided_at is null) = (outcome is null))
);
create index trigger_events_waiting on trigger_events (listener_id, partition, log_offset) where decided_at is null;
create index trigger_events_kept on trigger_events (keep_until) where decided_at is not null;
call protect_tenant_table('trigger_events');
