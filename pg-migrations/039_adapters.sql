-- Casino platforms: the registry of adapters, what they sent us, and what sandboxes were given.

create table adapters (
  tenant_id uuid not null,
  project_id uuid not null,
  adapter_id uuid not null,
  -- In the path of the platform's webhooks, where it stands for tenant and project; never given to another adapter.
  slug text not null,
  kind text not null check (kind in ('http', 'sandbox')),
  -- Null: a sandbox.
  base_url text,
  auth_type text not null check (auth_type in ('none', 'bearer')),
  -- Encrypted; the bearer token.
  token bytea,
  timeout_ms integer not null,
  max_rps integer not null,
  max_in_flight integer not null,
  capabilities jsonb not null,
  is_active boolean not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (tenant_id, project_id, adapter_id),
  constraint adapters_slug unique (slug),
  foreign key (tenant_id, project_id) references projects,
  check ((kind = 'http') = (base_url is not null)),
  check ((auth_type = 'bearer') = (token is not null))
);
create unique index adapters_active on adapters (tenant_id, project_id) where is_active;
call protect_tenant_table('adapters');

-- What signs calls of a platform, its webhooks, and webhooks of journeys while the adapter is active.
create table adapter_secrets (
  tenant_id uuid not null,
  project_id uuid not null,
  adapter_id uuid not null,
  secret_id uuid not null,
  -- Encrypted.
  secret bytea not null,
  created_at timestamptz not null,
  -- Null: the current one.
  expires_at timestamptz,
  primary key (tenant_id, project_id, adapter_id, secret_id),
  foreign key (tenant_id, project_id, adapter_id) references adapters
);
create unique index adapter_secrets_current on adapter_secrets (tenant_id, project_id, adapter_id)
  where expires_at is null;
create index adapter_secrets_expired on adapter_secrets (expires_at) where expires_at is not null;
call protect_tenant_table('adapter_secrets');

-- Webhooks of platforms that had their effect: a row is written in the transaction of the effect.
create table adapter_webhooks (
  tenant_id uuid not null,
  project_id uuid not null,
  -- It belongs to one tenant for ever.
  adapter_slug text not null,
  event_id uuid not null,
  -- The last part of the path.
  name text not null,
  -- SHA-256; another body under the same id is a fault of the platform.
  body_hash bytea not null,
  -- What was answered; null only within the transaction of the effect.
  result jsonb,
  received_at timestamptz not null,
  primary key (tenant_id, adapter_slug, event_id)
);
create index adapter_webhooks_old on adapter_webhooks (received_at);
call protect_tenant_table('adapter_webhooks');

-- Bonuses of sandboxes: of adapters of that kind, and of the built-in one of the slug 'sandbox'.
create table sandbox_bonuses (
  tenant_id uuid not null,
  project_id uuid not null,
  adapter_slug text not null,
  grant_id uuid not null,
  platform_bonus_id uuid not null,
  status text not null check (status in ('active', 'cancelled')),
  -- The body of the grant as it was sent.
  sent jsonb not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (tenant_id, project_id, adapter_slug, grant_id)
);
create unique index sandbox_bonuses_listed on sandbox_bonuses
  (tenant_id, project_id, adapter_slug, platform_bonus_id desc)
  where created_at > '-infinity';
call protect_tenant_table('sandbox_bonuses');
