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
