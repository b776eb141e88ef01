-- Events and requests that intake refused: one row for each cause of a project on a UTC day, with a count.
create table rejected_events (
  -- 128 bits of the SHA-256 of the day and of what is the same in all that the row counts.
  rejection_key uuid not null,
  tenant_id uuid not null,
  project_id uuid not null,
  -- Null: of any key, in the row that counts what is not kept one by one.
  key_id uuid,
  code text not null,
  reason text not null,
  -- The name of the event as it was sent, cut. Null: the request was refused as a whole, or it had no name.
  event text,
  -- The library of the client, or its kind.
  client text not null,
  -- The place in its batch of the event that came first. Null: it came alone, or the request was refused as a whole.
  event_index integer,
  -- The names and types in the event that came first: no values, so that an erasure has nothing to find here.
  shape text,
  rejections bigint not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  primary key (tenant_id, project_id, rejection_key)
);
-- The list, and the number of rows that a project has of a day.
create index rejected_events_by_time on rejected_events (tenant_id, project_id, last_at, rejection_key)
  where last_at > '-infinity';
-- For the removal of old rows.
create index rejected_events_by_age on rejected_events (last_at);
call protect_tenant_table('rejected_events');
