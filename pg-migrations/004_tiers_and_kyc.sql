-- VIP tiers, and who verified a player. What follows from both is in columns of players.

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

-- The changes of the tiers of a project's players, the newest first.
create index player_tier_history_listed
  on player_tier_history (tenant_id, project_id, occurred_at desc, entry_id desc)
  where occurred_at > '-infinity';

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

-- Who verified a player, how far, and until when: every decision of every source. The status that follows from them is in
-- columns of players.
create table kyc_decisions (
  tenant_id uuid not null,
  project_id uuid not null,
  player_id uuid not null,
  decision_id uuid not null,
  kind text not null check (kind in
    ('submitted', 'approved', 'level_upgraded', 'lapsed', 'expired', 'rejected', 'revoked')),
  source text not null check (source in ('api', 'webhook', 'event', 'clock')),
  -- The time by which decisions are ordered, at most 300 s after received_at.
  occurred_at timestamptz not null,
  received_at timestamptz not null,
  level integer,
  expires_at timestamptz,
  -- Whether it counted when it arrived.
  applied boolean not null,
  -- The player's status after it arrived.
  kyc_status text not null,
  decided_by text,
  adapter_slug text,
  reason text,
  -- What the operator asks the player for.
  requirements text[],
  -- The event for the log; null: it is there already, or there is none.
  event text,
  -- Whether the event waits to be appended to the log.
  is_unpublished boolean not null default false,
  primary key (decision_id, tenant_id, project_id)
);
create index kyc_decisions_of_player on kyc_decisions (player_id, tenant_id, project_id, occurred_at desc, decision_id desc);
create index kyc_decisions_approved on kyc_decisions (player_id, tenant_id, project_id, occurred_at desc)
  where kind = 'approved' and level is not null;
create index kyc_decisions_unpublished on kyc_decisions (received_at, decision_id) where is_unpublished;
-- Decisions about KYC are read without the submissions between them, of which only the last one matters.
create index kyc_decisions_decided on kyc_decisions (player_id, tenant_id, project_id, occurred_at desc)
  where kind <> 'submitted';
create index kyc_decisions_submitted on kyc_decisions (player_id, tenant_id, project_id, occurred_at desc)
  where kind = 'submitted';
call protect_tenant_table('kyc_decisions');

-- Calls of platforms that have not been answered yet; one that was answered is deleted.
create table kyc_calls (
  tenant_id uuid not null,
  project_id uuid not null,
  player_id uuid not null,
  -- The Idempotency-Key of every attempt.
  call_id uuid not null,
  action text not null check (action in ('initiate', 'update')),
  -- The bytes that are sent.
  body text not null,
  -- Begun ones.
  attempts integer not null default 0,
  -- When to try again; while an attempt runs, when its claim is over. Null: given up.
  next_attempt_at timestamptz,
  last_error text,
  created_at timestamptz not null,
  -- While an attempt runs: when its claim is over.
  claimed_until timestamptz,
  -- A newer call has replaced it while an attempt ran: it is not repeated, and the newer one waits for the attempt's end.
  is_superseded boolean not null default false,
  primary key (call_id, tenant_id, project_id)
);
create index kyc_calls_due on kyc_calls (next_attempt_at) where next_attempt_at is not null;
create index kyc_calls_of_player on kyc_calls (player_id, tenant_id, project_id);
create index kyc_calls_old on kyc_calls (created_at) where next_attempt_at is null;
create index kyc_calls_of_project on kyc_calls (tenant_id, project_id, next_attempt_at)
  where next_attempt_at is not null;
create index kyc_calls_by_age on kyc_calls (created_at);
call protect_tenant_table('kyc_calls');
