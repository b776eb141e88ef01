-- A copy of the players in Postgres as absolute rows; the row with the highest revision (the id of the writing
-- transaction) counts. A row with `is_deleted` removes a merged player.
create table players (
  tenant_id UUID,
  project_id UUID,
  player_id UUID,
  external_id Nullable(String),
  email Nullable(String),
  phone Nullable(String),
  telegram_id Nullable(String),
  status LowCardinality(String),
  timezone LowCardinality(Nullable(String)),
  default_currency_code LowCardinality(String),
  current_tier_code LowCardinality(Nullable(String)),
  tier_promoted_at Nullable(DateTime64(3, 'UTC')),
  kyc_status LowCardinality(String),
  kyc_level Int32,
  churn_score Float64,
  ltv_predicted Nullable(Float64),
  custom_attributes String,
  first_seen_at DateTime64(3, 'UTC'),
  last_seen_at DateTime64(3, 'UTC'),
  total_deposited Int64,
  total_withdrawn Int64,
  total_wagered Int64,
  total_won Int64,
  ggr Int64,
  bet_count Int64,
  session_count Int64,
  created_at DateTime64(3, 'UTC'),
  deleted_at Nullable(DateTime64(3, 'UTC')),
  revision UInt64,
  is_deleted UInt8 default 0
)
engine = ReplacingMergeTree(revision, is_deleted)
order by (tenant_id, project_id, player_id)
settings non_replicated_deduplication_window = 10000;

-- Merged players whose events still have the old id, with their survivors. `is_deleted` after the events are rewritten.
create table player_aliases (
  tenant_id UUID,
  project_id UUID,
  player_id UUID,
  into_player_id UUID,
  revision UInt64,
  is_deleted UInt8 default 0
)
engine = ReplacingMergeTree(revision, is_deleted)
order by (tenant_id, project_id, player_id)
settings non_replicated_deduplication_window = 1000;

-- The same in memory, for queries over many players; event-rewriter reloads it after each change. The server reads the
-- source as the user in the URL of the migrating process. After a change of that user's password the dictionary has to
-- be replaced.
create dictionary player_alias (
  tenant_id UUID,
  project_id UUID,
  player_id UUID,
  into_player_id UUID
)
primary key tenant_id, project_id, player_id
source(clickhouse({access}query 'select tenant_id, project_id, player_id, into_player_id from "{database}".player_aliases final'))
layout(complex_key_hashed())
lifetime(0);
