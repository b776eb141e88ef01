-- Segments: a definition over players, and who it holds for.
create table segments (
  tenant_id uuid not null,
  project_id uuid not null,
  segment_id uuid not null,
  name text not null,
  description text not null default '',
  -- As it was written; what is derived from it below changes with it.
  definition json not null,
  refresh_strategy text not null check (refresh_strategy in ('realtime', 'scheduled', 'manual')),
  refresh_interval_minutes integer check (refresh_interval_minutes > 0),
  -- What it depends on: `event:<name>`, `profile`, `segment:<id>`.
  reads text[] not null,
  -- The passing windows among that, of realtime segments: [{"reads": …, "span_ms": …}].
  windows jsonb not null default '[]',
  -- When definition or strategy changed last; a refresh follows, so nothing before needs to be seen to pass.
  defined_at timestamptz not null,
  -- The number of its members.
  estimated_size bigint not null default 0,
  last_computed_at timestamptz,
  -- Why the last refresh failed; null once one succeeded.
  last_error text,
  -- Of a refresh under way: {"phase", "started_at", "done", "total"}. What a dead one left is overwritten by the next.
  refresh_progress jsonb,
  -- Of scheduled ones.
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

-- What became of memberships, until it is told: to ClickHouse, which keeps a copy, and on the log. Written in the
-- transaction that changes them; of one player and segment the higher number is the later change.
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

-- Players whose realtime segments are to be looked at again, because what those read has changed in ClickHouse.
create table segment_touches (
  tenant_id uuid not null,
  project_id uuid not null,
  touch_id bigint generated always as identity,
  -- As in segments.reads; `*`: every segment.
  reads text[] not null,
  player_ids uuid[] not null,
  -- Only this segment, which was being refreshed when it was to be looked at.
  segment_id uuid,
  touched_at timestamptz not null,
  primary key (tenant_id, project_id, touch_id)
);
create index segment_touches_in_order on segment_touches (touch_id);
call protect_tenant_table('segment_touches');

-- Up to when the windows of a project's realtime segments have been seen to pass.
create table segment_sweeps (
  tenant_id uuid not null,
  project_id uuid not null,
  swept_at timestamptz not null,
  primary key (tenant_id, project_id)
);
call protect_tenant_table('segment_sweeps');

-- Whether segments have looked at the player since it is in ClickHouse. Set by player-mirror.
alter table players add column is_introduced boolean not null default false;

grant usage on all sequences in schema public to engagement_api, engagement_service;
