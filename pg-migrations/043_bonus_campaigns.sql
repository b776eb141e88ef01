-- Bonus campaigns: one template over the members of a segment, the limits of each, and what became of every member.

create table bonus_campaigns (
  tenant_id uuid not null,
  project_id uuid not null,
  campaign_id uuid not null,
  name text not null,
  template_id uuid not null,
  segment_id uuid not null,
  -- In the smallest unit of the grants' currency.
  deposit_amount numeric(38, 0),
  deposit_from text check (deposit_from = 'last_deposit'),
  currency_override text,
  schedule_at timestamptz,
  -- In the smallest unit of the tenant's base currency.
  max_liability bigint,
  max_grants integer,
  rate_per_second integer,
  status text not null check (status in ('draft', 'scheduled', 'issuing', 'issued', 'paused', 'cancelled')),
  -- Of the moment of the issue, while rows of members are still to be made; then the number of its rows.
  members integer not null default 0,
  is_filled boolean not null default false,
  -- The member after whom rows are to be made.
  filled_to uuid,
  -- Why it could not be issued when it was due, or why it stands still.
  last_error text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  issued_at timestamptz,
  finished_at timestamptz,
  primary key (tenant_id, project_id, campaign_id),
  foreign key (tenant_id, project_id) references projects
);
create index bonus_campaigns_by_age on bonus_campaigns (tenant_id, project_id, created_at desc, campaign_id desc)
  where created_at > '-infinity';
create index bonus_campaigns_due on bonus_campaigns (schedule_at) where status = 'scheduled';
create index bonus_campaigns_at_work on bonus_campaigns (campaign_id)
  where status in ('issuing', 'cancelled') and finished_at is null;
call protect_tenant_table('bonus_campaigns');

-- What the grants of a campaign hold of its limits: the sum of bonus_amount_base, and the number, of those that are not
-- cancelled or failed, at the end of every transaction.
create table bonus_campaign_budgets (
  tenant_id uuid not null,
  project_id uuid not null,
  campaign_id uuid not null,
  used_base numeric(38, 0) not null default 0 check (used_base >= 0),
  used_grants integer not null default 0 check (used_grants >= 0),
  -- The moment up to which the campaign's rate is used.
  released_to timestamptz not null,
  primary key (tenant_id, project_id, campaign_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
call protect_tenant_table('bonus_campaign_budgets');

-- The members of a campaign. `reserved`: the grant exists and is not given to the sender; `sent`: it is.
create table bonus_campaign_rows (
  tenant_id uuid not null,
  project_id uuid not null,
  campaign_id uuid not null,
  player_id uuid not null,
  status text not null default 'pending'
    check (status in ('pending', 'reserved', 'sent', 'granted', 'skipped', 'failed')),
  code text check ((code is null) = (status not in ('skipped', 'failed'))),
  grant_id uuid,
  -- Of granted ones, in the smallest unit of the base currency.
  cost_base bigint not null default 0,
  released_base bigint not null default 0,
  is_open boolean not null default false,
  primary key (tenant_id, project_id, campaign_id, player_id)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.01);
create index bonus_campaign_rows_by_status on bonus_campaign_rows (campaign_id, status, player_id, tenant_id, project_id);
create index bonus_campaign_rows_of_grant on bonus_campaign_rows (grant_id, tenant_id, project_id)
  where grant_id is not null;
create index bonus_campaign_rows_of_player on bonus_campaign_rows (player_id, tenant_id, project_id);
call protect_tenant_table('bonus_campaign_rows');
