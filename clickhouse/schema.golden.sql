-- The schema that the migrations result in. Made by a test: UPDATE_GOLDEN=1 writes it anew.

CREATE TABLE default.bonus_assignments
(
    `tenant_id` UUID,
    `project_id` UUID,
    `campaign_id` UUID,
    `player_id` UUID,
    `is_held_out` UInt8,
    `assigned_at` DateTime64(3, 'UTC'),
    `revision` UInt64
)
ENGINE = ReplacingMergeTree(revision)
ORDER BY (tenant_id, project_id, campaign_id, player_id)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 8192;

CREATE TABLE default.campaign_sends
(
    `tenant_id` UUID,
    `project_id` UUID,
    `player_id` UUID,
    `send_id` UUID,
    `campaign_id` Nullable(UUID),
    `variant_id` Nullable(UUID),
    `channel` LowCardinality(String),
    `status` LowCardinality(String),
    `error_code` LowCardinality(Nullable(String)),
    `enqueued_at` DateTime64(3, 'UTC'),
    `assigned_at` Nullable(DateTime64(3, 'UTC')),
    `is_own_hour` Nullable(UInt8),
    `sent_at` Nullable(DateTime64(3, 'UTC')),
    `delivered_at` Nullable(DateTime64(3, 'UTC')),
    `opened_at` Nullable(DateTime64(3, 'UTC')),
    `clicked_at` Nullable(DateTime64(3, 'UTC')),
    `bounced_at` Nullable(DateTime64(3, 'UTC')),
    `mirrored_at` DateTime64(3, 'UTC') DEFAULT now64(3),
    `revision` UInt64
)
ENGINE = ReplacingMergeTree(revision)
ORDER BY (tenant_id, project_id, assumeNotNull(campaign_id), send_id)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 8192;

CREATE TABLE default.events
(
    `tenant_id` UUID,
    `project_id` UUID,
    `event` LowCardinality(String),
    `player_id` UUID,
    `occurred_at` DateTime64(3, 'UTC'),
    `received_at` DateTime64(3, 'UTC'),
    `ingestion_id` UUID,
    `event_index` UInt16,
    `base_amount` Nullable(Int64),
    `base_payout` Nullable(Int64),
    `base_bonus_stake` Nullable(Int64),
    `base_bonus_payout` Nullable(Int64),
    `stake_counted` Int64 DEFAULT 0,
    `payout_counted` Int64 DEFAULT 0,
    `bonus_stake_counted` Int64 DEFAULT 0,
    `bonus_payout_counted` Int64 DEFAULT 0,
    `item` LowCardinality(String) DEFAULT multiIf((event IN ('bet_placed', 'bet_settled', 'bet_won', 'bet_lost', 'bet_voided')), JSONExtractString(properties, 'game_id'), startsWith(event, 'sport_'), JSONExtractString(properties, 'sport'), ''),
    `item_group` LowCardinality(String) DEFAULT multiIf((event IN ('bet_placed', 'bet_settled', 'bet_won', 'bet_lost', 'bet_voided')), JSONExtractString(properties, 'game_category'), startsWith(event, 'sport_'), JSONExtractString(properties, 'bet_type'), ''),
    `payment_method` LowCardinality(String) DEFAULT if(startsWith(event, 'deposit_') OR startsWith(event, 'withdrawal_'), JSONExtractString(properties, 'payment_method'), ''),
    `properties` String CODEC(ZSTD(1)),
    `revision` UInt64 DEFAULT 0
)
ENGINE = ReplacingMergeTree(revision)
ORDER BY (tenant_id, project_id, event, occurred_at, ingestion_id, event_index)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 8192;

CREATE TABLE default.events_by_player
(
    `tenant_id` UUID,
    `project_id` UUID,
    `event` LowCardinality(String),
    `player_id` UUID,
    `occurred_at` DateTime64(3, 'UTC'),
    `received_at` DateTime64(3, 'UTC'),
    `ingestion_id` UUID,
    `event_index` UInt16,
    `base_amount` Nullable(Int64),
    `base_payout` Nullable(Int64),
    `base_bonus_stake` Nullable(Int64),
    `base_bonus_payout` Nullable(Int64),
    `stake_counted` Int64 DEFAULT 0,
    `payout_counted` Int64 DEFAULT 0,
    `bonus_stake_counted` Int64 DEFAULT 0,
    `bonus_payout_counted` Int64 DEFAULT 0,
    `item` LowCardinality(String) DEFAULT multiIf((event IN ('bet_placed', 'bet_settled', 'bet_won', 'bet_lost', 'bet_voided')), JSONExtractString(properties, 'game_id'), startsWith(event, 'sport_'), JSONExtractString(properties, 'sport'), ''),
    `item_group` LowCardinality(String) DEFAULT multiIf((event IN ('bet_placed', 'bet_settled', 'bet_won', 'bet_lost', 'bet_voided')), JSONExtractString(properties, 'game_category'), startsWith(event, 'sport_'), JSONExtractString(properties, 'bet_type'), ''),
    `payment_method` LowCardinality(String) DEFAULT if(startsWith(event, 'deposit_') OR startsWith(event, 'withdrawal_'), JSONExtractString(properties, 'payment_method'), ''),
    `properties` String CODEC(ZSTD(1)),
    `revision` UInt64 DEFAULT 0
)
ENGINE = ReplacingMergeTree(revision)
ORDER BY (tenant_id, project_id, player_id, occurred_at, ingestion_id, event_index)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 8192;

