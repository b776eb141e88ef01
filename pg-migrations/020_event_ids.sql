-- The dedupe_ids by which events without a reference count once. The row is the claim, as in the ledger.
create table event_ids (
  -- 128 bits of the SHA-256 of project, event and dedupe_id: of one size, and no text that may name a person.
  event_key uuid not null,
  tenant_id uuid not null,
  project_id uuid not null,
  -- The player that claimed it; readers join player_merges.
  player_id uuid not null,
  -- The record that made the claim: a replay gives it the same verdict again.
  log_partition smallint not null,
  log_offset bigint not null,
  claimed_at timestamptz not null,
  primary key (event_key, tenant_id, project_id)
);
-- For the removal of old rows.
create index event_ids_by_age on event_ids (claimed_at);
call protect_tenant_table('event_ids');
