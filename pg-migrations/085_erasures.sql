-- People who were forgotten: who asked for it, why, and how far it is. A row is made when an admin asks, and is begun when
-- the admin has confirmed with the token. Reasons are written by admins, whom the documentation asks to name nobody in them.
create table erasures (
  tenant_id uuid not null,
  erasure_id uuid not null,
  project_id uuid not null,
  player_id uuid not null,
  status text not null check (status in ('requested', 'running', 'done')),
  reason text not null,
  basis text not null,
  requested_by text not null,
  requested_at timestamptz not null,
  -- SHA-256 of the token; null once it was used.
  token_hash bytea,
  confirm_before timestamptz not null,
  confirmed_by text,
  confirmed_at timestamptz,
  -- What was done, in order: [{"step", "rows", "done_at"}].
  steps jsonb not null default '[]',
  last_error text,
  completed_at timestamptz,
  check ((status = 'requested') = (token_hash is not null)),
  check ((status = 'requested') = (confirmed_at is null)),
  check ((confirmed_at is null) = (confirmed_by is null)),
  check ((status = 'done') = (completed_at is not null)),
  foreign key (tenant_id, project_id) references projects (tenant_id, project_id),
  primary key (tenant_id, erasure_id)
);
create unique index erasures_of_player on erasures (tenant_id, project_id, player_id);
create index erasures_by_age on erasures (tenant_id, requested_at desc, erasure_id desc)
  where requested_at > '-infinity';
create index erasures_open on erasures (confirmed_at) where status = 'running';
call protect_tenant_table('erasures');

-- What protects a person who was forgotten: keyed hashes of the addresses. A player who registers with one of them gets the
-- protection again. `until`: when a break ends. `reason`: of a suppression.
create table kept_protections (
  tenant_id uuid not null,
  address_hash bytea not null,
  protection text not null check (protection in ('self_exclusion', 'ban', 'cooldown', 'suppression')),
  since timestamptz not null,
  until timestamptz,
  reason text,
  check ((protection = 'cooldown') = (until is not null)),
  check ((protection = 'suppression') = (reason is not null)),
  foreign key (tenant_id) references tenants,
  primary key (tenant_id, address_hash, protection)
);
call protect_tenant_table('kept_protections');

-- Since when a player's row names nobody.
alter table players add column erased_at timestamptz;
create index players_erased on players (player_id, tenant_id, project_id) where erased_at is not null;

-- An exclusion that was kept when its player was forgotten begins anew with the player who registers again.
alter table player_exclusions drop constraint player_exclusions_source_check;
alter table player_exclusions add constraint player_exclusions_source_check
  check (source in ('event', 'operator', 'merge', 'before_records', 'erasure')) not valid;
alter table player_exclusions validate constraint player_exclusions_source_check;

-- An erasure finds by the player what a person's rows are named by otherwise.
create index player_identities_of_player on player_identities (player_id, tenant_id, project_id);
create index webhook_deliveries_of_player on webhook_deliveries (player_id, tenant_id, project_id);
