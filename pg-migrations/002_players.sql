-- A player is one profile row, which changes seldom, and one totals row, which changes with every batch of events. So
-- the row that changes often stays narrow and has few indexes.
create table players (
  tenant_id uuid not null,
  project_id uuid not null,
  player_id uuid not null,
  external_id text,
  email text,
  phone text,
  telegram_id text,
  -- The same links as in player_identities, oldest first: that table finds the player of an id, this column the ids of
  -- a player. Both are written in one transaction.
  anonymous_ids text[] not null default '{}',
  status text not null default 'active'
    check (status in ('active', 'self_excluded', 'banned', 'deleted', 'conflict')),
  -- Whether the player is self-excluded, by events or by an operator, whatever `status` shows: when a ban ends, the
  -- exclusion is visible in `status` again.
  self_excluded boolean not null default false,
  -- When self_excluded was set last: the time of the event, or of the operator's change.
  self_excluded_at timestamptz,
  timezone text,
  default_currency_code text not null,
  current_tier_code text,
  tier_promoted_at timestamptz,
  kyc_status text not null default 'none'
    check (kyc_status in ('none', 'pending', 'approved', 'rejected', 'expired')),
  -- Event time of the KYC event that set kyc_status last.
  kyc_status_at timestamptz,
  kyc_level integer not null default 0,
  -- Event time of the KYC event that set kyc_level last.
  kyc_level_at timestamptz,
  churn_score double precision not null default 0,
  ltv_predicted double precision,
  custom_attributes jsonb not null default '{}',
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  -- No foreign key to projects: tenant and project come from a verified API key, and thousands of players are inserted
  -- at once.
  primary key (tenant_id, project_id, player_id)
);
create unique index players_by_external_id on players (tenant_id, project_id, external_id) where external_id is not null;
create index players_by_email on players (tenant_id, project_id, email) where email is not null;
create index players_by_phone on players (tenant_id, project_id, phone) where phone is not null;
create index players_by_telegram_id on players (tenant_id, project_id, telegram_id) where telegram_id is not null;
create index players_by_rare_status on players (tenant_id, project_id, status) where status <> 'active';

-- Amounts are in the smallest unit of the tenant's base currency.
create table player_totals (
  tenant_id uuid not null,
  project_id uuid not null,
  player_id uuid not null,
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  total_deposited bigint not null default 0,
  total_withdrawn bigint not null default 0,
  total_wagered bigint not null default 0,
  total_won bigint not null default 0,
  bet_count bigint not null default 0,
  session_count bigint not null default 0,
  -- Ledger rows of this player that count towards a total but have no rate yet.
  pending_conversions bigint not null default 0,
  updated_at timestamptz not null,
  -- The last transaction that wrote the player (profile or totals); player-mirror reads the rows in this order.
  changed_xid xid8 not null default pg_current_xact_id(),
  primary key (tenant_id, project_id, player_id)
) with (fillfactor = 80);
create index player_totals_by_last_seen on player_totals (tenant_id, project_id, last_seen_at desc, player_id desc);
create index player_totals_by_change on player_totals (changed_xid, player_id);

-- An anonymous_id of a caller belongs to exactly one player.
create table player_identities (
  tenant_id uuid not null,
  project_id uuid not null,
  anonymous_id text not null,
  player_id uuid not null,
  linked_at timestamptz not null,
  primary key (tenant_id, project_id, anonymous_id)
);

call protect_tenant_table('players');
call protect_tenant_table('player_totals');
call protect_tenant_table('player_identities');

-- Milliseconds since the epoch, the unit of times on the log and in ClickHouse.
create function epoch_ms(moment timestamptz) returns bigint
  language sql immutable parallel safe
  return floor(extract(epoch from moment) * 1000)::bigint;