CREATE MATERIALIZED VIEW default.events_to_events_by_player TO default.events_by_player
(
    `tenant_id` UUID,
    `project_id` UUID,
    `event` LowCardinality(String),
    `player_id` UUID,
    `occurred_at` DateTime64(3, 'UTC'),
    `received_at` DateTime64(3, 'UTC'),
    `ingestion_id` UUID,
    `event_index` UInt16,
    `base_amount` Nullable(Int64),
    `base_payout` Nullable(Int64),
    `base_bonus_stake` Nullable(Int64),
    `base_bonus_payout` Nullable(Int64),
    `stake_counted` Int64,
    `payout_counted` Int64,
    `bonus_stake_counted` Int64,
    `bonus_payout_counted` Int64,
    `item` LowCardinality(String),
    `item_group` LowCardinality(String),
    `payment_method` LowCardinality(String),
    `properties` String,
    `revision` UInt64
)
AS SELECT *
FROM default.events;

CREATE TABLE default.journey_runs
(
    `tenant_id` UUID,
    `project_id` UUID,
    `journey_id` UUID,
    `run_id` UUID,
    `version` UInt32,
    `player_id` UUID,
    `is_held_out` UInt8,
    `is_held_out_globally` UInt8 DEFAULT 0,
    `started_at` DateTime64(3, 'UTC'),
    `is_archived` UInt8,
    `revision` UInt64
)
ENGINE = ReplacingMergeTree(revision)
ORDER BY (tenant_id, project_id, journey_id, run_id)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 8192;

CREATE TABLE default.journey_sends
(
    `tenant_id` UUID,
    `project_id` UUID,
    `journey_id` UUID,
    `send_id` UUID,
    `run_id` UUID,
    `node_id` LowCardinality(String),
    `player_id` UUID,
    `status` LowCardinality(String),
    `error_code` LowCardinality(Nullable(String)),
    `sent_at` Nullable(DateTime64(3, 'UTC')),
    `delivered_at` Nullable(DateTime64(3, 'UTC')),
    `opened_at` Nullable(DateTime64(3, 'UTC')),
    `clicked_at` Nullable(DateTime64(3, 'UTC')),
    `bounced_at` Nullable(DateTime64(3, 'UTC')),
    `revision` UInt64
)
ENGINE = ReplacingMergeTree(revision)
ORDER BY (tenant_id, project_id, journey_id, send_id)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 8192;

CREATE TABLE default.journey_steps
(
    `tenant_id` UUID,
    `project_id` UUID,
    `journey_id` UUID,
    `run_id` UUID,
    `seq` UInt32,
    `version` UInt32,
    `player_id` UUID,
    `node_id` LowCardinality(String),
    `node_type` LowCardinality(String),
    `status` LowCardinality(String),
    `outcome` String,
    `next_node_id` LowCardinality(Nullable(String)),
    `ref` Nullable(UUID),
    `error_code` LowCardinality(Nullable(String)),
    `entered_at` DateTime64(3, 'UTC'),
    `completed_at` DateTime64(3, 'UTC'),
    `revision` UInt64
)
ENGINE = ReplacingMergeTree(revision)
ORDER BY (tenant_id, project_id, journey_id, run_id, seq)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 8192;

CREATE TABLE default.message_sends
(
    `tenant_id` UUID,
    `project_id` UUID,
    `player_id` UUID,
    `send_id` UUID,
    `campaign_id` Nullable(UUID),
    `variant_id` Nullable(UUID),
    `channel` LowCardinality(String),
    `status` LowCardinality(String),
    `error_code` LowCardinality(Nullable(String)),
    `enqueued_at` DateTime64(3, 'UTC'),
    `assigned_at` Nullable(DateTime64(3, 'UTC')),
    `is_own_hour` Nullable(UInt8),
    `sent_at` Nullable(DateTime64(3, 'UTC')),
    `delivered_at` Nullable(DateTime64(3, 'UTC')),
    `opened_at` Nullable(DateTime64(3, 'UTC')),
    `clicked_at` Nullable(DateTime64(3, 'UTC')),
    `bounced_at` Nullable(DateTime64(3, 'UTC')),
    `mirrored_at` DateTime64(3, 'UTC') DEFAULT now64(3),
    `revision` UInt64
)
ENGINE = ReplacingMergeTree(revision)
ORDER BY (tenant_id, project_id, player_id, send_id)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 8192;

