-- Tenants, their projects, members, API keys, currencies and configuration.

create table tenants (
  tenant_id uuid primary key,
  name text not null,
  base_currency text not null,
  created_at timestamptz not null default now()
);
call protect_tenant_table('tenants');

create table projects (
  tenant_id uuid not null references tenants,
  project_id uuid not null,
  name text not null,
  created_at timestamptz not null default now(),
  -- It takes 4 bytes where the ids of tenant and project take 32. It is not shown outside.
  project_no integer generated always as identity,
  primary key (tenant_id, project_id),
  constraint projects_by_number unique (project_no)
);
call protect_tenant_table('projects');

create table memberships (
  tenant_id uuid not null references tenants,
  user_id text not null,
  -- `compliance` is outside of the ladder of the others: it reads what viewers read, and what concerns the protection of
  -- players.
  role text not null check (role in ('owner', 'admin', 'editor', 'viewer', 'compliance')),
  created_at timestamptz not null default now(),
  -- A membership that a tenant's admins have added counts once the user has accepted it. Null: invited. Memberships that
  -- the operator of the service makes are accepted.
  accepted_at timestamptz default now(),
  primary key (tenant_id, user_id)
);
create index memberships_by_user on memberships (user_id);
call protect_tenant_table('memberships');

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
  -- To about a minute. No index has it, so that writing it touches none.
  last_used_at timestamptz,
  primary key (tenant_id, key_id),
  foreign key (tenant_id, project_id) references projects
);
create index api_keys_by_age on api_keys (tenant_id, project_id, created_at desc, key_id desc)
  where created_at > '-infinity';
call protect_tenant_table('api_keys');

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
call protect_tenant_table('currencies');

-- A tenant's configuration. A tenant without a row has the defaults of the code. The code's catalogue defines the
-- allowed values of licence, verticals and `config`, so here only sizes are limited.
create table tenant_configs (
  tenant_id uuid primary key references tenants,
  license_jurisdiction text check (length(license_jurisdiction) <= 64),
  verticals text[] not null check (octet_length(array_to_string(verticals, ',')) <= 4096),
  kyc_model text not null check (kyc_model in ('platform_owns', 'crm_owns', 'dual', 'none')),
  config jsonb not null check (jsonb_typeof(config) = 'object' and octet_length(config::text) <= 16384),
  -- Whether somebody chose kyc_model. Until then ingested kyc_* events set the status.
  is_kyc_model_chosen boolean not null default false
);
call protect_tenant_table('tenant_configs');

-- The answers to requests with an Idempotency-Key. An answer is written in the transaction of the request's effect, so
-- that both are committed or neither.
create table idempotency_keys (
  tenant_id uuid not null,
  -- Method and declared path of the endpoint.
  route text not null,
  idempotency_key uuid not null,
  -- SHA-256 of the request: project, parameters, body.
  request_hash bytea not null,
  status smallint not null,
  -- The response body as it was sent.
  response text not null,
  created_at timestamptz not null,
  -- The answer to a request that is still being worked on outside of a transaction: it is given from this moment on,
  -- unless the final one has taken its place. Null: it is final.
  settles_at timestamptz,
  primary key (tenant_id, route, idempotency_key)
);
-- For the removal of old rows.
create index idempotency_keys_by_age on idempotency_keys (tenant_id, created_at);
call protect_tenant_table('idempotency_keys');
