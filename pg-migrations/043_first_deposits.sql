-- When a player first deposited. Null: never, or it is still to be counted (first_deposit_pages).
alter table player_totals add column first_deposit_at timestamptz;

-- Projects whose deposits of before are still to be counted, and behind which reference that goes on: page by page, and the
-- project is removed after its last one. Until then figures read the events.
create table first_deposit_pages (
  tenant_id uuid not null,
  project_id uuid not null,
  reference text collate "C" not null default '',
  ordinal integer not null default -1,
  -- The transaction of the last page. The project is removed once ClickHouse has the players that it has changed.
  done_xid xid8,
  foreign key (tenant_id, project_id) references projects,
  primary key (tenant_id, project_id)
);
alter table projects no force row level security;
insert into first_deposit_pages (tenant_id, project_id) select tenant_id, project_id from projects;
alter table projects force row level security;
call protect_tenant_table('first_deposit_pages');