CREATE MATERIALIZED VIEW default.message_sends_to_campaign_sends TO default.campaign_sends
(
    `tenant_id` UUID,
    `project_id` UUID,
    `player_id` UUID,
    `send_id` UUID,
    `campaign_id` Nullable(UUID),
    `variant_id` Nullable(UUID),
    `channel` LowCardinality(String),
    `status` LowCardinality(String),
    `error_code` LowCardinality(Nullable(String)),
    `enqueued_at` DateTime64(3, 'UTC'),
    `assigned_at` Nullable(DateTime64(3, 'UTC')),
    `is_own_hour` Nullable(UInt8),
    `sent_at` Nullable(DateTime64(3, 'UTC')),
    `delivered_at` Nullable(DateTime64(3, 'UTC')),
    `opened_at` Nullable(DateTime64(3, 'UTC')),
    `clicked_at` Nullable(DateTime64(3, 'UTC')),
    `bounced_at` Nullable(DateTime64(3, 'UTC')),
    `mirrored_at` DateTime64(3, 'UTC'),
    `revision` UInt64
)
AS SELECT *
FROM default.message_sends
WHERE campaign_id IS NOT NULL;

CREATE DICTIONARY default.player_alias
(
    `tenant_id` UUID,
    `project_id` UUID,
    `player_id` UUID,
    `into_player_id` UUID
)
PRIMARY KEY tenant_id, project_id, player_id
SOURCE(CLICKHOUSE(QUERY 'select tenant_id, project_id, player_id, into_player_id from "default".player_aliases final'))
LIFETIME(MIN 0 MAX 0)
LAYOUT(COMPLEX_KEY_HASHED());

CREATE TABLE default.player_aliases
(
    `tenant_id` UUID,
    `project_id` UUID,
    `player_id` UUID,
    `into_player_id` UUID,
    `revision` UInt64,
    `is_deleted` UInt8 DEFAULT 0
)
ENGINE = ReplacingMergeTree(revision, is_deleted)
ORDER BY (tenant_id, project_id, player_id)
SETTINGS non_replicated_deduplication_window = 1000, index_granularity = 8192;

CREATE TABLE default.players
(
    `tenant_id` UUID,
    `project_id` UUID,
    `player_id` UUID,
    `external_id` Nullable(String),
    `email` Nullable(String),
    `phone` Nullable(String),
    `telegram_id` Nullable(String),
    `status` LowCardinality(String),
    `timezone` LowCardinality(Nullable(String)),
    `default_currency_code` LowCardinality(String),
    `current_tier_code` LowCardinality(Nullable(String)),
    `tier_promoted_at` Nullable(DateTime64(3, 'UTC')),
    `kyc_status` LowCardinality(String),
    `kyc_level` Int32,
    `churn_score` Float64,
    `ltv_predicted` Nullable(Float64),
    `custom_attributes` String,
    `first_seen_at` DateTime64(3, 'UTC'),
    `last_seen_at` DateTime64(3, 'UTC'),
    `total_deposited` Int64,
    `total_withdrawn` Int64,
    `total_wagered` Int64,
    `total_won` Int64,
    `total_bonus_wagered` Int64 DEFAULT 0,
    `total_bonus_won` Int64 DEFAULT 0,
    `total_credited` Int64 DEFAULT 0,
    `total_debited` Int64 DEFAULT 0,
    `ggr` Int64,
    `ngr` Int128 DEFAULT ggr,
    `bet_count` Int64,
    `session_count` Int64,
    `first_deposit_at` Nullable(DateTime64(3, 'UTC')),
    `created_at` DateTime64(3, 'UTC'),
    `deleted_at` Nullable(DateTime64(3, 'UTC')),
    `revision` UInt64,
    `is_deleted` UInt8 DEFAULT 0
)
ENGINE = ReplacingMergeTree(revision, is_deleted)
ORDER BY (tenant_id, project_id, player_id)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 8192;

CREATE TABLE default.schema_migrations
(
    `version` UInt32,
    `name` String,
    `applied_at` DateTime DEFAULT now()
)
ENGINE = ReplacingMergeTree
ORDER BY version
SETTINGS index_granularity = 8192;

CREATE TABLE default.segment_members
(
    `tenant_id` UUID,
    `project_id` UUID,
    `segment_id` UUID,
    `player_id` UUID,
    `revision` UInt64,
    `is_deleted` UInt8 DEFAULT 0
)
ENGINE = ReplacingMergeTree(revision, is_deleted)
ORDER BY (tenant_id, project_id, segment_id, player_id)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 8192;
