-- Events of which nobody can say yet whether a filter of a journey lets them pass: it compares an amount in another
-- currency, and no rate is known. Once the rate is, the event has amounts in the base currency here, and is looked at again
-- as if it came then, at its own place on the log. What no rate decides within a day is deleted.
create table unrated_events (
  tenant_id uuid not null,
  project_id uuid not null,
  ingestion_id uuid not null,
  event_index smallint not null,
  -- The event's position on `player-events`, and the id of that log.
  partition integer not null,
  log_offset bigint not null,
  log_id text not null,
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
