-- Wagering: which bets count towards the bonuses of players, and how much.

alter table bonus_grants
  -- The sum of the contributions of bets, exactly: stakes in the smallest unit times percent.
  add column wagering_sum numeric not null default 0,
  -- The window for which the bets were counted. Where it differs from the window that the grant has now, they are counted
  -- again.
  add column counted_from timestamptz,
  add column counted_until timestamptz,
  -- Since when bets of the player are recorded; null: since the grant was made. Earlier ones are read from ClickHouse.
  add column recorded_from timestamptz;
create index bonus_grants_to_count on bonus_grants (grant_id)
  where activated_at is not null
    and (activated_at is distinct from counted_from or least(expires_at, ended_at) is distinct from counted_until);

-- The bets of players with bonuses that count, or may come to count: one row per bet, which at most one grant takes.
create table bonus_contributions (
  tenant_id uuid not null,
  project_id uuid not null,
  kind bet_kind not null,
  bet_id text not null,
  player_id uuid not null,
  state bet_status not null,
  -- In the smallest unit of `currency`, as the bet has it.
  stake numeric(38, 0) not null check (stake >= 0),
  currency text not null,
  game_category text,
  -- When it counts: a casino bet when it was placed, a sport bet when it was settled.
  occurred_at timestamptz not null,
  -- Of the bet: a lower one is not applied any more.
  revision bigint not null,
  -- The grant that takes the bet. Null: none does.
  grant_id uuid,
  -- The stake in the smallest unit of the grant's currency times percent. Null: no rate is known yet, or no grant takes it.
  contribution numeric,
  is_breach boolean not null default false,
  primary key (bet_id, kind, tenant_id, project_id),
  check (grant_id is not null or (contribution is null and not is_breach))
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.01);
create index bonus_contributions_of_player on bonus_contributions
  (player_id, occurred_at, kind, bet_id, tenant_id, project_id);
create index bonus_contributions_of_grant on bonus_contributions
  (grant_id, occurred_at, kind, bet_id, tenant_id, project_id) where grant_id is not null;
create index bonus_contributions_without_rate on bonus_contributions (bet_id, kind, tenant_id, project_id)
  where grant_id is not null and contribution is null;
call protect_tenant_table('bonus_contributions');

-- Stakes above what the terms of a grant allow. They count nothing.
create table bonus_breaches (
  tenant_id uuid not null,
  project_id uuid not null,
  grant_id uuid not null,
  kind bet_kind not null,
  bet_id text not null,
  -- In the smallest unit of the grant's currency.
  stake numeric(38, 0) not null,
  max_bet numeric(38, 0) not null,
  occurred_at timestamptz not null,
  found_at timestamptz not null,
  primary key (grant_id, kind, bet_id, tenant_id, project_id)
);
call protect_tenant_table('bonus_breaches');
