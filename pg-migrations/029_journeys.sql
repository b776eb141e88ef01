-- Journeys: their definitions, the runs of players through them, and what runs wait for. A run's row changes once per
-- rest; what is found by time or by event is in narrow tables beside it, so that these updates touch no index.

create table journeys (
  tenant_id uuid not null,
  project_id uuid not null,
  journey_id uuid not null,
  name text not null,
  status text not null check (status in ('draft', 'active', 'paused')),
  -- As last saved; what runs is the version.
  trigger jsonb not null,
  graph jsonb not null,
  settings jsonb not null,
  -- The version of which new runs are; null: never activated.
  version integer,
  -- Of the live version: null where it is not started by an event.
  trigger_event text,
  -- Since when events may start runs.
  activated_at timestamptz,
  paused_at timestamptz,
  -- Runs stand still.
  is_held boolean not null default false,
  -- Activated then after it was held: runs that came due before stand still until a job has given them their timers again.
  resuming_since timestamptz,
  -- Why events that may start runs wait.
  last_error text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (tenant_id, project_id, journey_id),
  foreign key (tenant_id, project_id) references projects
);
create index journeys_listed on journeys (tenant_id, project_id, created_at, journey_id) where deleted_at is null;
create index journeys_listening on journeys (tenant_id, project_id, trigger_event)
  where status = 'active' and deleted_at is null;
call protect_tenant_table('journeys');

-- Never changed.
create table journey_versions (
  tenant_id uuid not null,
  project_id uuid not null,
  journey_id uuid not null,
  version integer not null,
  trigger jsonb not null,
  graph jsonb not null,
  settings jsonb not null,
  published_at timestamptz not null,
  -- The user; null: the service.
  published_by text,
  primary key (tenant_id, project_id, journey_id, version),
  foreign key (tenant_id, project_id, journey_id) references journeys
);
call protect_tenant_table('journey_versions');

-- The events that runs of a version may wait for, or that end them.
create table journey_watched (
  tenant_id uuid not null,
  project_id uuid not null,
  -- Of the kind `segment_exited`: the segment.
  event text not null,
  journey_id uuid not null,
  version integer not null,
  kind text not null check (kind in ('wait', 'exit', 'goal', 'segment_exited')),
  primary key (tenant_id, project_id, event, journey_id, version, kind)
);
create index journey_watched_of_version on journey_watched (journey_id, version, tenant_id, project_id);
call protect_tenant_table('journey_watched');

create table journey_runs (
  tenant_id uuid not null,
  project_id uuid not null,
  run_id uuid not null,
  journey_id uuid not null,
  version integer not null,
  player_id uuid not null,
  status text not null check (status in ('running', 'completed', 'failed', 'cancelled')),
  -- The node on which the run stands or ended, and the number of its step there.
  node_id text not null,
  seq integer not null,
  -- Null: the node is entered when the timer comes due.
  entered_at timestamptz,
  due_at timestamptz,
  -- What ended the rest before `due_at`.
  woken_by jsonb,
  -- What started the run: one of a kind starts one run. `once` where the player may enter only once.
  trigger_key text not null,
  re_entry text not null check (re_entry in ('once', 'after_exit', 'always')),
  -- {kind, event?, ingestion_id?}
  trigger jsonb not null,
  context jsonb not null,
  -- From where on the log of resolved events the player's events count as later than the start: behind the event that
  -- started the run. Null: `started_at` decides. A partition below 0, -1 minus the former one: the player was merged and
  -- has events on others, too, of which `started_at` decides.
  partition smallint,
  log_id text,
  from_offset bigint,
  outcome text check (outcome in ('ended', 'exited', 'goal', 'held_out')),
  error_code text,
  -- The user, or `merged`, `resume`, `journey_deleted`, `player_deleted`.
  cancelled_by text,
  started_at timestamptz not null,
  completed_at timestamptz,
  -- No foreign key: thousands of runs begin at once, whose tenant and project come from their journey.
  primary key (run_id, tenant_id, project_id)
) with (fillfactor = 80);
create unique index journey_runs_once on journey_runs (journey_id, player_id, trigger_key, tenant_id, project_id);
create unique index journey_runs_single on journey_runs (journey_id, player_id, tenant_id, project_id)
  where status = 'running' and re_entry <> 'always';
