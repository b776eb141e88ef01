-- The ledger in half the space, and without a second table of bets.
--
-- Every table is locked before the first row is copied: a table that somebody uses ends the attempt at once, not after the
-- copy. Migrations that are applied together with this one lock theirs before it.
lock table projects, ledger, bets, ledger_adjustments, event_corrections, bonus_contributions in access exclusive mode;

-- A project has a number, which takes 4 bytes where the ids of tenant and project take 32. It is not shown outside.
alter table projects add column project_no integer generated always as identity;
alter table projects add constraint projects_by_number unique (project_no);

-- One row per distinct money event. The rows of a reference (a transaction_id or bet_id) are numbered 0, 1, 2 … as they
-- are claimed. The key is also the guard of a bet, whose contribution to totals is a function of its rows: of two writers
-- that have read the same rows of a reference, both want the same ordinal, and the second one violates the key and starts
-- over. Columns stand in the order of their alignment, so that no row has gaps.
alter table ledger rename to ledger_before;
alter index ledger_pkey rename to ledger_before_pkey;
drop index ledger_by_rate, ledger_pending;

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
  rate numeric
);
insert into ledger (project_no, reference, ordinal, event, player_id, occurred_at, currency, amount, payout, base_amount,
  base_payout, rate, rate_ts, rate_is_inverse, ingestion_id, event_index, log_partition, log_offset)
select p.project_no, l.reference,
  row_number() over (partition by p.project_no, l.reference order by l.log_partition, l.log_offset, l.event) - 1,
  l.event, l.player_id, l.occurred_at, l.currency, l.amount, l.payout, l.base_amount, l.base_payout, l.rate, l.rate_ts,
  l.rate_is_inverse, l.ingestion_id, l.event_index, l.log_partition, l.log_offset
from ledger_before l join projects p using (tenant_id, project_id);
alter table ledger add primary key (project_no, reference, ordinal);
-- The rows that a change of rates can affect: those converted by a rate, and those without a known rate.
create index ledger_by_rate on ledger (project_no, currency, occurred_at, reference, ordinal)
  where rate is not null or (amount is not null and base_amount is null) or (payout is not null and base_payout is null);
-- Pending conversions, for the backlog.
create index ledger_pending on ledger (ingestion_id)
  where (amount is not null and base_amount is null) or (payout is not null and base_payout is null);

-- No request reads it, so the API role has no access, and no policy that would open rows to it.
alter table ledger enable row level security;
alter table ledger force row level security;
create policy every_tenant on ledger to engagement_service using (true);
grant select, insert, update, delete on ledger to engagement_service;

-- What names a row of the ledger has its ordinal instead of event and occurrence.
alter table ledger_adjustments add column ordinal integer;
update ledger_adjustments a set ordinal = l.ordinal
from projects p, ledger l
where p.tenant_id = a.tenant_id and p.project_id = a.project_id and l.project_no = p.project_no
  and l.reference = a.reference and l.event = a.event
  and a.occurrence = case
    when l.event in ('sport_bet_settled', 'sport_cashout', 'sport_bet_voided') then epoch_ms(l.occurred_at) else 0 end;
drop index ledger_adjustments_by_row;
alter table ledger_adjustments alter column ordinal set not null, drop column event, drop column occurrence;
create index ledger_adjustments_by_row on ledger_adjustments (tenant_id, project_id, reference, ordinal);

alter table event_corrections add column ordinal integer;
update event_corrections c set ordinal = l.ordinal
from projects p, ledger l
where p.tenant_id = c.tenant_id and p.project_id = c.project_id and l.project_no = p.project_no
  and l.reference = c.reference and l.event = c.event
  and c.occurrence = case
    when l.event in ('sport_bet_settled', 'sport_cashout', 'sport_bet_voided') then epoch_ms(l.occurred_at) else 0 end;
alter table event_corrections alter column ordinal set not null, drop column event, drop column occurrence;

drop table ledger_before;
drop table bets;

-- Which state of a bet counts towards a bonus is told by the number of its ledger rows; before, it was a number of `bets`.
-- Every state that is read from now on is at least as new as the stored one.
update bonus_contributions set revision = 0 where is_of_ledger;
