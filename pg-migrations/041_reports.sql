-- Reports: the tiles of a dashboard, sent by a schedule. The content of a report is what the schemas of
-- src/analytics/insights/reports have read.
create table reports (
  tenant_id uuid not null,
  project_id uuid not null,
  report_id uuid not null,
  name text not null,
  content jsonb not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  -- Times of the schedule up to this one are decided, whether a report was sent or passed over; null: it begins with its creation.
  decided_until timestamptz,
  -- When it is looked at next: a claim is a later time, so that a process which dies leaves nothing to clean up.
  next_at timestamptz not null default '-infinity',
  -- Evaluations in a row that have failed, and why the last one has.
  failures integer not null default 0,
  error_code text,
  error_message text,
  failed_at timestamptz,
  primary key (tenant_id, project_id, report_id),
  foreign key (tenant_id, project_id) references projects
);
create index reports_listed on reports (tenant_id, project_id, created_at desc, report_id desc)
  where created_at > '-infinity' and deleted_at is null;
create index reports_due on reports (next_at) where deleted_at is null;
create index reports_by_dashboard on reports (tenant_id, project_id, ((content ->> 'dashboard_id'))) where deleted_at is null;
call protect_tenant_table('reports');

-- Whether an attempt has begun whose end is not written: mail of which nobody knows whether it went out is not sent again.
alter table insight_notices add column is_claimed boolean not null default false;
