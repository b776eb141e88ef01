-- Wagering: what a bet of any size, a second merge during a recount, a restored Postgres and old bets need.

-- Without a limit of digits: a sum of stakes of up to 38 digits may have more.
alter table bonus_grants
  alter column wagering_progress type numeric,
  -- Grows with every merge: a recount that began before it is not the one that it needs.
  add column recount_seq integer not null default 0,
  -- The bets since the activation that came before the grant was stored are recorded, too: by clocks that are ahead, or by
  -- a credit of an earlier time. Grants from before this column were looked at as their times asked for.
  add column are_bets_recorded boolean not null default true,
  -- Of an ended grant, long after its end: `closed`: the sum stays, and no bet changes it any more; `removed`: nor are its
  -- bets kept.
  add column wagering_record text not null default 'open' check (wagering_record in ('open', 'closed', 'removed'));
alter table bonus_grants alter column are_bets_recorded set default false;
create index bonus_grants_to_look_up on bonus_grants (grant_id)
  where activated_at is not null
    and (not are_bets_recorded or activated_at < coalesce(recorded_from, created_at));
alter table bonus_breaches alter column stake type numeric;
create index bonus_grants_to_close on bonus_grants (ended_at, grant_id)
  where ended_at is not null and wagering_record <> 'removed';

alter table bonus_contributions
  -- The state is that of the ledger, which is above every state that was reported beside it.
  add column is_of_ledger boolean not null default false,
  -- The conversion with which the bet was first counted in another currency: {to, from_scale, to_scale, steps}.
  add column rate jsonb;

-- How far the bets of `player-events` are counted. Behind what the log knows when Postgres was restored: then they are
-- read again. This table has no data of tenants.
create table wagering_positions (
  topic text not null,
  partition integer not null,
  -- The log that the position points into.
  log_id text not null,
  next_offset bigint not null,
  primary key (topic, partition)
);
grant select, insert, update, delete on wagering_positions to engagement_service;
