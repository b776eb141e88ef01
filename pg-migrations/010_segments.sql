-- Segments: definitions over players, and their members.
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
  foreign key (tenant_id, project_id) references projects,
  primary key (tenant_id, project_id, segment_id),
  check ((refresh_strategy = 'scheduled') = (refresh_interval_minutes is not null))
);
create index segments_by_age on segments (tenant_id, project_id, created_at desc, segment_id desc);
create index segments_realtime on segments (tenant_id, project_id)
  where refresh_strategy = 'realtime' and deleted_at is null;
create index segments_due on segments (next_refresh_at)
  where refresh_strategy = 'scheduled' and deleted_at is null;
call protect_tenant_table('segments');

create table segment_members (
  tenant_id uuid not null,
  project_id uuid not null,
  segment_id uuid not null,
  player_id uuid not null,
  entered_at timestamptz not null,
  primary key (tenant_id, project_id, segment_id, player_id)
);
create index segment_members_by_player on segment_members (tenant_id, project_id, player_id);
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

-- Dirty players: to be evaluated again in realtime segments, because data that those read has changed in ClickHouse.
create table segment_touches (
  tenant_id uuid not null,
  project_id uuid not null,
  touch_id bigint generated always as identity,
  -- As in segments.reads; `*`: every segment.
  reads text[] not null,
  player_ids uuid[] not null,
  -- Only this segment: it was being refreshed when it was to be evaluated. Null: every segment that reads the data.
  segment_id uuid,
  touched_at timestamptz not null,
  primary key (tenant_id, project_id, touch_id)
);
create index segment_touches_in_order on segment_touches (touch_id);
call protect_tenant_table('segment_touches');

-- The time up to which passing windows of a project's realtime segments were handled.
create table segment_sweeps (
  tenant_id uuid not null,
  project_id uuid not null,
  swept_at timestamptz not null,
  primary key (tenant_id, project_id)
);
call protect_tenant_table('segment_sweeps');

-- Whether the player was queued for every segment after it came to ClickHouse. Set by player-mirror.
alter table players add column is_introduced boolean not null default false;

grant usage on all sequences in schema public to engagement_api, engagement_service;
