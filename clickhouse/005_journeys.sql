-- Runs of journeys, for queries about one journey: a copy of journey_runs in Postgres, without what changes as a run goes
-- on. The row with the highest revision (the id of the writing transaction) counts.
create table journey_runs (
  tenant_id UUID,
  project_id UUID,
  journey_id UUID,
  run_id UUID,
  -- The version that the run has now, and the player: after a merge the survivor.
  version UInt32,
  player_id UUID,
  -- The run ended at once, without any step.
  is_held_out UInt8,
  started_at DateTime64(3, 'UTC'),
  -- Postgres has the run's steps no more.
  is_archived UInt8,
  revision UInt64
)
engine = ReplacingMergeTree(revision)
order by (tenant_id, project_id, journey_id, run_id)
settings non_replicated_deduplication_window = 10000;

-- The steps of these runs: a copy of journey_steps in Postgres. Those of runs that ended long ago are only here.
create table journey_steps (
  tenant_id UUID,
  project_id UUID,
  journey_id UUID,
  run_id UUID,
  seq UInt32,
  -- The version and the player of the run when the step was copied.
  version UInt32,
  player_id UUID,
  node_id LowCardinality(String),
  node_type LowCardinality(String),
  status LowCardinality(String),
  outcome String,
  next_node_id LowCardinality(Nullable(String)),
  ref Nullable(UUID),
  error_code LowCardinality(Nullable(String)),
  entered_at DateTime64(3, 'UTC'),
  completed_at DateTime64(3, 'UTC'),
  revision UInt64
)
engine = ReplacingMergeTree(revision)
order by (tenant_id, project_id, journey_id, run_id, seq)
settings non_replicated_deduplication_window = 10000;

-- The messages of journeys, sorted for queries about one journey: a copy of those rows of message_sends in Postgres.
create table journey_sends (
  tenant_id UUID,
  project_id UUID,
  journey_id UUID,
  send_id UUID,
  run_id UUID,
  node_id LowCardinality(String),
  player_id UUID,
  status LowCardinality(String),
  error_code LowCardinality(Nullable(String)),
  sent_at Nullable(DateTime64(3, 'UTC')),
  delivered_at Nullable(DateTime64(3, 'UTC')),
  opened_at Nullable(DateTime64(3, 'UTC')),
  clicked_at Nullable(DateTime64(3, 'UTC')),
  bounced_at Nullable(DateTime64(3, 'UTC')),
  revision UInt64
)
engine = ReplacingMergeTree(revision)
order by (tenant_id, project_id, journey_id, send_id)
settings non_replicated_deduplication_window = 10000;
