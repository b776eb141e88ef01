-- The event log of the embedded wiring (with servers it is Kafka). One process owns it and assigns the offsets.
create schema event_log;

create table event_log.topics (
  topic_id smallint generated always as identity primary key,
  topic text not null unique,
  partitions smallint not null,
  -- Which log the offsets of a topic belong to. A dump keeps it, as it keeps the records; a new log has another one.
  log_id uuid not null default gen_random_uuid()
);

create table event_log.records (
  topic_id smallint not null,
  partition smallint not null,
  log_offset bigint not null,
  key text not null,
  value text not null,
  primary key (topic_id, partition, log_offset)
);

create table event_log.group_positions (
  group_name text not null,
  topic_id smallint not null,
  partition smallint not null,
  next_offset bigint not null,
  primary key (group_name, topic_id, partition)
);
