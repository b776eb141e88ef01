-- Send time: each member of a campaign at the hour at which the member's own sessions begin.

-- `player`: each at an hour of the player's own; null: all at once.
alter table campaigns add column send_time text;
alter table campaigns add constraint campaigns_send_time check (send_time = 'player') not valid;
alter table campaigns validate constraint campaigns_send_time;

-- In how many sessions of the last days each hour of the week has begun, on the player's clock: pairs of bytes, the hour
-- (0 is Monday from 00:00) and the sessions. Null: too few. In the row of the player, as scores are, so that it is merged and
-- erased with it.
alter table players add column session_hours bytea;

-- Whether the message goes out at the player's own hour, or, drawn to be compared with it, at once. Null: not compared.
alter table message_sends add column is_own_hour boolean;

-- The last nightly fit of each project, as it is shown.
create table send_time_models (
  tenant_id uuid not null,
  project_id uuid not null,
  status text not null check (status in ('on', 'off', 'waiting')),
  -- The end of the last day whose sessions were read.
  as_of timestamptz not null,
  fitted_at timestamptz not null,
  fit jsonb not null,
  primary key (tenant_id, project_id)
);
call protect_tenant_table('send_time_models');
