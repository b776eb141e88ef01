-- Money: the ledger, the exchange rates that convert its amounts, and what is done when a rate changes.

create type money_event as enum (
  'deposit_initiated', 'deposit_confirmed', 'deposit_failed',
  'withdrawal_requested', 'withdrawal_confirmed', 'withdrawal_failed',
  'bet_placed', 'bet_settled', 'bet_won', 'bet_lost',
  'sport_bet_placed', 'sport_bet_settled', 'sport_cashout', 'sport_bet_voided'
);
create type bet_kind as enum ('casino', 'sport');
create type bet_status as enum ('placed', 'settled', 'voided', 'cashed_out');

-- One row per distinct money event. The row is the claim: a second event with the same key is a duplicate or a conflict. The
-- rows of a reference (a transaction_id or bet_id) are numbered 0, 1, 2 … as they are claimed. The key is also the guard of
-- a bet, whose contribution to totals is a function of its rows: of two writers that have read the same rows of a reference,
-- both want the same ordinal, and the second one violates the key and starts over. Columns stand in the order of their
-- alignment, so that no row has gaps.
create table ledger (
  log_offset bigint not null,
  occurred_at timestamptz not null,
  -- In the smallest unit of the base currency; null while no rate is known, or when no amount was sent.
  base_amount bigint,
  base_payout bigint,
  rate_ts timestamptz,
  ingestion_id uuid not null,
  player_id uuid not null,
  project_no integer not null,
  event money_event not null,
  -- An operator who settles every bet under one id has a row for each.
  ordinal integer not null,
  event_index smallint not null,
  -- The position on the log of the event that made the claim. After a crash the fold recognises by it which event has
  -- made a claim.
  log_partition smallint not null,
  rate_is_inverse boolean,
  -- Compared by its bytes: by the rules of a language it takes several times as long.
  reference text collate "C" not null,
  currency text,
  -- As sent, in the smallest unit of `currency`; 10 ETH in wei exceed 64 bits.
  amount numeric(38, 0),
  payout numeric(38, 0),
  -- The rate that converted this row, as published: 1 unit of currency = rate units of base, or the other way round when
  -- inverse; null when none was needed.
  rate numeric,
  primary key (project_no, reference, ordinal)
);
-- The rows that a change of rates can affect: those converted by a rate, and those without a known rate.
create index ledger_by_rate on ledger (project_no, currency, occurred_at, reference, ordinal)
  where rate is not null or (amount is not null and base_amount is null) or (payout is not null and base_payout is null);
-- Pending conversions, for the backlog. Oldest first: ids of ingestion follow time.
create index ledger_pending on ledger (ingestion_id)
  where (amount is not null and base_amount is null) or (payout is not null and base_payout is null);
-- Requests show the rows of the ledger of a player, which they look up by reference: the API role may read those of its
-- tenant's projects, whose numbers it reads under the same protection. Nothing else is readable, and it changes nothing.
alter table ledger enable row level security;
alter table ledger force row level security;
create policy every_tenant on ledger to engagement_service using (true);
create policy own_tenant on ledger for select to engagement_api
  using (project_no in (select p.project_no from projects p where p.tenant_id = (select current_tenant_id())));
grant select, insert, update, delete on ledger to engagement_service;
grant select on ledger to engagement_api;

-- 1 whole unit of `base` = `rate` whole units of `quote`, from `ts` on until a later rate of the same pair. The fetch
-- job writes rows. Operators may insert rows with the source 'manual' (docs/operating.md, "Manual rates").
create table fx_rates (
  tenant_id uuid not null,
  base text not null,
  quote text not null,
  -- In milliseconds, like the times of events.
  ts timestamptz(3) not null default now() check (isfinite(ts)),
  -- Postgres treats NaN as greater than infinity, so the check refuses both.
  rate numeric not null check (rate > 0 and rate < 'infinity'),
  source text not null default 'manual',
  primary key (tenant_id, base, quote, ts),
  foreign key (tenant_id, base) references currencies,
  foreign key (tenant_id, quote) references currencies,
  check (base <> quote)
);
call protect_tenant_table('fx_rates');

