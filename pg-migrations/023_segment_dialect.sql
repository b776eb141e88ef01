-- Events that their senders named (a messageId of the Segment dialect): the first one with a name stands, whatever comes
-- later under it. Repetitions with the same time are dropped by ClickHouse for ever, too, so most rows are kept for days only.
create table sent_ids (
  -- The ingestion_id, which follows from the API key and the name: no text that may name a person.
  sent_id uuid not null,
  tenant_id uuid not null,
  -- The record that made the claim: a replay gives it the same verdict again.
  log_offset bigint not null,
  kept_until date not null,
  log_partition smallint not null,
  primary key (sent_id, tenant_id)
);
-- For the removal of old rows.
create index sent_ids_by_end on sent_ids (kept_until);
call protect_tenant_table('sent_ids');

-- When the traits were known that identify has written last: older ones do not overwrite them. Null: before this was kept.
alter table players add column identified_at timestamptz;
