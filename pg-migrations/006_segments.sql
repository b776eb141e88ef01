-- Segments: definitions over players, and their members.

-- What failed about a segment is set aside and tried again by itself, while everything else goes on.
create table segments (
  tenant_id uuid not null,
  project_id uuid not null,
  segment_id uuid not null,
  name text not null,
  description text not null default '',
  -- As the caller wrote it; `reads` and `windows` are derived from it.
  definition json not null,
  refresh_strategy text not null check (refresh_strategy in ('realtime', 'scheduled', 'manual')),
  refresh_interval_minutes integer check (refresh_interval_minutes > 0),
  -- The data that the definition depends on: `event:<name>`, `profile`, `segment:<id>`.
  reads text[] not null,
  -- The time windows of a realtime segment, through whose passing members change: [{"reads": …, "span_ms": …}].
  windows jsonb not null default '[]',
  -- When definition or strategy changed last. A refresh follows, so windows that passed before need no evaluation.
  defined_at timestamptz not null,
  -- The number of members.
  estimated_size bigint not null default 0,
  last_computed_at timestamptz,
  -- Why the last refresh failed; null after a successful one.
  last_error text,
  -- The progress of a running refresh: {"phase", "started_at", "done", "total"}. After a crash the next refresh
  -- overwrites it.
  refresh_progress jsonb,
  -- For scheduled segments only.
  next_refresh_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  -- Evaluations of the segment that failed one after the other. While it is not 0, the segment is evaluated alone, from
  -- evaluation_retry_at on; its players wait in dirty_players as entries of the segment.
  evaluation_failures integer not null default 0,
  evaluation_retry_at timestamptz,
  -- Refreshes that failed one after the other.
  refresh_failures integer not null default 0,
  -- When to refresh the segment again: its members may be incomplete, because a refresh failed, was interrupted, or is
  -- still to begin. Null: nothing is missing.
  refresh_retry_at timestamptz,
  foreign key (tenant_id, project_id) references projects,
  primary key (tenant_id, project_id, segment_id),
  check ((refresh_strategy = 'scheduled') = (refresh_interval_minutes is not null))
);
create index segments_realtime on segments (tenant_id, project_id)
  where refresh_strategy = 'realtime' and deleted_at is null;
create index segments_due on segments (next_refresh_at)
  where refresh_strategy = 'scheduled' and deleted_at is null;
create index segments_set_aside on segments (evaluation_retry_at) where evaluation_failures > 0;
create index segments_unfinished on segments (refresh_retry_at) where refresh_retry_at is not null;
create index segments_by_age on segments (tenant_id, project_id, created_at desc, segment_id desc)
  where created_at > '-infinity';
call protect_tenant_table('segments');

create table segment_members (
  tenant_id uuid not null,
  project_id uuid not null,
  segment_id uuid not null,
  player_id uuid not null,
  entered_at timestamptz not null,
  primary key (segment_id, player_id, tenant_id, project_id)
);
create index segment_members_by_player on segment_members (player_id, tenant_id, project_id);
call protect_tenant_table('segment_members');

-- The outbox of membership changes: rows stay until they are published to ClickHouse, which has a copy of memberships,
-- and to the log. Written in the transaction that changes the memberships. For one player and segment a higher
-- change_id is a later change.
create table segment_changes (
  tenant_id uuid not null,
  project_id uuid not null,
  change_id bigint generated always as identity,
  segment_id uuid not null,
  has_entered boolean not null,
  player_ids uuid[] not null,
  changed_at timestamptz not null,
  primary key (tenant_id, project_id, change_id)
);
create index segment_changes_in_order on segment_changes (change_id);
call protect_tenant_table('segment_changes');

-- Players to be evaluated again in realtime segments, because data that those read has changed in ClickHouse.
create table dirty_players (
  tenant_id uuid not null,
  project_id uuid not null,
  entry_id bigint generated always as identity,
  -- As in segments.reads; `*`: every segment.
  reads text[] not null,
  player_ids uuid[] not null,
  -- Only this segment: it was being refreshed when it was to be evaluated. Null: every segment that reads the data.
  segment_id uuid,
  marked_at timestamptz not null,
  primary key (tenant_id, project_id, entry_id)
);
create index dirty_players_in_order on dirty_players (entry_id);
create index dirty_players_by_segment on dirty_players (tenant_id, project_id, segment_id, entry_id)
  where segment_id is not null;
call protect_tenant_table('dirty_players');

-- The time up to which passing windows of a project's realtime segments were handled.
create table segment_sweeps (
  tenant_id uuid not null,
  project_id uuid not null,
  swept_at timestamptz not null,
  primary key (tenant_id, project_id)
);
call protect_tenant_table('segment_sweeps');

-- Windows of realtime segments that could not be swept together with the others of their project. Each is swept alone,
-- from swept_at on, and returns to the others once it has reached their position in segment_sweeps.
create table segment_window_sweeps (
  tenant_id uuid not null,
  project_id uuid not null,
  -- As in segments.windows.
  passing_window jsonb not null,
  swept_at timestamptz not null,
  -- Sweeps that failed one after the other, and why the last one did; null after one that succeeded.
  failures integer not null,
  last_error text,
  retry_at timestamptz not null,
  primary key (tenant_id, project_id, passing_window)
);
create index segment_window_sweeps_due on segment_window_sweeps (retry_at);
call protect_tenant_table('segment_window_sweeps');

-- How many members a segment had at full hours. A size that has not changed since the last row of the segment is written
-- at midnight only, and after a month only the rows of midnight are kept.
create table segment_sizes (
  tenant_id uuid not null,
  project_id uuid not null,
  segment_id uuid not null,
  counted_at timestamptz not null,
  size bigint not null,
  primary key (tenant_id, project_id, segment_id, counted_at)
);
-- What is old is removed by time.
create index segment_sizes_by_time on segment_sizes (counted_at);
call protect_tenant_table('segment_sizes');


grant usage on sequence segment_changes_change_id_seq, dirty_players_entry_id_seq to engagement_api, engagement_service;
