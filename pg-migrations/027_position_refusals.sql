-- A log that the positions of a consumer did not fit, with the ends of its partitions when that was first seen. The
-- consumer stays stopped on this log until `npm run positions` removes the rows: once the log has grown beyond the
-- positions again, they alone would not show that records between them are others than those that were handled. This
-- table has no data of tenants.
create table position_refusals (
  group_name text not null,
  topic text not null,
  log_id text not null,
  partition integer not null,
  end_offset bigint not null,
  refused_at timestamptz not null default now(),
  primary key (group_name, topic, log_id, partition)
);
grant select, insert, update, delete on position_refusals to engagement_service;

-- The log that `partition` and `log_offset` point into. Null: an earlier version recorded the event, and its place is taken
-- for one of the log that the sink is in. Whatever the log, a `log_offset` of -1 is no place: the event does not wait.
alter table trigger_events add column log_id text;
