-- By what figures are grouped. Rows of before get the values when they are read, and keep them when ClickHouse merges their
-- parts: nothing is rewritten. An empty text: the event does not say.
-- The second table first: it is filled from the first.
alter table events_by_player
  add column if not exists item LowCardinality(String) default multiIf(
    event in ('bet_placed', 'bet_settled', 'bet_won', 'bet_lost', 'bet_voided'), JSONExtractString(properties, 'game_id'),
    startsWith(event, 'sport_'), JSONExtractString(properties, 'sport'), '') after bonus_payout_counted,
  add column if not exists item_group LowCardinality(String) default multiIf(
    event in ('bet_placed', 'bet_settled', 'bet_won', 'bet_lost', 'bet_voided'), JSONExtractString(properties, 'game_category'),
    startsWith(event, 'sport_'), JSONExtractString(properties, 'bet_type'), '') after item,
  add column if not exists payment_method LowCardinality(String) default
    if(startsWith(event, 'deposit_') or startsWith(event, 'withdrawal_'), JSONExtractString(properties, 'payment_method'), '')
    after item_group;
alter table events
  add column if not exists item LowCardinality(String) default multiIf(
    event in ('bet_placed', 'bet_settled', 'bet_won', 'bet_lost', 'bet_voided'), JSONExtractString(properties, 'game_id'),
    startsWith(event, 'sport_'), JSONExtractString(properties, 'sport'), '') after bonus_payout_counted,
  add column if not exists item_group LowCardinality(String) default multiIf(
    event in ('bet_placed', 'bet_settled', 'bet_won', 'bet_lost', 'bet_voided'), JSONExtractString(properties, 'game_category'),
    startsWith(event, 'sport_'), JSONExtractString(properties, 'bet_type'), '') after item,
  add column if not exists payment_method LowCardinality(String) default
    if(startsWith(event, 'deposit_') or startsWith(event, 'withdrawal_'), JSONExtractString(properties, 'payment_method'), '')
    after item_group;
alter table events_to_events_by_player modify query select * from events;
