-- Journeys: their definitions, the runs of players through them, what runs wait for, and the webhooks that they call. A run's
-- row changes once per rest; what is found by time or by event is in narrow tables of their own, so that these updates touch
-- no index.

-- Events that may fire a campaign or start runs of a journey. An event waits here until ClickHouse has it and what it
-- changed; then it is decided whether it fires. A decided row stays until the event is too old to fire anything, so that an
-- event that comes again is not decided again.
create table trigger_events (
  tenant_id uuid not null,
  project_id uuid not null,
  -- The campaign or journey.
  listener_id uuid not null,
  listener_kind text not null check (listener_kind in ('campaign', 'journey')),
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
  -- The log that `partition` and `log_offset` point into; null: not known. Whatever the log, a `log_offset` of -1 is no place,
  -- because the log does not have it any more: the event does not wait.
  log_id text,
  -- It does not begin like the index of waiting events, so that the planner has one choice, also without statistics:
  -- this one where an event is named, the other one where not.
  primary key (tenant_id, project_id, event_key, listener_id),
  check ((decided_at is null) = (outcome is null))
);
create index trigger_events_waiting on trigger_events (listener_id, partition, log_offset) where decided_at is null;
create index trigger_events_kept on trigger_events (keep_until) where decided_at is not null;
call protect_tenant_table('trigger_events');

-- Events of which nobody can say yet whether a filter of a journey lets them pass: it compares an amount in another
-- currency, and no rate is known. Once the rate is, the event has amounts in the base currency here, and is looked at again
-- as if it came then, at its own place on the log. What no rate decides within a day is deleted.
create table unrated_events (
  tenant_id uuid not null,
  project_id uuid not null,
  ingestion_id uuid not null,
  event_index smallint not null,
  -- The event's position on `player-events`.
  partition integer not null,
  log_offset bigint not null,
  -- The id of that log. Null: not known, because the event has lost its place.
  log_id text,
  -- The event as it is on the log.
  value text not null,
  held_at timestamptz not null,
  -- Set when the rate is known, in the smallest unit of the base currency.
  is_rated boolean not null default false,
  base_amount bigint,
  base_payout bigint,
  primary key (tenant_id, project_id, ingestion_id, event_index)
);
create index unrated_events_rated on unrated_events (tenant_id, project_id, ingestion_id, event_index) where is_rated;
create index unrated_events_held on unrated_events (held_at);
call protect_tenant_table('unrated_events');

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
-- Empty, because the values of headers are stored encrypted; nothing reads it.
create index journeys_in_clear on journeys (tenant_id, project_id, journey_id)
  where jsonb_path_exists(graph, '$.nodes[*] ? (@.type == "call_webhook").headers.* ? (@.type() == "string")');
call protect_tenant_table('journeys');

-- Never changed, but for the encryption of headers.
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
-- Empty; nothing reads it.
create index journey_versions_in_clear on journey_versions (tenant_id, project_id, journey_id, version)
  where jsonb_path_exists(graph, '$.nodes[*] ? (@.type == "call_webhook").headers.* ? (@.type() == "string")');
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
  -- Runs are copied to ClickHouse when they begin, and when they get another player or version or lose their steps. Nothing
  -- else writes it, so a run that goes on changes no index by it.
  changed_xid xid8 not null default pg_current_xact_id(),
  -- Its steps were removed: only ClickHouse has them.
  is_archived boolean not null default false,
  -- No foreign key: thousands of runs begin at once, whose tenant and project come from their journey.
  primary key (run_id, tenant_id, project_id)
-- A run is updated at every rest, and most runs soon after they have begun: a page that was filled to 80 % has room for a
-- quarter of its rows only, and each of the other updates writes all indexes.
) with (fillfactor = 50);
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
create index journey_runs_by_change on journey_runs (changed_xid, run_id);
-- Ended runs that have their steps.
create index journey_runs_to_archive on journey_runs (completed_at, run_id) where status <> 'running' and not is_archived;
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
  -- Names the entry: the journey's segment, or the occurrence of its schedule. The members of a segment enter once, not again
  -- when the journey is resumed.
  occasion text not null,
  from_player_id uuid not null,
  to_player_id uuid not null,
  -- Who became a member of the segment from then on enters in another way; null: all members enter.
  members_before timestamptz,
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

