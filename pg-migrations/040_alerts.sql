-- Alerts over insights, when they have fired, and the notices that alerts and reports send. The content of an alert is what the
-- schemas of src/analytics/insights/alerts have read.
create table alerts (
  tenant_id uuid not null,
  project_id uuid not null,
  alert_id uuid not null,
  name text not null,
  content jsonb not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  -- The end of the last interval that is decided; null: the alert begins with the interval in which it was created.
  decided_until timestamptz,
  -- When it is looked at next: a claim is a later time, so that a process which dies leaves nothing to clean up.
  next_at timestamptz not null default '-infinity',
  -- Evaluations in a row that have failed, and why the last one has.
  failures integer not null default 0,
  error_code text,
  error_message text,
  failed_at timestamptz,
  primary key (tenant_id, project_id, alert_id),
  foreign key (tenant_id, project_id) references projects
);
create index alerts_listed on alerts (tenant_id, project_id, created_at desc, alert_id desc)
  where created_at > '-infinity' and deleted_at is null;
create index alerts_due on alerts (next_at) where deleted_at is null;
call protect_tenant_table('alerts');

-- An interval in which an alert has fired: one row however often the interval is looked at.
create table alert_firings (
  tenant_id uuid not null,
  project_id uuid not null,
  alert_id uuid not null,
  from_at timestamptz not null,
  to_at timestamptz not null,
  -- The value, and what it was compared with.
  facts jsonb not null,
  decided_at timestamptz not null,
  primary key (tenant_id, project_id, alert_id, from_at, to_at),
  foreign key (tenant_id, project_id, alert_id) references alerts
);
create index alert_firings_by_age on alert_firings (decided_at);
call protect_tenant_table('alert_firings');

-- What is sent to one receiver of an alert or report. Its id and content stay the same in each attempt.
create table insight_notices (
  tenant_id uuid not null,
  project_id uuid not null,
  notice_id uuid not null,
  -- The alert or report.
  owner_id uuid not null,
  receiver jsonb not null,
  -- The host of a webhook, or `email`: notices of one tenant to one of them take turns.
  lane text not null,
  -- The body of a webhook, or subject, text and HTML of a message.
  content json not null,
  status text not null default 'pending' check (status in ('pending', 'sent', 'failed')),
  attempts integer not null default 0,
  next_at timestamptz not null,
  error text,
  created_at timestamptz not null,
  completed_at timestamptz,
  check ((status = 'pending') = (completed_at is null)),
  primary key (tenant_id, notice_id),
  foreign key (tenant_id, project_id) references projects
);
create index insight_notices_waiting on insight_notices (tenant_id, lane, next_at) where status = 'pending';
create index insight_notices_due on insight_notices (next_at) where status = 'pending';
create index insight_notices_by_owner on insight_notices (tenant_id, project_id, owner_id, created_at desc, notice_id desc);
create index insight_notices_by_age on insight_notices (created_at);
call protect_tenant_table('insight_notices');
