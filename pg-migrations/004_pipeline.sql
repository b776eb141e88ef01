-- The positions of processors. These tables have no data of tenants.

-- The next offset that the fold will apply; moved by compare-and-set in the transaction that applies a batch.
create table fold_positions (
  topic text not null,
  partition integer not null,
  next_offset bigint not null,
  primary key (topic, partition)
);

-- The block that the sink inserts now (`next_offset` to `block_end`). It is recorded before the insert, so that a
-- restart repeats the same block under the same token. `block_end` is null between blocks.
create table sink_positions (
  topic text not null,
  partition integer not null,
  next_offset bigint not null,
  block_end bigint,
  primary key (topic, partition)
);

-- All changes up to and including (changed_xid, player_id) are in ClickHouse.
create table mirror_positions (
  name text primary key,
  changed_xid xid8 not null,
  player_id uuid not null
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

grant select, insert, update, delete on fold_positions, sink_positions, mirror_positions, dead_letter_replays
  to engagement_service;
