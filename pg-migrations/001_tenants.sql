-- Two group roles. Row-level security restricts the API role to one tenant. The service role (processors, sign-in,
-- provisioning) can access every tenant.
do $$
begin
  if not exists (select from pg_roles where rolname = 'engagement_api') then
    create role engagement_api nologin;
  end if;
  if not exists (select from pg_roles where rolname = 'engagement_service') then
    create role engagement_service nologin;
  end if;
  execute format('grant engagement_api, engagement_service to %I', current_user);
end $$;

grant usage on schema public to engagement_api, engagement_service;

-- The tenant of the running transaction; null (which matches no row) when none is set.
create function current_tenant_id() returns uuid
  language sql stable parallel safe
  return nullif(current_setting('app.tenant_id', true), '')::uuid;

-- Protects a table of tenants' data with row-level security; called once per table, so that all have the same policies.
create procedure protect_tenant_table(target regclass)
  language plpgsql as $$
begin
  execute format('alter table %s enable row level security', target);
  execute format('alter table %s force row level security', target);
  execute format('create policy own_tenant on %s to engagement_api using (tenant_id = current_tenant_id())', target);
  execute format('create policy every_tenant on %s to engagement_service using (true)', target);
  execute format('grant select, insert, update, delete on %s to engagement_api, engagement_service', target);
end $$;

create table tenants (
  tenant_id uuid primary key,
  name text not null,
  base_currency text not null,
  created_at timestamptz not null default now()
);

create table projects (
  tenant_id uuid not null references tenants,
  project_id uuid not null,
  name text not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, project_id)
);

create table memberships (
  tenant_id uuid not null references tenants,
  user_id text not null,
  role text not null check (role in ('owner', 'admin', 'editor', 'viewer')),
  created_at timestamptz not null default now(),
  primary key (tenant_id, user_id)
);
create index memberships_by_user on memberships (user_id);

create table api_keys (
  tenant_id uuid not null,
  project_id uuid not null,
  key_id uuid not null,
  name text not null,
  environment text not null check (environment in ('dev', 'stag', 'prod')),
  public_id text not null unique,
  secret_hash bytea not null,
  -- Null: the deployment's default rate (spec part 8).
  ingest_per_minute integer check (ingest_per_minute > 0),
  ingest_burst integer check (ingest_burst > 0),
  created_at timestamptz not null default now(),
  deleted_at timestamptz,
  primary key (tenant_id, key_id),
  foreign key (tenant_id, project_id) references projects
);

create table currencies (
  tenant_id uuid not null references tenants,
  code text not null,
  kind text not null check (kind in ('fiat', 'crypto')),
  scale smallint not null check (scale between 0 and 18),
  symbol text not null,
  display_name text not null,
  is_active boolean not null default true,
  primary key (tenant_id, code)
);

call protect_tenant_table('tenants');
call protect_tenant_table('projects');
call protect_tenant_table('memberships');
call protect_tenant_table('api_keys');
call protect_tenant_table('currencies');
