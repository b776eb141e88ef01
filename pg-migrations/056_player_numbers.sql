-- A number for each player that ClickHouse has. Sets of numbers are bitmaps, on which ClickHouse combines segments faster
-- than on sets of ids. `last_no` changes in the transaction that gives numbers, as a sequence would not: after a restore it
-- is below every number that was lost, and that ClickHouse may still have.
create table player_numbers (
  only_row boolean primary key default true check (only_row),
  last_no integer not null default 0
);
insert into player_numbers default values;
grant select, update on player_numbers to engagement_service;

-- Given before the player is first copied to ClickHouse; it never changes and is never given again.
alter table players add column player_no integer;
create unique index players_by_no on players (player_no) where player_no is not null;

-- Every player is copied once more, with a number.
update mirror_positions set changed_xid = '0', row_id = '00000000-0000-0000-0000-000000000000' where name = 'players';

-- What numbers of the project mean. Copies of players and bitmaps carry it: those of another numbering are not used. It is
-- random, so no other life of the database has the same. Rows in ClickHouse without one have 0.
create function new_numbering() returns bigint language sql volatile
  return hashtextextended(gen_random_uuid()::text, 0) & 9223372036854775807 | 1;
alter table projects add column numbering bigint not null default new_numbering();

-- Half of the MD5 sum of the id as text; ClickHouse computes the same.
create function member_hash(player_id uuid) returns bigint language sql immutable strict parallel safe
  return ('x' || left(md5(player_id::text), 16))::bit(64)::bigint;

-- Names the set of the segment's members: the XOR of their hashes. Null in segments of an earlier version, until it is first
-- needed.
alter table segments add column members_hash bigint;
alter table segments alter column members_hash set default 0;

-- A trigger of the outbox, so that no process of an earlier version leaves the hash behind.
create function hash_member_changes() returns trigger language plpgsql as $$
begin
  update segments s set members_hash = s.members_hash # c.hash
  from (
    select o.tenant_id, o.project_id, o.segment_id, bit_xor(member_hash(player_id)) as hash
    from changed o cross join unnest(o.player_ids) as player_id
    group by o.tenant_id, o.project_id, o.segment_id) c
  where s.tenant_id = c.tenant_id and s.project_id = c.project_id and s.segment_id = c.segment_id;
  return null;
end $$;

create trigger hash_member_changes after insert on segment_changes
  referencing new table as changed for each statement execute function hash_member_changes();
