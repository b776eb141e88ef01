-- Figures and players of insights as files, made by a job and kept for 24 hours: each file is in chunks, each encrypted.
-- `run_id`: the run of the job whose chunks make the file; those of a run that was interrupted are removed.
create table insight_exports (
  tenant_id uuid not null,
  export_id uuid not null,
  project_id uuid not null,
  status text not null check (status in ('queued', 'ready', 'failed')),
  query json not null,
  -- Whose players; null: the figures themselves.
  cell json,
  format text not null check (format in ('csv', 'parquet')),
  -- Addresses of the players that are in the file, too.
  contact text[] not null,
  -- Why addresses are needed.
  reason text,
  requested_by text not null,
  requested_at timestamptz not null,
  completed_at timestamptz,
  expires_at timestamptz not null,
  run_id uuid,
  rows bigint not null default 0,
  bytes bigint not null default 0,
  chunks integer not null default 0,
  last_error text,
  check ((status = 'ready') = (run_id is not null)),
  check ((status = 'queued') = (completed_at is null)),
  check (cardinality(contact) = 0 or (cell is not null and reason is not null)),
  foreign key (tenant_id, project_id) references projects (tenant_id, project_id),
  primary key (tenant_id, export_id)
);
create index insight_exports_queued on insight_exports (tenant_id, requested_at, export_id) where status = 'queued';
create index insight_exports_expired on insight_exports (expires_at);
call protect_tenant_table('insight_exports');

create table insight_export_chunks (
  tenant_id uuid not null,
  export_id uuid not null,
  run_id uuid not null,
  chunk_no integer not null,
  encrypted bytea not null,
  primary key (tenant_id, export_id, run_id, chunk_no)
);
alter table insight_export_chunks alter column encrypted set storage external;
call protect_tenant_table('insight_export_chunks');
