-- Daily budgets of bonus campaigns.

alter table bonus_campaigns add column daily_budget_base bigint;
alter table bonus_campaigns add column pace text not null default 'even';
alter table bonus_campaigns add constraint bonus_campaigns_daily_budget_base check (daily_budget_base > 0) not valid;
alter table bonus_campaigns validate constraint bonus_campaigns_daily_budget_base;
alter table bonus_campaigns add constraint bonus_campaigns_pace check (pace in ('even', 'asap')) not valid;
alter table bonus_campaigns validate constraint bonus_campaigns_pace;

-- The day in which the campaign has taken from its daily budget last: what counts are members who were drawn (assigned_at)
-- from day_from on, so that what is given back goes to the day from which it was taken. In the row of the limits, so
-- that one lock keeps both.
alter table bonus_campaign_budgets add column day_from timestamptz;
alter table bonus_campaign_budgets add column day_to timestamptz;
alter table bonus_campaign_budgets add column day_used_base numeric(38,0) not null default 0;
-- Nothing is decided before: the members that are pending find no room in the day. Null: they need not wait.
alter table bonus_campaign_budgets add column waits_until timestamptz;

-- The projects that a profile is counted for.
create index bonus_campaigns_paced on bonus_campaigns (tenant_id, project_id)
  where daily_budget_base is not null and finished_at is null;

-- How active a project is in each hour of its local day.
create table activity_profiles (
  tenant_id uuid not null,
  project_id uuid not null,
  -- By whose clocks the hours were counted.
  timezone text not null,
  -- 24 numbers; null: there is too little activity to tell.
  hours bigint[] check (cardinality(hours) = 24),
  counted_at timestamptz not null,
  foreign key (tenant_id, project_id) references projects,
  primary key (tenant_id, project_id)
);
call protect_tenant_table('activity_profiles');
