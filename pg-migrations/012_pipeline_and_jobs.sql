-- How far processors have come, what operators decided about that, and jobs. Tables without the tenant have no data of
-- tenants.

-- The next offset that the fold will apply; moved by compare-and-set in the transaction that applies a batch.
create table fold_positions (
  topic text not null,
  partition integer not null,
  next_offset bigint not null,
  -- Up to where the events of applied records were emitted; written with the next batch, so it may be too low. What the
  -- group has committed to the log may prove more. Null: not known.
  emitted_offset bigint check (emitted_offset <= next_offset),
  primary key (topic, partition)
);

-- The block that the sink inserts now consists of ranges of several partitions: the rows with its token, each with the range
-- from `next_offset` to `block_end`. It is recorded before the insert, so that after a crash or a rebalance the sink that
-- gets one of the partitions repeats the same rows under the same token. Both columns are null between blocks.
create table sink_positions (
  topic text not null,
  partition integer not null,
  next_offset bigint not null,
  block_end bigint,
  block_token text,
  constraint sink_positions_whole_block check ((block_end is null) = (block_token is null)),
  primary key (topic, partition)
);

-- All changes up to and including (epoch, changed_xid, row_id) are in ClickHouse.
create table mirror_positions (
  name text primary key,
  changed_xid xid8 not null,
  -- The id of a player (player-mirror) or of a send (send-mirror).
  row_id uuid not null,
  epoch integer not null default 0
);

-- The lives of this database. Transaction ids order changes within one life only; the epoch comes before them in every
-- revision in ClickHouse and in every position of a mirror. A new life begins where the ids may have gone back: in
-- another cluster or database, on another timeline, or in an earlier copy of this one.
create table database_epochs (
  epoch integer primary key,
  -- Cluster, database and timeline.
  identity text not null,
  started_at timestamptz not null default now(),
  -- When every row had a transaction id of this life; until then mirrors wait.
  ready_at timestamptz
);

-- Which log the positions of a consumer belong to: the id that the event log gives the topic. Without a row the consumer
-- takes the present one.
create table consumed_logs (
  group_name text not null,
  topic text not null,
  log_id text not null,
  since timestamptz not null default now(),
  primary key (group_name, topic)
);

-- A log that the positions of a consumer did not fit, with the ends of its partitions when that was first seen. The
-- consumer stays stopped on this log until `npm run positions` removes the rows: once the log has grown beyond the
-- positions again, they alone would not show that records between them are others than those that were handled.
create table position_refusals (
  group_name text not null,
  topic text not null,
  log_id text not null,
  partition integer not null,
  end_offset bigint not null,
  refused_at timestamptz not null default now(),
  -- How far the consumer had handled the partition before the log was asked for its ends: its position, and for the sink the
  -- end of its open block. Only a partition that ended before it has lost records. The others are consumed until the consumer
  -- is stopped, so that their present positions may be beyond the end that is recorded here.
  handled_offset bigint,
  primary key (group_name, topic, log_id, partition)
);

-- Dead letters that an operator replayed.
create table dead_letter_replays (
  partition integer not null,
  log_offset bigint not null,
  started_at timestamptz not null,
  -- Null: the replay is running, or the process crashed in it; then it is unknown whether the event is on the log.
  finished_at timestamptz,
  primary key (partition, log_offset)
);

-- Secrets of the whole installation, not of a tenant, encrypted with CREDENTIALS_KEY.
create table installation_secrets (
  name text primary key,
  encrypted bytea not null
);

grant select, insert, update, delete on fold_positions, sink_positions, mirror_positions, database_epochs, consumed_logs,
  position_refusals, dead_letter_replays, installation_secrets to engagement_service;

-- When the stores of a tenant were compared last, and in how many places they differed.
create table reconciliations (
  tenant_id uuid primary key references tenants,
  ended_at timestamptz not null,
  differences bigint not null
);
call protect_tenant_table('reconciliations');

-- A JSON object as ClickHouse gets it: an integer beyond 64 bits, for which ClickHouse would refuse the whole text, gets the
-- exponent 0, with a small e in the object itself and a large one deeper (src/analytics/stored-json.ts does the same with
-- events).
create function stored_json(value jsonb, mark text default 'e+00') returns text
language plpgsql immutable strict parallel safe as $$
begin
  case jsonb_typeof(value)
    when 'object' then
      return '{' || coalesce((
        select string_agg(to_json(m.key)::text || ':' ||
          case when jsonb_typeof(m.value) = 'number' then stored_json(m.value, mark)
            else stored_json(m.value, 'E+00') end, ',')
        from jsonb_each(value) m), '') || '}';
    when 'array' then
      return '[' || coalesce((
        select string_agg(stored_json(e.value, 'E+00'), ',' order by e.ordinality)
        from jsonb_array_elements(value) with ordinality e), '') || ']';
    when 'number' then
      return value::text || case when scale(value::text::numeric) > 0
        or value::text::numeric between -9223372036854775808 and 18446744073709551615 then '' else mark end;
    else return value::text;
  end case;
end $$;

-- Adds a job for graphile-worker (src/platform/jobs) in the caller's transaction. A job has a priority: one tenant's line
-- does not stop another's. The tables of graphile-worker belong to the migrating user and have row-level security without
-- policies, so the other roles can add jobs only by this function.
create function queue_job(
  task text, payload json, max_attempts integer, job_key text, queue text, run_at timestamptz, priority integer default 0
) returns void
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform graphile_worker.add_job(
    identifier => queue_job.task, payload => queue_job.payload, queue_name => queue_job.queue,
    run_at => coalesce(queue_job.run_at, now()), max_attempts => queue_job.max_attempts, job_key => queue_job.job_key,
    priority => queue_job.priority);
end $$;
revoke all on function queue_job from public;
grant execute on function queue_job to engagement_api, engagement_service;

-- The jobs of the caller's tenant that have used up their attempts. The tables of graphile-worker belong to the migrating
-- user, so the other roles read them only by this function.
create function jobs_given_up(most integer)
  returns table (task text, attempts integer, last_error text, created_at timestamptz, given_up_at timestamptz)
  language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  return query
    select t.identifier, j.attempts::integer, j.last_error, j.created_at, j.updated_at
    from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
    where j.attempts >= j.max_attempts and j.locked_at is null
      and j.payload ->> 'tenant_id' = public.current_tenant_id()::text
    order by j.updated_at desc limit jobs_given_up.most;
end $$;
revoke all on function jobs_given_up from public;
grant execute on function jobs_given_up to engagement_api;
