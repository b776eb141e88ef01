-- Bonus campaigns: one template over the members of a segment, the limits of each, and what became of every member. Members
-- are reserved in their own rows; the grant is made when it is released to the sender.

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
  -- What members did to get the bonus (null: nothing that is known), and where it is advertised.
  qualifying_product text check (qualifying_product in ('casino', 'betting', 'bingo', 'lottery', 'any')),
  advertising text not null default 'direct' check (advertising in ('direct', 'own_site', 'public')),
  -- What members bet on to get the bonus, as it was judged at the issue: what the campaign says, or else what the conditions
  -- of its segment said then. Null: nothing that is known.
  issued_product text,
  -- Why nothing is released; last_error is of everything else. A write of one of them leaves the other alone.
  release_error text,
  primary key (tenant_id, project_id, campaign_id),
  foreign key (tenant_id, project_id) references projects
);
create index bonus_campaigns_by_age on bonus_campaigns (tenant_id, project_id, created_at desc, campaign_id desc)
  where created_at > '-infinity';
create index bonus_campaigns_due on bonus_campaigns (schedule_at) where status = 'scheduled';
create index bonus_campaigns_open on bonus_campaigns (campaign_id)
  where status in ('issuing', 'paused', 'cancelled') and finished_at is null;
call protect_tenant_table('bonus_campaigns');

-- What the members of a campaign hold of its limits: the sum of bonus_amount_base, and the number, of those whose grant is
-- not cancelled or failed, at the end of every transaction.
create table bonus_campaign_budgets (
  tenant_id uuid not null,
  project_id uuid not null,
  campaign_id uuid not null,
  used_base numeric(38, 0) not null default 0 check (used_base >= 0),
  used_grants integer not null default 0 check (used_grants >= 0),
  -- Nothing uses it.
  released_to timestamptz not null default now(),
  -- The least that the grant of a member costs who was left out because it did not fit into the limits; null: none was.
  short_cost_base numeric(38, 0),
  -- The same, of those who were decided about again since; it takes the place of the other at the end.
  retry_cost_base numeric(38, 0),
  -- Members who were left out are decided about again behind this one. Null: they are not.
  retried_to uuid,
  primary key (tenant_id, project_id, campaign_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
call protect_tenant_table('bonus_campaign_budgets');

-- Up to when the rate of a campaign is used, in a row that only its releases write: decisions hold that of the limits until
-- they have written all their members. No row: nothing was released yet.
create table bonus_campaign_releases (
  tenant_id uuid not null,
  project_id uuid not null,
  campaign_id uuid not null,
  released_to timestamptz not null,
  primary key (tenant_id, project_id, campaign_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
call protect_tenant_table('bonus_campaign_releases');

-- The members of a campaign. `reserved`: the limits hold cost_base for the member, who has no grant; `sent`: the grant exists
-- and is with the sender.
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
  -- What a member who is reserved or sent was promised.
  terms_id uuid,
  constraint bonus_campaign_rows_reserved
    check (status <> 'reserved' or (terms_id is not null and grant_id is null)),
  -- By the player first: one index finds a member, and the campaigns of a player.
  primary key (player_id, campaign_id, tenant_id, project_id)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.01);
create index bonus_campaign_rows_by_status on bonus_campaign_rows (campaign_id, status, player_id, tenant_id, project_id);
create index bonus_campaign_rows_of_grant on bonus_campaign_rows (grant_id, tenant_id, project_id)
  where grant_id is not null;
call protect_tenant_table('bonus_campaign_rows');

-- What members of a campaign were promised, once for all who were promised the same; the grant is made of it. Removed when
-- the campaign is finished.
create table bonus_campaign_terms (
  tenant_id uuid not null,
  project_id uuid not null,
  campaign_id uuid not null,
  terms_id uuid not null,
  -- As in bonus_grants.
  terms jsonb not null,
  exclusion_group text,
  adapter_slug text not null,
  currency text not null,
  deposit_amount numeric(38, 0),
  bonus_amount numeric(38, 0) not null,
  bonus_amount_base bigint not null,
  fx jsonb,
  base_fx jsonb,
  wagering_required numeric(38, 0) not null,
  max_bet numeric(38, 0),
  max_win_cap numeric(38, 0),
  -- The limit of the template at the decision.
  max_grants_per_player integer,
  grant_window_days integer,
  primary key (campaign_id, terms_id, tenant_id, project_id)
);
call protect_tenant_table('bonus_campaign_terms');

-- What became of the members of bonus campaigns, counted as it changes: who lists campaigns must not read all members.
-- The sums of a campaign's rows by status and, of skipped ones, code; they are sums over the rows of this table, too. A
-- transaction adds to a row that no other holds, and makes one when there is none: nobody waits for another, and there are
-- as many as there were writers at once. A single row may be negative.
create table bonus_campaign_counts (
  tenant_id uuid not null,
  project_id uuid not null,
  campaign_id uuid not null,
  count_id uuid not null default gen_random_uuid(),
  status text not null,
  code text,
  members integer not null,
  -- In the smallest unit of the base currency.
  cost_base numeric(38, 0) not null,
  released_base numeric(38, 0) not null,
  ended_unreleased_base numeric(38, 0) not null,
  open_base numeric(38, 0) not null,
  primary key (tenant_id, project_id, campaign_id, count_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
call protect_tenant_table('bonus_campaign_counts');

-- Adds the changed rows to the counts, times the argument: 1 or -1.
create function count_campaign_rows() returns trigger language plpgsql as $$
declare
  times integer := tg_argv[0];
  change record;
  free_id uuid;
begin
  for change in
    select tenant_id, project_id, campaign_id, status, case when status = 'skipped' then code end as code,
      times * count(*) as members, times * sum(cost_base) as cost, times * sum(released_base) as released,
      times * sum(case when is_open then 0 else greatest(cost_base - released_base, 0) end) as ended_unreleased,
      times * sum(case when is_open then cost_base else 0 end) as open
    from changed_rows
    group by 1, 2, 3, 4, 5
  loop
    select c.count_id into free_id from bonus_campaign_counts c
    where c.tenant_id = change.tenant_id and c.project_id = change.project_id and c.campaign_id = change.campaign_id
      and c.status = change.status and c.code is not distinct from change.code
    limit 1 for no key update skip locked;
    if found then
      update bonus_campaign_counts c set
        members = c.members + change.members, cost_base = c.cost_base + change.cost,
        released_base = c.released_base + change.released,
        ended_unreleased_base = c.ended_unreleased_base + change.ended_unreleased, open_base = c.open_base + change.open
      where c.tenant_id = change.tenant_id and c.project_id = change.project_id
        and c.campaign_id = change.campaign_id and c.count_id = free_id;
    else
      insert into bonus_campaign_counts (tenant_id, project_id, campaign_id, status, code, members, cost_base,
        released_base, ended_unreleased_base, open_base)
      values (change.tenant_id, change.project_id, change.campaign_id, change.status, change.code, change.members,
        change.cost, change.released, change.ended_unreleased, change.open);
    end if;
  end loop;
  return null;
end $$;
create trigger campaign_rows_made after insert on bonus_campaign_rows
  referencing new table as changed_rows for each statement execute function count_campaign_rows('1');
create trigger campaign_rows_changed after update on bonus_campaign_rows
  referencing new table as changed_rows for each statement execute function count_campaign_rows('1');
create trigger campaign_rows_were after update on bonus_campaign_rows
  referencing old table as changed_rows for each statement execute function count_campaign_rows('-1');
create trigger campaign_rows_removed after delete on bonus_campaign_rows
  referencing old table as changed_rows for each statement execute function count_campaign_rows('-1');
