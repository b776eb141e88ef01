-- Who changed what: a row for every change by a session or by the internal secret, written in its transaction.
create table audit_log (
  tenant_id uuid not null references tenants,
  audit_id uuid not null,
  occurred_at timestamptz not null,
  -- The session's; both null: the internal secret.
  user_id text,
  role text check (role in ('owner', 'admin', 'editor', 'viewer')),
  -- Null: the resource is the tenant's.
  project_id uuid,
  action text not null,
  resource_type text not null,
  resource_id text not null,
  -- Of a resource that was there before and after, the fields that differ; null where there was or is none.
  before jsonb,
  after jsonb,
  request_id text not null,
  check ((user_id is null) = (role is null)),
  primary key (tenant_id, audit_id)
);
create index audit_log_by_time on audit_log (tenant_id, occurred_at desc, audit_id desc);
create index audit_log_by_resource on audit_log (tenant_id, resource_id, occurred_at desc, audit_id desc);
create index audit_log_by_user on audit_log (tenant_id, user_id, occurred_at desc, audit_id desc);
call protect_tenant_table('audit_log');
-- What was written stays as it is.
revoke update, delete on audit_log from engagement_api, engagement_service;
