-- Messages: their text (templates), the services that deliver them (providers), their recipients (campaigns), and the
-- status of each (sends).

create table templates (
  tenant_id uuid not null,
  project_id uuid not null,
  template_id uuid not null,
  name text not null,
  channel text not null check (channel in ('email', 'sms', 'push')),
  status text not null check (status in ('draft', 'active', 'archived')),
  -- Liquid, as the caller wrote it.
  subject text,
  preheader text,
  body text not null,
  -- For push messages: an object whose values are Liquid.
  data jsonb not null default '{}',
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  -- `bonus_product` is what the author said, `reads_bonus` whether the source reads `bonus`. One of them makes a message one
  -- about a bonus.
  bonus_product text check (bonus_product in ('casino', 'betting', 'bingo', 'lottery', 'any')),
  reads_bonus boolean not null default false,
  foreign key (tenant_id, project_id) references projects,
  primary key (tenant_id, project_id, template_id)
);
create index templates_by_age on templates (tenant_id, project_id, created_at desc, template_id desc)
  where created_at > '-infinity';
call protect_tenant_table('templates');

create table messaging_providers (
  tenant_id uuid not null references tenants,
  provider_id uuid not null,
  name text not null,
  kind text not null check (kind in ('smtp', 'sendgrid', 'twilio', 'fcm', 'sandbox')),
  channel text not null check (channel in ('email', 'sms', 'push')),
  status text not null check (status in ('active', 'paused')),
  -- The settings that may be shown.
  config jsonb not null,
  -- The secret settings, encrypted (AES-256-GCM). Null: there are none.
  credentials bytea,
  -- The maximum of messages per second; null: no limit.
  rate_per_second integer check (rate_per_second > 0),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  -- The refusal of the provider's credentials, `{code, message, at}`: what the provider said first, and when. Null: it
  -- accepts them, or was not asked since they changed.
  credentials_refused jsonb,
  primary key (tenant_id, provider_id)
);
-- For callbacks, whose URL has the provider's id and no tenant.
create unique index messaging_providers_by_id on messaging_providers (provider_id);
create index messaging_providers_by_age on messaging_providers (tenant_id, created_at desc, provider_id desc)
  where created_at > '-infinity';
call protect_tenant_table('messaging_providers');

create table campaigns (
  tenant_id uuid not null,
  project_id uuid not null,
  campaign_id uuid not null,
  name text not null,
  type text not null check (type in ('broadcast', 'triggered', 'journey')),
  channel text not null check (channel in ('email', 'sms', 'push')),
  -- Null: the campaign has no recipients.
  segment_id uuid,
  template_id uuid,
  -- Null: the oldest active provider of the channel when a message is sent.
  provider_id uuid,
  schedule_at timestamptz,
  -- For triggered campaigns: the event that fires the campaign.
  trigger_event text,
  goal_event text,
  goal_attribution_days integer check (goal_attribution_days > 0),
  goal_value_property text,
  status text not null check (status in ('draft', 'scheduled', 'sending', 'sent', 'cancelled')),
  -- When sending began; from then on the members become send rows.
  started_at timestamptz,
  finished_at timestamptz,
  -- Why the campaign could not be sent when it was due.
  last_error text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  -- While it is set, messages that failed with PROVIDER_UNAVAILABLE are queued again; they then wait until this moment.
  retry_failed_until timestamptz,
  foreign key (tenant_id, project_id) references projects,
  primary key (tenant_id, project_id, campaign_id)
);
create index campaigns_due on campaigns (schedule_at) where status = 'scheduled' and deleted_at is null;
create index campaigns_sending on campaigns (tenant_id, project_id) where status = 'sending';
create index campaigns_retrying on campaigns (tenant_id, project_id) where retry_failed_until is not null;
create index campaigns_by_age on campaigns (tenant_id, project_id, created_at desc, campaign_id desc)
  where created_at > '-infinity';
call protect_tenant_table('campaigns');

create table campaign_variants (
  tenant_id uuid not null,
  project_id uuid not null,
  campaign_id uuid not null,
  variant_id uuid not null,
  name text not null,
  label text not null,
  -- Null: the campaign's own template; only in the default variant.
  template_id uuid,
  weight integer not null check (weight > 0),
  sort_order integer not null,
  -- The variant that a new campaign has; the first explicit variant replaces it.
  is_default boolean not null default false,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (tenant_id, project_id, campaign_id, variant_id)
);
call protect_tenant_table('campaign_variants');

