-- The audit log: a row for every change by a session or by the internal secret, written in the same transaction.
create table audit_log (
  tenant_id uuid not null references tenants,
  audit_id uuid not null,
  occurred_at timestamptz not null,
  -- The user and the role of the session; both are null for the internal secret.
  user_id text,
  role text check (role in ('owner', 'admin', 'editor', 'viewer')),
  -- Null: the resource belongs to the tenant, not to a project.
  project_id uuid,
  action text not null,
  resource_type text not null,
  resource_id text not null,
  -- The fields that differ, or the whole resource when it exists only before or only after the change; then the other
  -- column is null.
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
-- Rows are never changed or removed.
revoke update, delete on audit_log from engagement_api, engagement_service;