create index journey_runs_of_version on journey_runs (journey_id, version, tenant_id, project_id) where status = 'running';
-- The running runs of a player, however many runs the player had.
create index journey_runs_running_of_player on journey_runs (player_id, journey_id, tenant_id, project_id)
  where status = 'running';
-- For the walk over all running runs. Without the tenant: no other question may take it for its own.
create index journey_runs_running on journey_runs (run_id) where status = 'running';
create index journey_runs_listed on journey_runs (journey_id, started_at desc, run_id desc, tenant_id, project_id);
create index journey_runs_by_status on journey_runs (journey_id, status, started_at desc, run_id desc, tenant_id, project_id);
create index journey_runs_of_player on journey_runs (player_id, started_at desc, run_id desc, tenant_id, project_id);
call protect_tenant_table('journey_runs');

-- When runs go on: a row per run that rests. A row whose `seq` is not the run's is of an earlier rest and is dropped.
create table journey_timers (
  tenant_id uuid not null,
  project_id uuid not null,
  due_at timestamptz not null,
  run_id uuid not null,
  seq integer not null,
  primary key (tenant_id, project_id, due_at, run_id)
) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
-- With the run, so that looking up one of many timers of the same moment by this index reads one, too.
create index journey_timers_due on journey_timers (due_at, run_id);
call protect_tenant_table('journey_timers');

-- The events that runs wait for. A row without an event stands for those that end the run by `exit_on` or its goal: it
-- goes as soon as the events were looked at that were read while the run was not visible yet.
create table journey_waits (
  tenant_id uuid not null,
  project_id uuid not null,
  event text not null,
  player_id uuid not null,
  run_id uuid not null,
  seq integer not null,
  -- An event counts that was accepted by the stream at this place or after it.
  partition smallint not null,
  log_id text not null,
  from_offset bigint not null,
  since timestamptz not null,
  -- Whether the events were looked at that were read while the row was not visible yet.
  is_checked boolean not null default false,
  primary key (tenant_id, project_id, event, player_id, run_id)
);
create index journey_waits_of_run on journey_waits (run_id, tenant_id, project_id);
create index journey_waits_unchecked on journey_waits (since) where not is_checked;
call protect_tenant_table('journey_waits');

-- One row per node that is done; never changed.
create table journey_steps (
  tenant_id uuid not null,
  project_id uuid not null,
  run_id uuid not null,
  seq integer not null,
  node_id text not null,
  node_type text not null,
  status text not null check (status in ('completed', 'skipped', 'failed')),
  outcome text not null,
  next_node_id text,
  entered_at timestamptz not null,
  completed_at timestamptz not null,
  -- The message, the webhook's event or the grant of the step.
  ref uuid,
  error_code text,
  changed_xid xid8 not null default pg_current_xact_id(),
  primary key (run_id, seq, tenant_id, project_id)
);
create index journey_steps_by_change on journey_steps (changed_xid, run_id, seq);
call protect_tenant_table('journey_steps');

-- Ranges of players that enter a journey together: one transaction each, so that an entry that was interrupted goes on.
create table journey_batches (
  tenant_id uuid not null,
  project_id uuid not null,
  journey_id uuid not null,
  version integer not null,
  -- Names the entry: the journey's activation, or the occurrence of its schedule.
  occasion text not null,
  from_player_id uuid not null,
  to_player_id uuid not null,
  primary key (tenant_id, project_id, journey_id, occasion, from_player_id)
);
create index journey_batches_open on journey_batches (journey_id, from_player_id);
call protect_tenant_table('journey_batches');

-- Entries that have begun, so that they begin once: a range that is done is removed.
create table journey_occasions (
  tenant_id uuid not null,
  project_id uuid not null,
  journey_id uuid not null,
  occasion text not null,
  begun_at timestamptz not null default now(),
  primary key (tenant_id, project_id, journey_id, occasion)
);
call protect_tenant_table('journey_occasions');

-- Up to where the matcher is about to look events up, per partition of a log.
create table journey_readers (
  log_id text not null,
  partition integer not null,
  reading_to bigint not null,
  primary key (log_id, partition)
);
grant select, insert, update, delete on journey_readers to engagement_service;
