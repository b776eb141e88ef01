-- The messages of campaigns, counted as they change: who reads a report must not read all messages. The sum of all rows of a
-- campaign, stage or code, variant and time is the number of its messages of which `counted_as` says so. A transaction adds
-- to a row that no other holds, and makes one when there is none: nobody waits for another, and there are as many as there
-- were writers at once. A single row may be negative.
create table campaign_counts (
  tenant_id uuid not null,
  project_id uuid not null,
  campaign_id uuid not null,
  -- A stage, or the code of a skip or failure.
  counted text not null,
  -- Nil: none.
  variant_id uuid not null,
  -- The begin of the quarter of an hour in which the messages reached the stage; -infinity: not known, or not counted.
  at timestamptz not null,
  count_id uuid not null default gen_random_uuid(),
  messages integer not null,
  primary key (tenant_id, project_id, campaign_id, counted, variant_id, at, count_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
call protect_tenant_table('campaign_counts');

-- The begin of the quarter of an hour of a time.
create function quarter_of(at timestamptz) returns timestamptz language sql immutable parallel safe
return date_bin('15 minutes', at, 'epoch');

-- What messages are counted as that reached stages in these quarters of an hour. A callback can be lost, so a later stage
-- implies the earlier ones: a clicked message was opened, too, at an unknown time.
create function counted_as(status text, error_code text, sent timestamptz, delivered timestamptz, opened timestamptz,
  clicked timestamptz, is_machine_opened boolean, is_bounced boolean)
  returns table (counted text, at timestamptz) language sql immutable parallel safe
begin atomic
  select c.counted, coalesce(c.at, '-infinity')
  from (values
    ('recipients_total', null, true),
    ('sent', sent, sent is not null or status in ('sent', 'delivered', 'opened', 'clicked', 'bounced')),
    ('delivered', delivered, delivered is not null or opened is not null or clicked is not null
      or status in ('delivered', 'opened', 'clicked')),
    ('opened', opened, opened is not null or clicked is not null or status in ('opened', 'clicked')),
    ('clicked', clicked, clicked is not null or status = 'clicked'),
    ('machine_opened', null, is_machine_opened),
    ('bounced', null, is_bounced or status = 'bounced'),
    ('failed', null, status = 'failed'),
    ('capped', null, status = 'capped'),
    (error_code, null, error_code is not null)
  ) as c (counted, at, is_counted)
  where c.is_counted;
end;

-- Adds what a statement changed. Equal messages are counted together first, which is a tenth of the work: those of a statement
-- have a few states. A statement that changes no figure, such as the claim of messages, writes nothing.
create function count_campaign_messages() returns trigger language plpgsql as $$
declare
  changes refcursor;
  change record;
  free_id uuid;
begin
  if tg_op = 'UPDATE' then
    open changes no scroll for
      select s.tenant_id, s.project_id, s.campaign_id, s.variant_id, c.counted, c.at, sum(s.messages)::integer as messages
      from (
        select r.tenant_id, r.project_id, r.campaign_id, r.variant_id, r.status, r.error_code, quarter_of(r.sent_at) as sent,
          quarter_of(r.delivered_at) as delivered, quarter_of(r.opened_at) as opened, quarter_of(r.clicked_at) as clicked,
          r.machine_opened_at is not null as is_machine_opened, r.bounced_at is not null as is_bounced,
          sum(r.times) as messages
        from (select 1 as times, * from changed_rows union all select -1, * from former_rows) r
        where r.campaign_id is not null
        group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 having sum(r.times) <> 0
      ) s
      cross join lateral counted_as(s.status, s.error_code, s.sent, s.delivered, s.opened, s.clicked, s.is_machine_opened,
        s.is_bounced) c
      group by 1, 2, 3, 4, 5, 6 having sum(s.messages) <> 0;
  else
    open changes no scroll for
      select s.tenant_id, s.project_id, s.campaign_id, s.variant_id, c.counted, c.at,
        (case tg_op when 'INSERT' then 1 else -1 end * sum(s.messages))::integer as messages
      from (
        select r.tenant_id, r.project_id, r.campaign_id, r.variant_id, r.status, r.error_code, quarter_of(r.sent_at) as sent,
          quarter_of(r.delivered_at) as delivered, quarter_of(r.opened_at) as opened, quarter_of(r.clicked_at) as clicked,
          r.machine_opened_at is not null as is_machine_opened, r.bounced_at is not null as is_bounced,
          count(*) as messages
        from changed_rows r
        where r.campaign_id is not null
        group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
      ) s
      cross join lateral counted_as(s.status, s.error_code, s.sent, s.delivered, s.opened, s.clicked, s.is_machine_opened,
        s.is_bounced) c
      group by 1, 2, 3, 4, 5, 6;
  end if;
  loop
    fetch changes into change;
    exit when not found;
    change.variant_id := coalesce(change.variant_id, '00000000-0000-0000-0000-000000000000');
    select c.count_id into free_id from campaign_counts c
    where c.tenant_id = change.tenant_id and c.project_id = change.project_id and c.campaign_id = change.campaign_id
      and c.counted = change.counted and c.variant_id = change.variant_id and c.at = change.at
    limit 1 for no key update skip locked;
    if found then
      update campaign_counts c set messages = c.messages + change.messages
      where c.tenant_id = change.tenant_id and c.project_id = change.project_id and c.campaign_id = change.campaign_id
        and c.counted = change.counted and c.variant_id = change.variant_id and c.at = change.at and c.count_id = free_id;
    else
      insert into campaign_counts (tenant_id, project_id, campaign_id, counted, variant_id, at, messages)
      values (change.tenant_id, change.project_id, change.campaign_id, change.counted, change.variant_id, change.at,
        change.messages);
    end if;
  end loop;
  close changes;
  return null;
end $$;
create trigger campaign_messages_made after insert on message_sends
  referencing new table as changed_rows for each statement execute function count_campaign_messages();
create trigger campaign_messages_changed after update on message_sends
  referencing new table as changed_rows old table as former_rows
  for each statement execute function count_campaign_messages();
create trigger campaign_messages_removed after delete on message_sends
  referencing old table as changed_rows for each statement execute function count_campaign_messages();

-- Last: requests about campaigns wait while its lock is held, and `create trigger` may wait for those who write messages.
-- False: messages from before this migration are not in the counts, only how they changed since. The first report adds them.
alter table campaigns add column is_counted boolean not null default false;
alter table campaigns alter column is_counted set default true;
