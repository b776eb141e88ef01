-- A call has said when the traits were known that identify has written: then calls that do not say it, and confirm what the
-- player has, note their time too. Others would write a player at each login.
alter table players add column has_dated_traits boolean not null default false;

-- What rules of licences ask of a player who is to get a bonus, by player: an index of the ledger by player would be built over
-- the whole ledger.

-- Withdrawals that were requested and of which no end had come when the row was written. Whether one is still open the ledger
-- says: a row that stays by a race is only looked at in vain.
create table open_withdrawals (
  player_id uuid not null,
  tenant_id uuid not null,
  project_id uuid not null,
  reference text collate "C" not null,
  primary key (reference, tenant_id, project_id)
);
create index open_withdrawals_of_player on open_withdrawals (player_id, tenant_id, project_id);
call protect_tenant_table('open_withdrawals');

-- The deposit limits that players have set. All of them are kept: which one was a raise follows from those before it, in the
-- order of their times, whatever the order in which they arrive.
create table deposit_limits (
  player_id uuid not null,
  occurred_at timestamptz not null,
  amount numeric(38, 0) not null,
  period text not null,
  currency text not null,
  tenant_id uuid not null,
  project_id uuid not null,
  primary key (player_id, occurred_at, period, currency, amount, tenant_id, project_id)
);
call protect_tenant_table('deposit_limits');

-- Projects whose withdrawals and limits of before are still to be read: of the ledger page by page, behind which row that goes
-- on, and then of the events. Until a project is removed, a player of whom nothing is known may have an open withdrawal or a
-- raised limit.
create table licence_history (
  tenant_id uuid not null,
  project_id uuid not null,
  reference text collate "C" not null default '',
  ordinal integer not null default -1,
  is_ledger_read boolean not null default false,
  foreign key (tenant_id, project_id) references projects,
  primary key (tenant_id, project_id)
);
alter table projects no force row level security;
insert into licence_history (tenant_id, project_id) select tenant_id, project_id from projects;
alter table projects force row level security;
call protect_tenant_table('licence_history');