-- Events that more runs of one player wait for, or end by, than the matcher looks at before the next event. It looks at the
-- others page by page, apart from the log.
create table journey_match_rests (
  tenant_id uuid not null,
  project_id uuid not null,
  -- The event's place on `player-events`.
  log_id text not null,
  partition integer not null,
  log_offset bigint not null,
  -- It looks for runs that the event ends; after those, for runs that it wakes.
  ends boolean not null,
  -- The runs up to here were looked at.
  after_run_id uuid not null,
  -- When a page was looked at last: events take turns.
  looked_at timestamptz not null default now(),
  -- An event that was noted a day ago is too old to wake or end a run: it is deleted, even if it could never be read.
  noted_at timestamptz not null,
  primary key (tenant_id, project_id, log_id, partition, log_offset)
);
create index journey_match_rests_in_turn on journey_match_rests (looked_at);
create index journey_match_rests_noted on journey_match_rests (noted_at);
call protect_tenant_table('journey_match_rests');

-- The messages that a journey sends through one provider.
create table journey_queues (
  tenant_id uuid not null,
  project_id uuid not null,
  -- Follows from the journey and the provider.
  queue_id uuid not null,
  journey_id uuid not null,
  provider_id uuid not null,
  channel text not null check (channel in ('email', 'sms', 'push')),
  primary key (tenant_id, project_id, queue_id)
);
call protect_tenant_table('journey_queues');

create table webhook_secrets (
  tenant_id uuid not null,
  project_id uuid not null,
  secret_id uuid not null,
  -- Encrypted; null once it is deleted.
  secret bytea,
  created_at timestamptz not null,
  deleted_at timestamptz,
  primary key (tenant_id, project_id, secret_id),
  foreign key (tenant_id, project_id) references projects,
  check ((secret is null) = (deleted_at is not null))
);
call protect_tenant_table('webhook_secrets');

create table webhook_deliveries (
  tenant_id uuid not null,
  project_id uuid not null,
  -- Follows from run and node: a node of a run calls once.
  event_id uuid not null,
  journey_id uuid not null,
  journey_version integer not null,
  run_id uuid not null,
  node_id text not null,
  seq integer not null,
  player_id uuid not null,
  url text not null,
  -- Host and port of the URL; with the tenant it is the lane in which deliveries take turns.
  host text not null,
  -- The values are encrypted, as {"sealed": "…"}; so are those in the graphs of journeys.
  headers jsonb not null,
  timeout_ms integer not null,
  max_attempts integer not null,
  -- Null: the long schedule, because no run waits.
  backoff_ms integer,
  wait_for_response boolean not null,
  save_as text,
  -- {player, context, data} of the moment of the step, of which the body is made; null once it is.
  source jsonb,
  -- The body, the same bytes in every attempt.
  payload text,
  status text not null check (status in ('pending', 'delivered', 'failed', 'cancelled')),
  attempts integer not null default 0,
  -- Attempts that do not count: of the time before somebody had it delivered again, and interrupted ones.
  attempts_before integer not null default 0,
  -- When the next attempt is due. While one is made: when it is taken for lost.
  next_at timestamptz not null,
  attempted_at timestamptz,
  -- Of the last attempt: the status of the answer, a code, what it stands for, and how the answer begins.
  last_status integer,
  last_error text,
  last_reason text,
  response text,
  created_at timestamptz not null,
  -- A pending delivery is given up then.
  expires_at timestamptz not null,
  completed_at timestamptz,
  primary key (tenant_id, event_id),
  check ((status = 'pending') = (completed_at is null)),
  check (source is not null or payload is not null or status <> 'pending')
);
create index webhook_deliveries_due on webhook_deliveries (tenant_id, host, next_at) where status = 'pending';
create index webhook_deliveries_of_run on webhook_deliveries (run_id, tenant_id, project_id) where status = 'pending';
create index webhook_deliveries_ended on webhook_deliveries (completed_at) where status <> 'pending';
create index webhook_deliveries_listed on webhook_deliveries (journey_id, created_at desc, event_id desc, tenant_id, project_id)
  where created_at > '-infinity';
-- The webhooks of all journeys of a project, the newest first, by status. The list of all statuses merges four ranges.
create index webhook_deliveries_of_project
  on webhook_deliveries (project_id, status, created_at desc, event_id desc, tenant_id)
  where created_at > '-infinity';
-- An erasure finds by the player what is named by the run otherwise.
create index webhook_deliveries_of_player on webhook_deliveries (player_id, tenant_id, project_id);
-- Empty; nothing reads it.
create index webhook_deliveries_in_clear on webhook_deliveries (tenant_id, event_id)
  where jsonb_path_exists(headers, '$.* ? (@.type() == "string")');
call protect_tenant_table('webhook_deliveries');
