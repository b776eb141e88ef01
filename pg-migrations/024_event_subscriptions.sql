-- Subscriptions: systems of an operator that are sent what happens to players. A fact is noted by a trigger in the transaction
-- that makes it, and only where somebody subscribes to it; a processor turns facts into webhook_deliveries.
create table event_subscriptions (
  tenant_id uuid not null,
  project_id uuid not null,
  subscription_id uuid not null,
  name text not null,
  url text not null,
  -- Names of events, such as `segment.entered`.
  events text[] not null,
  -- Only changes of these segments; null: of all.
  segment_ids uuid[],
  -- Paused: what happens is queued, and nothing is sent.
  status text not null check (status in ('active', 'paused')),
  -- The number of the last event that was queued.
  last_sequence bigint not null default 0,
  -- What waits is counted again when last_sequence has come so far.
  counted_at_sequence bigint not null default 0,
  -- Events that were removed unsent because too many waited, and when last.
  dropped bigint not null default 0,
  last_dropped_at timestamptz,
  -- The replay that runs, or ran last: events queued from replay_from on, up to replay_until; those up to replay_position
  -- were looked at, and `replayed` of them were queued again. It runs until replay_ended_at is set.
  replay_from timestamptz,
  replay_until bigint,
  replay_position bigint,
  replayed bigint,
  replay_ended_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (tenant_id, project_id, subscription_id),
  foreign key (tenant_id, project_id) references projects
);
create index event_subscriptions_listed on event_subscriptions (tenant_id, project_id, created_at desc, subscription_id desc)
  where created_at > '-infinity' and deleted_at is null;
call protect_tenant_table('event_subscriptions');

-- The outbox of what is sent to subscriptions. A row lives until its deliveries are written.
create table subscription_facts (
  tenant_id uuid not null,
  project_id uuid not null,
  fact_id bigint generated always as identity,
  event text not null,
  -- With the player it makes the id of the event: a fact that is noted again is the same event.
  fact_key text not null,
  player_ids uuid[] not null,
  -- Ids and codes, nothing else.
  data jsonb not null,
  occurred_at timestamptz not null,
  primary key (tenant_id, fact_id)
) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
call protect_tenant_table('subscription_facts');

-- Breaks whose end is to be reported: no statement ends them.
create table subscription_break_ends (
  tenant_id uuid not null,
  project_id uuid not null,
  exclusion_id uuid not null,
  ends_at timestamptz not null,
  primary key (tenant_id, project_id, exclusion_id)
);
create index subscription_break_ends_in_order on subscription_break_ends (ends_at);
call protect_tenant_table('subscription_break_ends');

-- Whether an event of the project is sent to anybody: one look into an index that has no entry of most projects.
create function is_subscribed(of_tenant uuid, of_project uuid, of_event text) returns boolean
  language sql stable
  return exists (
    select from event_subscriptions s
    where s.tenant_id = of_tenant and s.project_id = of_project and s.deleted_at is null and s.events @> array[of_event]);

