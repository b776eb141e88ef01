-- Saved insights, and dashboards of them. The content is what the schemas of src/insights/saved have read.
create table insights (
  tenant_id uuid not null,
  project_id uuid not null,
  insight_id uuid not null,
  name text not null,
  content jsonb not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (tenant_id, project_id, insight_id),
  foreign key (tenant_id, project_id) references projects
);
create index insights_listed on insights (tenant_id, project_id, created_at desc, insight_id desc)
  where created_at > '-infinity' and deleted_at is null;
call protect_tenant_table('insights');

create table dashboards (
  tenant_id uuid not null,
  project_id uuid not null,
  dashboard_id uuid not null,
  name text not null,
  content jsonb not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (tenant_id, project_id, dashboard_id),
  foreign key (tenant_id, project_id) references projects
);
create index dashboards_listed on dashboards (tenant_id, project_id, created_at desc, dashboard_id desc)
  where created_at > '-infinity' and deleted_at is null;
call protect_tenant_table('dashboards');
