-- Positions know what they point into. These tables have no data of tenants.

-- Which log the positions of a consumer belong to: the id that the event log gives the topic. Without a row the consumer
-- takes the present one.
create table consumed_logs (
  group_name text not null,
  topic text not null,
  log_id text not null,
  since timestamptz not null default now(),
  primary key (group_name, topic)
);

-- Up to where the events of applied records were emitted; written with the next batch, so it may be too low. What the
-- group has committed to the log may prove more. Null: not known.
alter table fold_positions add column emitted_offset bigint check (emitted_offset <= next_offset);

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

alter table mirror_positions add column epoch integer not null default 0;

grant select, insert, update, delete on consumed_logs, database_epochs to engagement_service;
