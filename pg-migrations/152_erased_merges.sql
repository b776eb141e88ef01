-- The events of players that were merged into an erased one are reduced as well, whenever the log is read again: their ids
-- are found in an index of these rows alone.
alter table player_merges no force row level security;
alter table players no force row level security;
alter table player_merges add column is_erased boolean not null default false;
update player_merges m set is_erased = true
from players p
where p.erased_at is not null and p.player_id = m.into_player_id and p.tenant_id = m.tenant_id
  and p.project_id = m.project_id;
create index player_merges_erased on player_merges (player_id) where is_erased;
alter table players force row level security;
alter table player_merges force row level security;
