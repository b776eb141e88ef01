-- What became of the members of bonus campaigns, counted as it changes: who lists campaigns must not read all members.

-- The sums of a campaign's rows by status and, of skipped ones, code; they are sums over the rows of this table, too. A
-- transaction adds to a row that no other holds, and makes one when there is none: nobody waits for another, and there are
-- as many as there were writers at once. A single row may be negative.
create table bonus_campaign_counts (
  tenant_id uuid not null,
  project_id uuid not null,
  campaign_id uuid not null,
  count_id uuid not null default gen_random_uuid(),
  status text not null,
  code text,
  members integer not null,
  -- In the smallest unit of the base currency.
  cost_base numeric(38, 0) not null,
  released_base numeric(38, 0) not null,
  ended_unreleased_base numeric(38, 0) not null,
  open_base numeric(38, 0) not null,
  primary key (tenant_id, project_id, campaign_id, count_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
call protect_tenant_table('bonus_campaign_counts');

-- Adds the changed rows to the counts, times the argument: 1 or -1.
create function count_campaign_rows() returns trigger language plpgsql as $$
declare
  times integer := tg_argv[0];
  change record;
  free_id uuid;
begin
  for change in
    select tenant_id, project_id, campaign_id, status, case when status = 'skipped' then code end as code,
      times * count(*) as members, times * sum(cost_base) as cost, times * sum(released_base) as released,
      times * sum(case when is_open then 0 else greatest(cost_base - released_base, 0) end) as ended_unreleased,
      times * sum(case when is_open then cost_base else 0 end) as open
    from changed_rows
    group by 1, 2, 3, 4, 5
  loop
    select c.count_id into free_id from bonus_campaign_counts c
    where c.tenant_id = change.tenant_id and c.project_id = change.project_id and c.campaign_id = change.campaign_id
      and c.status = change.status and c.code is not distinct from change.code
    limit 1 for no key update skip locked;
    if found then
      update bonus_campaign_counts c set
        members = c.members + change.members, cost_base = c.cost_base + change.cost,
        released_base = c.released_base + change.released,
        ended_unreleased_base = c.ended_unreleased_base + change.ended_unreleased, open_base = c.open_base + change.open
      where c.tenant_id = change.tenant_id and c.project_id = change.project_id
        and c.campaign_id = change.campaign_id and c.count_id = free_id;
    else
      insert into bonus_campaign_counts (tenant_id, project_id, campaign_id, status, code, members, cost_base,
        released_base, ended_unreleased_base, open_base)
      values (change.tenant_id, change.project_id, change.campaign_id, change.status, change.code, change.members,
        change.cost, change.released, change.ended_unreleased, change.open);
    end if;
  end loop;
  return null;
end $$;
create trigger campaign_rows_made after insert on bonus_campaign_rows
  referencing new table as changed_rows for each statement execute function count_campaign_rows('1');
create trigger campaign_rows_changed after update on bonus_campaign_rows
  referencing new table as changed_rows for each statement execute function count_campaign_rows('1');
create trigger campaign_rows_were after update on bonus_campaign_rows
  referencing old table as changed_rows for each statement execute function count_campaign_rows('-1');
create trigger campaign_rows_removed after delete on bonus_campaign_rows
  referencing old table as changed_rows for each statement execute function count_campaign_rows('-1');

-- The triggers keep writers away until the end of the transaction. Row-level security would hide the rows of all tenants
-- from an owner who is no superuser.
alter table bonus_campaign_rows no force row level security;
alter table bonus_campaign_counts no force row level security;
insert into bonus_campaign_counts (tenant_id, project_id, campaign_id, status, code, members, cost_base, released_base,
  ended_unreleased_base, open_base)
select tenant_id, project_id, campaign_id, status, case when status = 'skipped' then code end, count(*), sum(cost_base),
  sum(released_base), sum(case when is_open then 0 else greatest(cost_base - released_base, 0) end),
  sum(case when is_open then cost_base else 0 end)
from bonus_campaign_rows
group by 1, 2, 3, 4, 5;
alter table bonus_campaign_rows force row level security;
alter table bonus_campaign_counts force row level security;
