-- The outbox of message events: a row for each stage that a message reaches, written with the change that reached it and
-- removed once its event is on the log. Before, every change of a message reported all its stages again.
create table message_stages (
  tenant_id uuid not null,
  project_id uuid not null,
  stage_id bigint generated always as identity,
  send_id uuid not null,
  stage text not null check (stage in ('sent', 'opened', 'clicked', 'bounced')),
  reached_at timestamptz not null,
  primary key (tenant_id, project_id, stage_id)
) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
create index message_stages_in_order on message_stages (stage_id);
call protect_tenant_table('message_stages');

-- Whatever statement gives a message the time of a stage: a time that is corrected later is no news.
create function add_message_stages() returns trigger language plpgsql as $$
begin
  insert into message_stages (tenant_id, project_id, send_id, stage, reached_at)
  select new.tenant_id, new.project_id, new.send_id, s.stage, s.reached_at
  from (values
    (1, 'sent', old.sent_at, new.sent_at), (2, 'opened', old.opened_at, new.opened_at),
    (3, 'clicked', old.clicked_at, new.clicked_at), (4, 'bounced', old.bounced_at, new.bounced_at)
  ) as s (place, stage, known_at, reached_at)
  where s.known_at is null and s.reached_at is not null
  order by s.place;
  return null;
end $$;
create trigger message_stage_reached after update of sent_at, opened_at, clicked_at, bounced_at on message_sends
  for each row
  when ((old.sent_at is null and new.sent_at is not null) or (old.opened_at is null and new.opened_at is not null)
    or (old.clicked_at is null and new.clicked_at is not null) or (old.bounced_at is null and new.bounced_at is not null))
  execute function add_message_stages();

-- Messages whose last change was not reported yet. Without the force, row-level security hides the rows of all tenants from
-- an owner who is no superuser.
alter table message_sends no force row level security;
alter table message_stages no force row level security;
insert into message_stages (tenant_id, project_id, send_id, stage, reached_at)
select m.tenant_id, m.project_id, m.send_id, s.stage, s.reached_at
from message_sends m
left join mirror_positions p on p.name = 'message_feedback'
cross join lateral (values
  (1, 'sent', m.sent_at), (2, 'opened', m.opened_at), (3, 'clicked', m.clicked_at), (4, 'bounced', m.bounced_at)
) as s (place, stage, reached_at)
where (m.changed_xid, m.send_id)
    > (coalesce(p.changed_xid, '0'), coalesce(p.row_id, '00000000-0000-0000-0000-000000000000'))
  and s.reached_at is not null
order by m.changed_xid, m.send_id, s.place;
alter table message_sends force row level security;
alter table message_stages force row level security;
delete from mirror_positions where name = 'message_feedback';
