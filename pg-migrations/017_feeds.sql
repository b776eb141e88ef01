-- Movements, voids, reversals, balances and bonus parts. Every column is added without a rewrite of its table: those of
-- the ledger are null in rows of before, those of the totals 0.
alter type money_event add value 'bet_voided';
alter type money_event add value 'sport_bet_reopened';
alter type money_event add value 'deposit_reversed';
alter type money_event add value 'withdrawal_reversed';
alter type money_event add value 'balance_credited';
alter type money_event add value 'balance_debited';

alter table ledger
  -- The provider's id of one debit or credit of a bet; of a reversal its reversal_id.
  add column movement_id text collate "C",
  -- Why a balance changed.
  add column reason text,
  -- The parts of amount and payout that are bonus money, as sent and in the base currency.
  add column bonus_stake numeric(38, 0),
  add column bonus_payout numeric(38, 0),
  add column base_bonus_stake bigint,
  add column base_bonus_payout bigint,
  -- 64 bits of the details that do not count, such as the game. Null in rows of before, with which nothing differs.
  add column detail_hash bigint;

alter table ledger_adjustments
  add column base_bonus_stake bigint,
  add column base_bonus_payout bigint;

alter table player_totals
  add column total_bonus_wagered bigint not null default 0,
  add column total_bonus_won bigint not null default 0,
  add column total_credited bigint not null default 0,
  add column total_debited bigint not null default 0;

-- Projects whose rows of before are still to be counted in ClickHouse, and how far that is: event-rewriter queues their rows
-- page by page while it has nothing else to correct, and removes the project after its last row.
create table recounts (
  tenant_id uuid not null,
  project_id uuid not null,
  reference text collate "C" not null default '',
  ordinal integer not null default -1,
  -- The project with the fewest is next: a small one does not wait for a large one.
  pages integer not null default 0,
  primary key (tenant_id, project_id)
);
alter table projects no force row level security;
insert into recounts (tenant_id, project_id) select tenant_id, project_id from projects;
alter table projects force row level security;
call protect_tenant_table('recounts');

-- What a filter of a journey compares once the rate is known.
alter table unrated_events
  add column base_bonus_stake bigint,
  add column base_bonus_payout bigint;
