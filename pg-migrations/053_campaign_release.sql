-- Bonus campaigns: later calls of their grants are made at the rate of the campaign, too.

-- Of a campaign's grant of which nothing was sent, since its last call led to nothing: it waits for a share of the
-- campaign's rate, at next_attempt_at, or from this moment on when its platform takes calls again. Null: it has its share,
-- or needs none.
alter table bonus_grants add column put_off_to timestamptz;

-- What may be called when its time has come. Processes of the version before use bonus_grants_due.
create index bonus_grants_to_call on bonus_grants (adapter_slug, tenant_id, project_id, next_attempt_at)
  where next_attempt_at is not null and (put_off_to is null or outcome <> 'unsent');

-- What members bet on to get the bonus, as it was judged at the issue: what the campaign says, or else what the conditions
-- of its segment said then. Null: nothing that is known, or the campaign was issued before this column was added.
alter table bonus_campaigns add column issued_product text;

-- Why nothing is released; last_error is of everything else. Whoever writes one of them leaves the other alone.
alter table bonus_campaigns add column release_error text;

-- Up to when the rate of a campaign is used, in a row that only its releases write: decisions hold that of the limits until
-- they have written all their members. No row: nothing was released yet. Processes of the version before go on with
-- bonus_campaign_budgets.released_to, so as long as one runs, each version keeps the rate by itself.
create table bonus_campaign_releases (
  tenant_id uuid not null,
  project_id uuid not null,
  campaign_id uuid not null,
  released_to timestamptz not null,
  primary key (tenant_id, project_id, campaign_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
call protect_tenant_table('bonus_campaign_releases');
alter table bonus_campaign_budgets alter column released_to set default now();

-- Row-level security would hide the rows of all tenants from an owner who is no superuser.
alter table bonus_campaign_budgets no force row level security;
alter table bonus_campaign_releases no force row level security;
insert into bonus_campaign_releases (tenant_id, project_id, campaign_id, released_to)
select tenant_id, project_id, campaign_id, released_to from bonus_campaign_budgets where released_to > now();
alter table bonus_campaign_budgets force row level security;
alter table bonus_campaign_releases force row level security;