-- Rates that were inserted, updated or deleted, by a trigger. fx-restater restates the ledger and removes the rows.
create table fx_rate_changes (
  tenant_id uuid not null,
  change_id bigint generated always as identity unique,
  base text not null,
  quote text not null,
  ts timestamptz(3) not null,
  queued_at timestamptz not null default now(),
  primary key (tenant_id, change_id)
);
call protect_tenant_table('fx_rate_changes');

create function note_fx_rate_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and (new.tenant_id, new.base, new.quote, new.ts, new.rate)
      = (old.tenant_id, old.base, old.quote, old.ts, old.rate) then
    return null;
  end if;
  -- A rate that moved leaves a gap where it was.
  if tg_op = 'DELETE' or tg_op = 'UPDATE' and (new.tenant_id, new.base, new.quote, new.ts)
      <> (old.tenant_id, old.base, old.quote, old.ts) then
    insert into fx_rate_changes (tenant_id, base, quote, ts) values (old.tenant_id, old.base, old.quote, old.ts);
  end if;
  if tg_op <> 'DELETE' then
    insert into fx_rate_changes (tenant_id, base, quote, ts) values (new.tenant_id, new.base, new.quote, new.ts);
  end if;
  perform pg_notify('fx_rates', '');
  return null;
end $$;
create trigger fx_rate_changed after insert or update or delete on fx_rates
  for each row execute function note_fx_rate_change();

-- The rate of a pair at a moment: the latest rate of the pair by then, or else the latest rate of the opposite pair
-- (`rate_is_inverse`: divide by it). No row when neither is known. Postgres inlines it into the calling query.
create function rate_at(of_tenant uuid, from_code text, to_code text, moment timestamptz)
  returns table (rate numeric, rate_ts timestamptz, rate_is_inverse boolean, source text)
  language sql stable parallel safe as $$
    select c.rate, c.ts, c.is_inverse, c.source
    from (
      (select f.rate, f.ts, false as is_inverse, f.source from fx_rates f
        where f.tenant_id = of_tenant and f.base = from_code and f.quote = to_code and f.ts <= moment
        order by f.ts desc limit 1)
      union all
      (select f.rate, f.ts, true, f.source from fx_rates f
        where f.tenant_id = of_tenant and f.base = to_code and f.quote = from_code and f.ts <= moment
        order by f.ts desc limit 1)
    ) c
    order by c.is_inverse
    limit 1
  $$;

-- The base amounts and the rate of a ledger row before it was restated.
create table ledger_adjustments (
  tenant_id uuid not null,
  project_id uuid not null,
  adjustment_id bigint generated always as identity,
  reference text not null,
  base_amount bigint,
  base_payout bigint,
  rate numeric,
  rate_ts timestamptz,
  rate_is_inverse boolean,
  adjusted_at timestamptz not null,
  ordinal integer not null,
  primary key (tenant_id, project_id, adjustment_id)
);
create index ledger_adjustments_by_row on ledger_adjustments (tenant_id, project_id, reference, ordinal);
call protect_tenant_table('ledger_adjustments');

-- Ledger rows whose base amounts changed. event-rewriter corrects their events in ClickHouse and removes the rows.
create table event_corrections (
  tenant_id uuid not null,
  correction_id bigint generated always as identity unique,
  project_id uuid not null,
  reference text not null,
  queued_at timestamptz not null default now(),
  ordinal integer not null,
  primary key (tenant_id, correction_id)
);
call protect_tenant_table('event_corrections');

grant usage on sequence fx_rate_changes_change_id_seq, ledger_adjustments_adjustment_id_seq,
  event_corrections_correction_id_seq to engagement_api, engagement_service;
