-- Webhooks of journeys: the secrets that sign them, and the calls.

create table webhook_secrets (
  tenant_id uuid not null,
  project_id uuid not null,
  secret_id uuid not null,
  -- Encrypted; null once it is deleted.
  secret bytea,
  created_at timestamptz not null,
  deleted_at timestamptz,
  primary key (tenant_id, project_id, secret_id),
  foreign key (tenant_id, project_id) references projects,
  check ((secret is null) = (deleted_at is not null))
);
call protect_tenant_table('webhook_secrets');

create table webhook_deliveries (
  tenant_id uuid not null,
  project_id uuid not null,
  -- Follows from run and node: a node of a run calls once.
  event_id uuid not null,
  journey_id uuid not null,
  journey_version integer not null,
  run_id uuid not null,
  node_id text not null,
  seq integer not null,
  player_id uuid not null,
  url text not null,
  -- Host and port of the URL; with the tenant it is the lane in which deliveries take turns.
  host text not null,
  headers jsonb not null,
  timeout_ms integer not null,
  max_attempts integer not null,
  -- Null: the long schedule, because no run waits.
  backoff_ms integer,
  wait_for_response boolean not null,
  save_as text,
  -- {player, context, data} of the moment of the step, of which the body is made; null once it is.
  source jsonb,
  -- The body, the same bytes in every attempt.
  payload text,
  status text not null check (status in ('pending', 'delivered', 'failed', 'cancelled')),
  attempts integer not null default 0,
  -- Attempts that do not count: of the time before somebody had it delivered again, and interrupted ones.
  attempts_before integer not null default 0,
  -- When the next attempt is due. While one is made: when it is taken for lost.
  next_at timestamptz not null,
  attempted_at timestamptz,
  -- Of the last attempt: the status of the answer, a code, what it stands for, and how the answer begins.
  last_status integer,
  last_error text,
  last_reason text,
  response text,
  created_at timestamptz not null,
  -- A pending delivery is given up then.
  expires_at timestamptz not null,
  completed_at timestamptz,
  primary key (tenant_id, event_id),
  check ((status = 'pending') = (completed_at is null)),
  check (source is not null or payload is not null or status <> 'pending')
);
create index webhook_deliveries_due on webhook_deliveries (tenant_id, host, next_at) where status = 'pending';
create index webhook_deliveries_of_run on webhook_deliveries (run_id, tenant_id, project_id) where status = 'pending';
create index webhook_deliveries_ended on webhook_deliveries (completed_at) where status <> 'pending';
create index webhook_deliveries_listed on webhook_deliveries (journey_id, created_at desc, event_id desc, tenant_id, project_id)
  where created_at > '-infinity';
call protect_tenant_table('webhook_deliveries');
