-- A player is one profile row, which changes seldom, and one totals row, which changes with every batch
-- of events: the busy row stays narrow and carries only the index that lists need.
create table players (
  tenant_id uuid not null,
  project_id uuid not null,
  player_id uuid not null,
  external_id text,
  email text,
  phone text,
  telegram_id text,
  -- The same links as in player_identities, oldest first: that table answers whose an id is, this column
  -- which ids a player has. Written together.
  anonymous_ids text[] not null default '{}',
  status text not null default 'active'
    check (status in ('active', 'self_excluded', 'banned', 'deleted', 'conflict')),
  -- What the self-exclusion events say, whatever the status shows: a ban that ends reveals an exclusion again.
  self_excluded boolean not null default false,
  -- Event time of the self-exclusion event that spoke last.
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
  -- No foreign key to projects: tenant and project come from a checked key, and players arrive by the thousand.
  primary key (tenant_id, project_id, player_id)
);
create unique index players_by_external_id on players (tenant_id, project_id, external_id) where external_id is not null;
create index players_by_email on players (tenant_id, project_id, email) where email is not null;
create index players_by_phone on players (tenant_id, project_id, phone) where phone is not null;
create index players_by_telegram_id on players (tenant_id, project_id, telegram_id) where telegram_id is not null;
create index players_by_rare_status on players (tenant_id, project_id, status) where status <> 'active';

-- Money in the smallest unit of the tenant's base currency.
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
  -- The transaction that wrote the player (profile or totals) last; player-mirror follows it in commit order.
  changed_xid xid8 not null default pg_current_xact_id(),
  primary key (tenant_id, project_id, player_id)
) with (fillfactor = 80);
create index player_totals_by_last_seen on player_totals (tenant_id, project_id, last_seen_at desc, player_id desc);
create index player_totals_by_change on player_totals (changed_xid, player_id);

-- A caller's anonymous_id names exactly one player.
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

-- Milliseconds since the epoch, as every wire format of the service has them.
create function epoch_ms(moment timestamptz) returns bigint
  language sql immutable parallel safe
  return floor(extract(epoch from moment) * 1000)::bigint;
