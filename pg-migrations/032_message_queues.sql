-- Messages of journeys. A messenger takes the messages of one queue after another: a campaign is a queue, and so are the
-- messages that a journey sends through one provider.
alter table message_sends
  add column journey_id uuid,
  -- The queue of a journey's message; a campaign's is the campaign.
  add column queue_id uuid,
  -- In quiet hours the message waits for their end instead of being skipped.
  add column defers_quiet_hours boolean not null default false;

drop index message_sends_open;
-- The last column lets a look pass over the messages that wait for the end of quiet hours without reading them.
create index message_sends_open on message_sends (tenant_id, project_id, coalesce(queue_id, campaign_id), send_id,
  coalesce(retry_at, '-infinity'))
  where status in ('queued', 'sending');
-- A node of a run sends once; `dedup_key` is the node.
create unique index message_sends_once_per_node on message_sends (journey_run_id, dedup_key, tenant_id, project_id)
  where journey_run_id is not null;

create table journey_queues (
  tenant_id uuid not null,
  project_id uuid not null,
  -- Follows from the journey and the provider.
  queue_id uuid not null,
  journey_id uuid not null,
  provider_id uuid not null,
  channel text not null check (channel in ('email', 'sms', 'push')),
  primary key (tenant_id, project_id, queue_id)
);
call protect_tenant_table('journey_queues');
