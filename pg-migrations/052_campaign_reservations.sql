-- Members of bonus campaigns are reserved in their own rows: the grant is made when it is released to the sender.

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

-- `reserved`: the limits hold cost_base for the member, who has no grant; `sent`: the grant exists and is with the sender.
-- terms_id: what a member who is reserved or sent was promised.
alter table bonus_campaign_rows add column terms_id uuid;

-- By the player first: one index finds a member, and the campaigns of a player.
alter table bonus_campaign_rows drop constraint bonus_campaign_rows_pkey;
drop index bonus_campaign_rows_of_player;
alter table bonus_campaign_rows add primary key (player_id, campaign_id, tenant_id, project_id);

-- Grants that were reserved and not given to the sender become reservations. Row-level security would hide the rows of all
-- tenants from an owner who is no superuser.
alter table bonus_campaign_rows no force row level security;
alter table bonus_campaign_counts no force row level security;
alter table bonus_campaign_terms no force row level security;
alter table bonus_grants no force row level security;
alter table bonus_grant_events no force row level security;
alter table bonus_templates no force row level security;

-- Also of members whose grant is with the sender: a pause takes it back.
create temporary table promised on commit drop as
select g.tenant_id, g.project_id, g.campaign_id, r.player_id, g.grant_id,
  md5(jsonb_build_array(g.terms, g.exclusion_group, g.adapter_slug, g.deposit_amount, g.bonus_amount,
    g.bonus_amount_base, g.fx, g.base_fx, g.wagering_required, g.max_bet, g.max_win_cap)::text)::uuid as terms_id,
  r.status = 'reserved' and g.outcome = 'unsent' and not g.may_be_sent and g.cancel_requested_at is null
    as is_parked
from bonus_campaign_rows r
join bonus_grants g on g.grant_id = r.grant_id and g.tenant_id = r.tenant_id and g.project_id = r.project_id
where r.status in ('reserved', 'sent') and g.status = 'pending';

insert into bonus_campaign_terms (tenant_id, project_id, campaign_id, terms_id, terms, exclusion_group, adapter_slug,
  currency, deposit_amount, bonus_amount, bonus_amount_base, fx, base_fx, wagering_required, max_bet, max_win_cap,
  max_grants_per_player, grant_window_days)
select distinct on (p.campaign_id, p.terms_id) p.tenant_id, p.project_id, p.campaign_id, p.terms_id, g.terms,
  g.exclusion_group, g.adapter_slug, g.currency, g.deposit_amount, g.bonus_amount, g.bonus_amount_base, g.fx, g.base_fx,
  g.wagering_required, g.max_bet, g.max_win_cap, t.max_grants_per_player, t.grant_window_days
from promised p
join bonus_grants g on g.grant_id = p.grant_id and g.tenant_id = p.tenant_id and g.project_id = p.project_id
left join bonus_templates t
  on t.template_id = g.template_id and t.tenant_id = g.tenant_id and t.project_id = g.project_id;

update bonus_campaign_rows r set
  terms_id = p.terms_id, cost_base = g.bonus_amount_base, is_open = true,
  -- A reserved one of which something may have been sent is with the sender.
  status = case when p.is_parked then 'reserved' else 'sent' end,
  grant_id = case when p.is_parked then null else r.grant_id end
from promised p
join bonus_grants g on g.grant_id = p.grant_id and g.tenant_id = p.tenant_id and g.project_id = p.project_id
where r.player_id = p.player_id and r.campaign_id = p.campaign_id and r.tenant_id = p.tenant_id
  and r.project_id = p.project_id;

-- Also what a process of an earlier version would do.
alter table bonus_campaign_rows add constraint bonus_campaign_rows_reserved
  check (status <> 'reserved' or (terms_id is not null and grant_id is null));

update bonus_grants g set next_attempt_at = now()
from promised p
where not p.is_parked and g.grant_id = p.grant_id and g.tenant_id = p.tenant_id and g.project_id = p.project_id
  and g.next_attempt_at >= '9999-01-01';
delete from bonus_grant_events e using promised p
where p.is_parked and e.grant_id = p.grant_id and e.tenant_id = p.tenant_id and e.project_id = p.project_id;
delete from bonus_grants g using promised p
where p.is_parked and g.grant_id = p.grant_id and g.tenant_id = p.tenant_id and g.project_id = p.project_id;

alter table bonus_campaign_rows force row level security;
alter table bonus_campaign_counts force row level security;
alter table bonus_campaign_terms force row level security;
alter table bonus_grants force row level security;
alter table bonus_grant_events force row level security;
alter table bonus_templates force row level security;
