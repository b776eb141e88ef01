create type money_event as enum (
  'deposit_initiated', 'deposit_confirmed', 'deposit_failed',
  'withdrawal_requested', 'withdrawal_confirmed', 'withdrawal_failed',
  'bet_placed', 'bet_settled', 'bet_won', 'bet_lost',
  'sport_bet_placed', 'sport_bet_settled', 'sport_cashout', 'sport_bet_voided'
);
create type bet_kind as enum ('casino', 'sport');
create type bet_status as enum ('placed', 'settled', 'voided', 'cashed_out');

-- One row per distinct money event. The row is the claim: a second event with the same key is a duplicate or a
-- conflict. `occurrence` is 0, except for outcomes of sport bets, which may be corrected: there it is the event time in
-- milliseconds, so that each correction is an event of its own.
create table ledger (
  tenant_id uuid not null,
  project_id uuid not null,
  reference text not null,
  event money_event not null,
  occurrence bigint not null,
  player_id uuid not null,
  occurred_at timestamptz not null,
  currency text,
  -- As sent, in the smallest unit of `currency`; 10 ETH in wei exceed 64 bits.
  amount numeric(38, 0),
  payout numeric(38, 0),
  -- In the smallest unit of the base currency; null while no rate is known, or when no amount was sent.
  base_amount bigint,
  base_payout bigint,
  -- The rate that converted this row: 1 unit of currency = rate units of base; null when none was needed.
  rate numeric,
  rate_ts timestamptz,
  ingestion_id uuid not null,
  event_index smallint not null,
  -- The position on the log of the event that made the claim. After a crash the fold recognises by it which event has
  -- made a claim.
  log_partition integer not null,
  log_offset bigint not null,
  primary key (tenant_id, project_id, reference, event, occurrence)
);

-- One small row per bet, written with every event of the bet, so that concurrent writers of a bet conflict. The
-- contribution of a bet to totals is a function of its ledger rows and is not stored.
create table bets (
  tenant_id uuid not null,
  project_id uuid not null,
  kind bet_kind not null,
  bet_id text not null,
  status bet_status not null,
  -- Grows by one with every change; a writer that read an older revision gets a write conflict and reads again.
  revision integer not null,
  primary key (tenant_id, project_id, kind, bet_id)
) with (fillfactor = 80);

call protect_tenant_table('ledger');
call protect_tenant_table('bets');
