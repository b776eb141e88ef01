-- What failed about a segment is set aside and tried again by itself, while everything else goes on.
alter table segments
  -- Evaluations of the segment that failed one after the other. While it is not 0, the segment is evaluated alone, from
  -- evaluation_retry_at on; its players wait in dirty_players as entries of the segment.
  add column evaluation_failures integer not null default 0,
  add column evaluation_retry_at timestamptz,
  -- Refreshes that failed one after the other.
  add column refresh_failures integer not null default 0,
  -- When to refresh the segment again: its members may be incomplete, because a refresh failed, was interrupted, or is
  -- still to begin. Null: nothing is missing.
  add column refresh_retry_at timestamptz;
create index segments_set_aside on segments (evaluation_retry_at) where evaluation_failures > 0;
create index segments_unfinished on segments (refresh_retry_at) where refresh_retry_at is not null;

create index dirty_players_by_segment on dirty_players (tenant_id, project_id, segment_id, entry_id)
  where segment_id is not null;

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
