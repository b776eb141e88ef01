-- Copies of a person's data, made on request and kept for 7 days: the file is in chunks, each encrypted. `run_id`: the run
-- of the job whose chunks make the file; those of a run that was interrupted are removed.
create table player_exports (
  tenant_id uuid not null,
  export_id uuid not null,
  project_id uuid not null,
  player_id uuid not null,
  status text not null check (status in ('queued', 'ready', 'failed')),
  requested_by text not null,
  requested_at timestamptz not null,
  completed_at timestamptz,
  expires_at timestamptz not null,
  run_id uuid,
  -- The files in it: [{"name", "rows"}].
  files jsonb not null default '[]',
  bytes bigint not null default 0,
  chunks integer not null default 0,
  last_error text,
  check ((status = 'ready') = (run_id is not null)),
  check ((status = 'queued') = (completed_at is null)),
  foreign key (tenant_id, project_id) references projects (tenant_id, project_id),
  primary key (tenant_id, export_id)
);
create unique index player_exports_queued on player_exports (tenant_id, project_id, player_id) where status = 'queued';
create index player_exports_of_player on player_exports (player_id, tenant_id, project_id);
create index player_exports_expired on player_exports (expires_at);
call protect_tenant_table('player_exports');

create table player_export_chunks (
  tenant_id uuid not null,
  export_id uuid not null,
  run_id uuid not null,
  chunk_no integer not null,
  encrypted bytea not null,
  primary key (tenant_id, export_id, run_id, chunk_no)
);
alter table player_export_chunks alter column encrypted set storage external;
call protect_tenant_table('player_export_chunks');
