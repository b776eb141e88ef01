-- VIP tiers of a tenant. Amounts are in the smallest unit of its base currency.
create table vip_tiers (
  tenant_id uuid not null references tenants,
  tier_id uuid not null,
  code text not null check (code ~ '^[a-z0-9_]{1,40}$'),
  name text not null,
  rank integer not null check (rank >= 0),
  color text,
  glyph text,
  lifetime_deposit_subunit bigint not null,
  lifetime_wagered_subunit bigint not null,
  min_days_active integer not null,
  -- Both are null for a tier without `demotion`; inactivity_days alone: its `demotion` never happens.
  inactivity_days integer,
  grace_days integer,
  perks jsonb not null,
  is_active boolean not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (tenant_id, tier_id),
  constraint vip_tiers_code unique (tenant_id, code),
  check (inactivity_days is null or grace_days is not null)
);
create unique index vip_tiers_rank on vip_tiers (tenant_id, rank) where is_active;
call protect_tenant_table('vip_tiers');

-- Each change of a player's tier. `entry_id` grows with time.
create table player_tier_history (
  tenant_id uuid not null,
  project_id uuid not null,
  player_id uuid not null,
  entry_id bigint generated always as identity,
  from_code text,
  to_code text,
  trigger text not null check (trigger in ('auto', 'manual', 'reset')),
  context jsonb not null,
  occurred_at timestamptz not null,
  primary key (player_id, entry_id, tenant_id, project_id)
);
call protect_tenant_table('player_tier_history');

-- Players whose tier is to be computed again soon: rows are only added and removed, so no writer waits for another.
create table tier_requests (
  tenant_id uuid not null,
  request_id bigint generated always as identity,
  project_id uuid not null,
  player_id uuid not null,
  requested_at timestamptz not null default now(),
  primary key (tenant_id, request_id)
) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
call protect_tenant_table('tier_requests');

-- When the passing of time alone may change a player's tier: by inactivity, or by days since the first event. Activity
-- does not move it: a time that has come is computed anew. A table of its own, because the rows of players and totals
-- are written too often for one more index.
create table tier_deadlines (
  tenant_id uuid not null,
  project_id uuid not null,
  player_id uuid not null,
  due_at timestamptz not null,
  primary key (player_id, tenant_id, project_id)
);
create index tier_deadlines_due on tier_deadlines (due_at, player_id);
call protect_tenant_table('tier_deadlines');

alter table players
  -- Set by hand: the tier does not rise by itself.
  add column tier_locked boolean not null default false,
  -- The tier that the player has earned, and that waits for checks to be approved.
  add column tier_pending_code text;

alter table player_totals
  -- Event time of the player's last own activity (login, play, payment); `-infinity` when there was none. Null in rows
  -- from before this column: then last_seen_at stands for it, and the next write of the row puts it here.
  add column last_active_at timestamptz,
  -- When inactivity took the tier down; null again once the player was active after that.
  add column tier_demoted_at timestamptz;
alter table player_totals alter column last_active_at set default '-infinity';

-- A player who is no longer protected gets the tier that he has earned meanwhile.
create function request_tier_of_player() returns trigger language plpgsql as $$
begin
  insert into tier_requests (tenant_id, project_id, player_id)
  select new.tenant_id, new.project_id, new.player_id
  where exists (select from vip_tiers t where t.tenant_id = new.tenant_id);
  if found then
    perform pg_notify('tier_requests', '');
  end if;
  return null;
end $$;
create trigger player_unprotected after update of status on players
  for each row
  when (old.status in ('self_excluded', 'banned') and new.status in ('active', 'conflict'))
  execute function request_tier_of_player();
