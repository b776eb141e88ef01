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

-- False: messages from before this migration are not in the counts, only how they changed since. The first report adds them.
alter table campaigns add column is_counted boolean not null default false;
alter table campaigns alter column is_counted set default true;

-- What a message is counted as, and when it became that. A callback can be lost, so a later stage implies the earlier ones:
-- a clicked message was opened, too, at an unknown time.
create function counted_as(status text, error_code text, sent_at timestamptz, delivered_at timestamptz,
  opened_at timestamptz, machine_opened_at timestamptz, clicked_at timestamptz, bounced_at timestamptz)
  returns table (counted text, at timestamptz) language sql immutable parallel safe
begin atomic
  select c.counted, coalesce(date_bin('15 minutes', c.at, 'epoch'), '-infinity')
  from (values
    ('recipients_total', null, true),
    ('sent', sent_at, sent_at is not null or status in ('sent', 'delivered', 'opened', 'clicked', 'bounced')),
    ('delivered', delivered_at, delivered_at is not null or opened_at is not null or clicked_at is not null
      or status in ('delivered', 'opened', 'clicked')),
    ('opened', opened_at, opened_at is not null or clicked_at is not null or status in ('opened', 'clicked')),
    ('clicked', clicked_at, clicked_at is not null or status = 'clicked'),
    ('machine_opened', null, machine_opened_at is not null),
    ('bounced', null, bounced_at is not null or status = 'bounced'),
    ('failed', null, status = 'failed'),
    ('capped', null, status = 'capped'),
    (error_code, null, error_code is not null)
  ) as c (counted, at, is_counted)
  where c.is_counted;
end;

-- Adds what a statement changed. One that changes no figure, such as the claim of messages, writes nothing.
create function count_campaign_messages() returns trigger language plpgsql as $$
declare
  changes refcursor;
  change record;
  free_id uuid;
begin
  if tg_op = 'UPDATE' then
    open changes no scroll for
      select r.tenant_id, r.project_id, r.campaign_id, r.variant_id, c.counted, c.at, sum(r.times)::integer as messages
      from (select 1 as times, * from changed_rows union all select -1, * from former_rows) r
      cross join lateral counted_as(r.status, r.error_code, r.sent_at, r.delivered_at, r.opened_at, r.machine_opened_at,
        r.clicked_at, r.bounced_at) c
      where r.campaign_id is not null
      group by 1, 2, 3, 4, 5, 6 having sum(r.times) <> 0;
  else
    open changes no scroll for
      select r.tenant_id, r.project_id, r.campaign_id, r.variant_id, c.counted, c.at,
        (case tg_op when 'INSERT' then 1 else -1 end * count(*))::integer as messages
      from changed_rows r
      cross join lateral counted_as(r.status, r.error_code, r.sent_at, r.delivered_at, r.opened_at, r.machine_opened_at,
        r.clicked_at, r.bounced_at) c
      where r.campaign_id is not null
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