-- The members of a campaign's segment in ranges of 1,000. A range is stored from the start of sending until its members
-- have become send rows.
create table campaign_batches (
  tenant_id uuid not null,
  project_id uuid not null,
  campaign_id uuid not null,
  -- Inclusive. The next batch begins where this one ends; the last one has no end.
  from_player_id uuid not null,
  until_player_id uuid,
  primary key (tenant_id, project_id, campaign_id, from_player_id)
);
call protect_tenant_table('campaign_batches');

-- The leases of messengers, which heartbeats renew. A message that is `sending` under an expired lease is given up.
create table messenger_leases (
  lease_id uuid primary key,
  expires_at timestamptz not null
);
grant select, insert, update, delete on messenger_leases to engagement_service;

-- One message to one player, or the reason why none was sent. A messenger takes the messages of one queue after another: a
-- campaign is a queue, and so are the messages that a journey sends through one provider.
create table message_sends (
  tenant_id uuid not null,
  project_id uuid not null,
  send_id uuid not null,
  campaign_id uuid,
  journey_run_id uuid,
  -- A campaign sends one message per player and key: the event that fired the campaign, or empty. A journey sends one per
  -- run and key: the node.
  dedup_key text not null default '',
  player_id uuid not null,
  channel text not null check (channel in ('email', 'sms', 'push')),
  template_id uuid,
  variant_id uuid,
  provider_id uuid,
  recipient text,
  status text not null
    check (status in ('queued', 'sending', 'sent', 'delivered', 'opened', 'clicked', 'bounced', 'failed', 'capped')),
  error_code text,
  provider_message_id text,
  -- Data that templates may read in addition to the player, such as the event that fired the campaign.
  context jsonb,
  attempts smallint not null default 0,
  -- The earliest time of the next attempt; set while the message is queued for a retry.
  retry_at timestamptz,
  -- The lease under which the message is sent.
  lease_id uuid,
  -- When the message was handed to a provider, if it may have been sent; it counts towards frequency caps from then on.
  counted_at timestamptz,
  enqueued_at timestamptz not null,
  sent_at timestamptz,
  delivered_at timestamptz,
  opened_at timestamptz,
  clicked_at timestamptz,
  bounced_at timestamptz,
  -- The last transaction that wrote the row; send-mirror reads the rows in this order.
  changed_xid xid8 not null default pg_current_xact_id(),
  -- The provider's own code and text of the last failure.
  provider_code text,
  provider_message text,
  -- Until when the message waits for a provider that is unavailable; null: 24 hours after enqueued_at.
  give_up_at timestamptz,
  journey_id uuid,
  -- The queue of a journey's message; a campaign's is the campaign.
  queue_id uuid,
  -- In quiet hours the message waits for their end instead of being skipped.
  defers_quiet_hours boolean not null default false,
  -- Whose the message was before its player was merged: the exclusion of one does not make what another got wrong.
  merged_from uuid,
  -- When the gate let the message pass for the last time.
  gated_at timestamptz,
  -- When a mail program first fetched the message by itself, as some do for every message: no person opened it then.
  machine_opened_at timestamptz,
  primary key (send_id, tenant_id, project_id)
) with (fillfactor = 80);
-- Makes a repeated fan-out add nothing; recipients are listed in its order.
create unique index message_sends_once on message_sends (campaign_id, player_id, dedup_key, tenant_id, project_id);
-- For the frequency caps, and the list of a player's messages.
create index message_sends_by_player on message_sends (player_id, counted_at, tenant_id, project_id);
create index message_sends_by_change on message_sends (changed_xid, send_id);
create index message_sends_sending on message_sends (lease_id) where status = 'sending';
create index message_sends_by_provider_message on message_sends (tenant_id, provider_id, provider_message_id)
  where provider_message_id is not null;
-- For POST /v1/campaigns/:id/retry-failed.
create index message_sends_unavailable on message_sends (tenant_id, project_id, campaign_id, send_id)
  where status = 'failed' and error_code = 'PROVIDER_UNAVAILABLE';
-- The last column lets a look pass over the messages that wait for the end of quiet hours without reading them.
create index message_sends_open on message_sends (tenant_id, project_id, coalesce(queue_id, campaign_id), send_id,
  coalesce(retry_at, '-infinity'))
  where status in ('queued', 'sending');
