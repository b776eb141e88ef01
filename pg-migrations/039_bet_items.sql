-- What bets are about: game and category, or sport and type of bet. Outcomes often do not say it, and take it from the placed
-- row of the ledger. A number there instead of texts: an operator has thousands of games and millions of bets. Not an integer of
-- 32 bits: an operator who sends another text with each bet must not use up the numbers of all.
create table bet_items (
  project_no integer not null,
  item_no bigint generated always as identity,
  -- A hash of both texts, which may be too long for an index.
  item_key uuid not null,
  item text not null,
  item_group text not null,
  primary key (project_no, item_no),
  unique (project_no, item_key)
);
alter table bet_items enable row level security;
alter table bet_items force row level security;
create policy every_tenant on bet_items to engagement_service using (true);
-- As of the ledger, with which it is read.
create policy own_tenant on bet_items for select to engagement_api
  using (project_no in (select p.project_no from projects p where p.tenant_id = (select current_tenant_id())));
grant select, insert, update, delete on bet_items to engagement_service;
grant select on bet_items to engagement_api;

-- Of placed bets; null in rows from before.
alter table ledger add column item_no bigint;
