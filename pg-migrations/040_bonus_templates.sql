-- Bonus templates: what may be granted, on which terms. A grant keeps a copy of the terms of its moment.

create table bonus_templates (
  tenant_id uuid not null,
  project_id uuid not null,
  template_id uuid not null,
  name text not null,
  type text not null check (type in ('deposit_match', 'reload', 'free_spins', 'no_deposit', 'cashback', 'free_bet')),
  -- By type, as the API shows it: amounts above 2^53 - 1 are digit strings.
  config jsonb not null,
  wagering_requirement_multiplier numeric(5, 2) not null,
  wagering_basis text not null check (wagering_basis in ('bonus', 'bonus_plus_deposit', 'deposit', 'winnings')),
  -- Null: every game counts in full.
  game_contribution jsonb,
  -- In the smallest unit of the currency in `config`.
  max_bet_during_wagering numeric(38, 0),
  max_win_cap numeric(38, 0),
  max_bet_action text not null check (max_bet_action in ('flag', 'forfeit')),
  time_limit_hours integer,
  wallet_model text not null check (wallet_model in ('sticky', 'non_sticky')),
  product text not null check (product in ('casino', 'betting', 'bingo', 'lottery', 'any')),
  status text not null check (status in ('active', 'paused')),
  max_grants_per_player integer,
  grant_window_days integer,
  exclusion_group text,
  -- In the smallest unit of the tenant's base currency.
  budget_base bigint,
  min_kyc_level integer,
  eligible_segment_id uuid,
  -- Of the terms: from `config` to `product`.
  version integer not null,
  -- Licence rules that only warn, of the moment at which the terms were written: [{rule_id, message}].
  licence_warnings jsonb not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (tenant_id, project_id, template_id),
  foreign key (tenant_id, project_id) references projects
);
create index bonus_templates_by_age on bonus_templates (tenant_id, project_id, created_at desc, template_id desc)
  where created_at > '-infinity';
call protect_tenant_table('bonus_templates');