-- A node of a run sends once.
create unique index message_sends_once_per_node on message_sends (journey_run_id, dedup_key, tenant_id, project_id)
  where journey_run_id is not null;
-- Messages that were not sent in order to protect their players. The list of all of them reads each code by itself: with an
-- index without the code, the planner could read the messages of all codes to find those of one.
create index message_sends_blocked_by_code
  on message_sends (tenant_id, project_id, error_code, enqueued_at desc, send_id desc)
  where error_code in ('SKIPPED_SELF_EXCLUDED', 'SKIPPED_COOLDOWN', 'SKIPPED_AT_RISK', 'SKIPPED_BANNED');
call protect_tenant_table('message_sends');

-- The outbox of message events: a row for each stage that a message reaches, written with the change that reached it and
-- removed once its event is on the log.
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

-- What the apps on players' devices report on pushes, until it is written to the messages. So the consumer waits for no
-- message that another transaction has locked.
create table push_receipts (
  tenant_id uuid not null,
  receipt_id bigint generated always as identity,
  project_id uuid not null,
  player_id uuid not null,
  send_id uuid not null,
  step text not null check (step in ('opened', 'clicked')),
  at timestamptz not null,
  primary key (tenant_id, receipt_id)
);
call protect_tenant_table('push_receipts');

-- How a suppressed address is stored: plain, in lower case, and cut, because entries of an index have a limit. Everybody who
-- suppresses an address stores it so: what is looked for is plain, too.
create function suppressed_address(address text) returns text language sql immutable parallel safe
return left(lower(plain_address(address)), 600);

-- Addresses that get no more messages on a channel, in all projects of a tenant.
create table suppressions (
  tenant_id uuid not null references tenants,
  channel text not null check (channel in ('email', 'sms', 'push')),
  -- As `suppressed_address` makes it.
  address text not null,
  reason text not null check (reason in ('bounce', 'complaint', 'unsubscribe', 'manual')),
  created_at timestamptz not null,
  -- What the provider said when it refused the address for good; null: a callback, a link or a person suppressed it.
  detail text,
  -- Names a suppression in paths, where an address must not be.
  suppression_id uuid not null default gen_random_uuid(),
  -- A telephone number is one number however it is spelled: without separators, and without zeros that stand for `+` or a
  -- national call. What is no telephone number is compared in lower case. A column, because row-level security lets no index
  -- be used for a condition with these functions.
  dialled text generated always as (case when channel = 'sms' then
    coalesce(nullif(case when address !~ '[[:alpha:]@]'
      then ltrim(regexp_replace(address, '[(]0[)]|[^0-9]', '', 'g'), '0') end, ''), lower(address)) end) stored,
  primary key (tenant_id, channel, address)
);
create unique index suppressions_by_id on suppressions (suppression_id);
create index suppressions_by_age on suppressions (tenant_id, created_at desc, suppression_id desc)
  where created_at > '-infinity';
create unique index suppressions_dialled on suppressions (dialled, tenant_id) where channel = 'sms';
-- The reason comes first, so that lists of all reasons do not use it.
create index suppressions_by_reason on suppressions (reason, tenant_id, created_at desc, suppression_id desc)
  where created_at > '-infinity';
call protect_tenant_table('suppressions');

-- The replies by which players stopped messages or wanted them again, each applied once: Twilio's signature has no time,
-- so an old START could be replayed after a later STOP. Rows are kept for good, and hold no number and no text.
create table sms_replies (
  tenant_id uuid not null,
  provider_id uuid not null,
  -- The provider's id of the reply.
  message_id text not null,
  wants_messages boolean not null,
  received_at timestamptz not null,
  primary key (tenant_id, provider_id, message_id)
);
call protect_tenant_table('sms_replies');

-- The messages that were handed to the provider `sandbox`.
create table sandbox_messages (
  tenant_id uuid not null,
  provider_id uuid not null,
  message_id uuid not null,
  -- Null: a test message.
  send_id uuid,
  channel text not null,
  recipient text not null,
  subject text,
  preheader text,
  body text not null,
  data jsonb not null,
  headers jsonb not null,
  sent_at timestamptz not null,
  primary key (tenant_id, provider_id, message_id)
);
create index sandbox_messages_by_send on sandbox_messages (tenant_id, send_id);
call protect_tenant_table('sandbox_messages');