-- A time as the API writes it.
create function iso_time(moment timestamptz) returns text
  language sql stable
  return to_char(moment at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');

create function note_segment_facts() returns trigger language plpgsql as $$
begin
  insert into subscription_facts (tenant_id, project_id, event, fact_key, player_ids, data, occurred_at)
  select new.tenant_id, new.project_id, e.event, 'segment ' || new.change_id, new.player_ids,
    jsonb_build_object('segment_id', new.segment_id), new.changed_at
  from (select case when new.has_entered then 'segment.entered' else 'segment.left' end as event) e
  where is_subscribed(new.tenant_id, new.project_id, e.event);
  return null;
end $$;
create trigger segment_changed after insert on segment_changes
  for each row execute function note_segment_facts();

create function note_tier_facts() returns trigger language plpgsql as $$
begin
  insert into subscription_facts (tenant_id, project_id, event, fact_key, player_ids, data, occurred_at)
  select new.tenant_id, new.project_id, 'tier.changed', 'tier ' || new.entry_id, array[new.player_id],
    jsonb_build_object('from_code', new.from_code, 'to_code', new.to_code, 'trigger', new.trigger), new.occurred_at
  where is_subscribed(new.tenant_id, new.project_id, 'tier.changed');
  return null;
end $$;
create trigger tier_changed after insert on player_tier_history
  for each row execute function note_tier_facts();

-- Stages have times; a message that is failed or capped has a code. It may fail again after it was tried again.
create function note_message_facts() returns trigger language plpgsql as $$
begin
  insert into subscription_facts (tenant_id, project_id, event, fact_key, player_ids, data, occurred_at)
  select new.tenant_id, new.project_id, 'message.' || s.stage,
    'message ' || new.send_id || ' ' || s.stage || case when s.place > 5 then ' ' || new.attempts else '' end,
    array[new.player_id],
    jsonb_build_object('message_id', new.send_id, 'channel', new.channel, 'campaign_id', new.campaign_id,
      'variant_id', new.variant_id, 'journey_id', new.journey_id, 'journey_run_id', new.journey_run_id,
      'template_id', new.template_id, 'error_code', case when s.place > 4 then new.error_code end),
    s.reached_at
  from (values
    (1, 'sent', old.sent_at, new.sent_at), (2, 'delivered', old.delivered_at, new.delivered_at),
    (3, 'opened', old.opened_at, new.opened_at), (4, 'clicked', old.clicked_at, new.clicked_at),
    (5, 'bounced', old.bounced_at, new.bounced_at),
    (6, 'failed', null, case when new.status = 'failed' and old.status is distinct from 'failed' then now() end),
    (7, 'capped', null, case when new.status = 'capped' and old.status is distinct from 'capped' then now() end)
  ) as s (place, stage, known_at, reached_at)
  where s.known_at is null and s.reached_at is not null
    and is_subscribed(new.tenant_id, new.project_id, 'message.' || s.stage)
  order by s.place;
  return null;
end $$;
create trigger message_changed after update of status, sent_at, delivered_at, opened_at, clicked_at, bounced_at on message_sends
  for each row
  when ((old.sent_at is null and new.sent_at is not null) or (old.delivered_at is null and new.delivered_at is not null)
    or (old.opened_at is null and new.opened_at is not null) or (old.clicked_at is null and new.clicked_at is not null)
    or (old.bounced_at is null and new.bounced_at is not null)
    or (new.status in ('failed', 'capped') and old.status <> new.status))
  execute function note_message_facts();
-- A message that the gate refuses at the fan-out begins as what it stays.
create trigger message_refused after insert on message_sends
  for each row when (new.status in ('failed', 'capped'))
  execute function note_message_facts();

create function note_grant_facts() returns trigger language plpgsql as $$
begin
  insert into subscription_facts (tenant_id, project_id, event, fact_key, player_ids, data, occurred_at)
  select new.tenant_id, new.project_id, 'grant.' || new.to_status, 'grant ' || new.grant_id || ' ' || new.seq,
    array[g.player_id],
    jsonb_build_object('grant_id', new.grant_id, 'template_id', g.template_id, 'campaign_id', g.campaign_id,
      'from_status', new.from_status, 'to_status', new.to_status, 'source', new.source),
    new.occurred_at
  from bonus_grants g
  where g.grant_id = new.grant_id and g.tenant_id = new.tenant_id and g.project_id = new.project_id
    and is_subscribed(new.tenant_id, new.project_id, 'grant.' || new.to_status);
  return null;
end $$;
create trigger grant_changed after insert on bonus_grant_events
  for each row when (new.from_status is distinct from new.to_status)
  execute function note_grant_facts();

create function note_exclusion_facts() returns trigger language plpgsql as $$
begin
  insert into subscription_facts (tenant_id, project_id, event, fact_key, player_ids, data, occurred_at)
  select new.tenant_id, new.project_id, e.event, 'exclusion ' || new.exclusion_id || ' ' || e.event, array[new.player_id],
    jsonb_build_object('exclusion_id', new.exclusion_id, 'kind', new.kind, 'since', iso_time(new.since),
      'ends_at', iso_time(new.ends_at),
      'source', case e.event when 'exclusion.set' then new.source else new.end_source end),
    e.at
  from (select case tg_op when 'INSERT' then 'exclusion.set' else 'exclusion.ended' end as event,
    case tg_op when 'INSERT' then new.accepted_at else new.ended_at end as at) e
  where is_subscribed(new.tenant_id, new.project_id, e.event);
  if tg_op = 'INSERT' and new.ends_at is not null then
    insert into subscription_break_ends (tenant_id, project_id, exclusion_id, ends_at)
    select new.tenant_id, new.project_id, new.exclusion_id, new.ends_at
    where is_subscribed(new.tenant_id, new.project_id, 'exclusion.ended')
    on conflict do nothing;
  end if;
  return null;
end $$;
create trigger exclusion_set after insert on player_exclusions
  for each row execute function note_exclusion_facts();
create trigger exclusion_ended after update of ended_at on player_exclusions
  for each row when (old.ended_at is null and new.ended_at is not null)
  execute function note_exclusion_facts();

-- Deliveries of subscriptions are sent by the deliverer of journeys, and have neither run nor node. `host` of theirs is host
-- and port, a slash and the id of the subscription, so that each is a lane. Those of a player wait for the one before:
-- until then their `next_at` is 9999-01-01.
alter table webhook_deliveries
  alter column journey_id drop not null,
  alter column journey_version drop not null,
  alter column run_id drop not null,
  alter column node_id drop not null,
  alter column seq drop not null,
  add column subscription_id uuid,
  add column sequence bigint,
  add column event text,
  add constraint webhook_deliveries_of_one check (
    case when subscription_id is null
      then num_nulls(journey_id, journey_version, run_id, node_id, seq) = 0 and num_nonnulls(sequence, event) = 0
      else num_nonnulls(journey_id, journey_version, run_id, node_id, seq) = 0 and num_nulls(sequence, event) = 0
    end) not valid;
alter table webhook_deliveries validate constraint webhook_deliveries_of_one;
create index webhook_deliveries_of_subscription
  on webhook_deliveries (subscription_id, status, sequence, tenant_id, project_id)
  where subscription_id is not null;
create index webhook_deliveries_in_turn on webhook_deliveries (subscription_id, player_id, next_at, sequence)
  where status = 'pending' and subscription_id is not null;
-- The lists of journeys do not have those of subscriptions.
drop index webhook_deliveries_listed, webhook_deliveries_of_project;
create index webhook_deliveries_listed on webhook_deliveries (journey_id, created_at desc, event_id desc, tenant_id, project_id)
  where created_at > '-infinity' and journey_id is not null;
create index webhook_deliveries_of_project
  on webhook_deliveries (project_id, status, created_at desc, event_id desc, tenant_id)
  where created_at > '-infinity' and journey_id is not null;

-- The secret that signs what is sent to a subscription; null: a secret of the project, which signs webhooks of journeys.
alter table webhook_secrets add column subscription_id uuid;
create index webhook_secrets_of_subscription on webhook_secrets (subscription_id) where subscription_id is not null;
