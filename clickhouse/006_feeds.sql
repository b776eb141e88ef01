-- What money events count, in the smallest unit of the base currency: the same as in the totals of their players. 0: not
-- counted, or no rate is known yet. Of a transaction `stake_counted` is its amount; of a reversal what it takes back.
-- Parts alone stand in the bonus columns, which are within the others.
-- The second table first: it is filled from the first.
alter table events_by_player
  add column if not exists base_bonus_stake Nullable(Int64) after base_payout,
  add column if not exists base_bonus_payout Nullable(Int64) after base_bonus_stake,
  add column if not exists stake_counted Int64 default 0 after base_bonus_payout,
  add column if not exists payout_counted Int64 default 0 after stake_counted,
  add column if not exists bonus_stake_counted Int64 default 0 after payout_counted,
  add column if not exists bonus_payout_counted Int64 default 0 after bonus_stake_counted;
alter table events
  add column if not exists base_bonus_stake Nullable(Int64) after base_payout,
  add column if not exists base_bonus_payout Nullable(Int64) after base_bonus_stake,
  add column if not exists stake_counted Int64 default 0 after base_bonus_payout,
  add column if not exists payout_counted Int64 default 0 after stake_counted,
  add column if not exists bonus_stake_counted Int64 default 0 after payout_counted,
  add column if not exists bonus_payout_counted Int64 default 0 after bonus_stake_counted;
alter table events_to_events_by_player modify query select * from events;

-- Players who were copied before have 0 until they are copied again; their totals of before are 0, too.
alter table players
  add column if not exists total_bonus_wagered Int64 default 0 after total_won,
  add column if not exists total_bonus_won Int64 default 0 after total_bonus_wagered,
  add column if not exists total_credited Int64 default 0 after total_bonus_won,
  add column if not exists total_debited Int64 default 0 after total_credited,
  -- Net gaming revenue: of players who were copied before it is ggr, since they have no bonus money.
  -- Its parts fill 64 bits each.
  add column if not exists ngr Int128 default ggr after ggr;
