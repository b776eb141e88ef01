-- What the last evaluation of a player has seen in ClickHouse, and what was added since: by it a change of data is known that
-- cannot change the realtime segments of the player. A row that is missing is always right: the player is evaluated again. So
-- the table is unlogged, and empty after a crash.
create unlogged table evaluated_players (
  player_id uuid not null,
  tenant_id uuid not null,
  project_id uuid not null,
  -- Changes with each write: an evaluation fills the row only if nobody else has written it meanwhile.
  version bigint not null,
  -- Of the plan whose totals and traits these are.
  stamp text not null,
  -- Numbers with commas between them; null while the player is being evaluated.
  totals text,
  -- '1' or '0' for each condition on a field.
  traits text not null default '',
  -- The windows of the totals are those of this time.
  edge_ms bigint not null default 0,
  since_ms bigint not null default 0,
  recent text not null default '',
  primary key (player_id, tenant_id, project_id)
) with (fillfactor = 60);
call protect_tenant_table('evaluated_players');

-- How often what is counted of players has changed in a project, and up to when its windows are swept, or are being swept.
create table segment_plans (
  tenant_id uuid not null,
  project_id uuid not null,
  changes bigint not null default 0,
  sweeping_at timestamptz not null default '-infinity',
  primary key (tenant_id, project_id)
);
call protect_tenant_table('segment_plans');

-- A trigger, so that no writer can forget it.
create function note_plan_change() returns trigger language plpgsql as $$
declare
  changed record := coalesce(new, old);
begin
  insert into segment_plans as p (tenant_id, project_id, changes) values (changed.tenant_id, changed.project_id, 1)
  on conflict (tenant_id, project_id) do update set changes = p.changes + 1;
  return null;
end $$;

create trigger note_new_segment after insert on segments for each row
  when (new.refresh_strategy = 'realtime') execute function note_plan_change();
create trigger note_changed_segment after update of definition, defined_at, refresh_strategy, deleted_at, evaluation_failures on segments
  for each row
  when (('realtime' in (old.refresh_strategy, new.refresh_strategy))
    and (old.definition::text, old.defined_at, old.refresh_strategy, old.deleted_at is null, old.evaluation_failures > 0)
      is distinct from
      (new.definition::text, new.defined_at, new.refresh_strategy, new.deleted_at is null, new.evaluation_failures > 0))
  execute function note_plan_change();
create trigger note_late_window after insert or delete on segment_window_sweeps for each row
  execute function note_plan_change();

-- An attempt has begun: ClickHouse may have the amounts already, of players who are not marked.
alter table event_corrections add column is_tried boolean not null default false;
