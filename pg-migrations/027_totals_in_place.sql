-- Totals are written with nearly every event. With an index on what each write changes, every write made a new row version in
-- all three indexes (0 of 104,630 updates were HOT). So no index has a column that changes with each event: player-mirror
-- learns of changed players from a table of its own, and lists are sorted by a time that follows the last event in steps.
-- Nothing is rewritten, and no index is built over players.

-- Players that transactions have changed: a row per statement and project. player-mirror copies the players and removes the
-- rows.
create table player_changes (
  tenant_id uuid not null,
  project_id uuid not null,
  changed_xid xid8 not null default pg_current_xact_id(),
  change_id uuid not null default new_id(),
  player_count integer not null,
  -- May contain a player twice. At most 2,000.
  player_ids uuid[] not null,
  noted_at timestamptz not null default now(),
  primary key (tenant_id, change_id)
);
create index player_changes_in_order on player_changes (changed_xid, change_id);
-- Ids are random to a compressor.
alter table player_changes alter column player_ids set storage external;
call protect_tenant_table('player_changes');

-- What writes a player sets `changed_xid` of its totals; a merge removes those of the player that goes.
create function note_player_changes() returns trigger language plpgsql as $$
begin
  insert into player_changes (tenant_id, project_id, player_count, player_ids)
  select tenant_id, project_id, count(*), array_agg(player_id)
  from (
    select tenant_id, project_id, player_id, (row_number() over () - 1) / 2000 as part
    from changed_rows
    where tg_op = 'DELETE' or changed_xid = pg_current_xact_id()) c
  group by tenant_id, project_id, part;
  return null;
end $$;
create trigger player_totals_made after insert on player_totals
  referencing new table as changed_rows for each statement execute function note_player_changes();
create trigger player_totals_changed after update on player_totals
  referencing new table as changed_rows for each statement execute function note_player_changes();
create trigger player_totals_removed after delete on player_totals
  referencing old table as changed_rows for each statement execute function note_player_changes();

-- The last transaction that noted players to be copied again in this epoch; null: none were. Pages of them follow their ids,
-- so a position of player-mirror before it proves nothing about the changes below the position.
alter table database_epochs add column noted_xid xid8;

-- What player-mirror has not copied yet.
alter table player_totals no force row level security;
alter table player_merges no force row level security;
alter table player_changes no force row level security;
insert into player_changes (tenant_id, project_id, changed_xid, player_count, player_ids)
select c.tenant_id, c.project_id, c.changed_xid, count(*), array_agg(c.player_id)
from (
  select t.*, (row_number() over (partition by t.tenant_id, t.project_id, t.changed_xid) - 1) / 2000 as part
  from (values (1)) one (n)
  left join mirror_positions p on p.name = 'players'
  cross join lateral (
    select tenant_id, project_id, player_id, changed_xid from player_totals
    where (changed_xid, player_id) > (coalesce(p.changed_xid, '0'), coalesce(p.row_id, '00000000-0000-0000-0000-000000000000'))
    union all
    select tenant_id, project_id, player_id, changed_xid from player_merges
    where (changed_xid, player_id) > (coalesce(p.changed_xid, '0'), coalesce(p.row_id, '00000000-0000-0000-0000-000000000000'))
  ) t
) c
group by c.tenant_id, c.project_id, c.changed_xid, c.part;
-- The mirror copies whole transactions now: it begins that of its position again if it has not copied all of it.
update mirror_positions p set row_id = 'ffffffff-ffff-ffff-ffff-ffffffffffff',
  changed_xid = case when exists (select from player_changes c where c.changed_xid = p.changed_xid)
    then (p.changed_xid::text::numeric - 1)::text::xid8 else p.changed_xid end
where p.name = 'players' and p.changed_xid <> '0';
alter table player_totals force row level security;
alter table player_merges force row level security;
alter table player_changes force row level security;
drop index player_totals_by_change;
drop index player_merges_by_change;

-- The time that lists are sorted by: that of an event of the player, less than five minutes before the last one. So it stays in
-- its index, and changes at most every five minutes of play.
alter table player_totals rename column last_seen_at to listed_at;
-- The time of the last event; null in rows in which that is `listed_at`.
alter table player_totals add column seen_at timestamptz;
-- Room for new versions of rows on their page, as long as others may read the old ones.
alter table player_totals set (fillfactor = 70);
