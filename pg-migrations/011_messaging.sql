-- Messages: their text (templates), the services that deliver them (providers), their recipients (campaigns), and the
-- status of each (sends).

-- Ids of rows that are inserted in bulk: in order of time where the server supports it, so that rows inserted together
-- are stored close together.
do $$
begin
  if current_setting('server_version_num')::integer >= 180000 then
    create function new_id() returns uuid language sql volatile parallel safe return uuidv7();
  else
    create function new_id() returns uuid language sql volatile parallel safe return gen_random_uuid();
  end if;
end $$;

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
  foreign key (tenant_id, project_id) references projects,
  primary key (tenant_id, project_id, template_id)
);
create index templates_by_age on templates (tenant_id, project_id, created_at desc, template_id desc);
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
  -- The secret settings, encrypted (AES-256-GCM): nonce, tag, text. Null: there are none.
  credentials bytea,
  -- The maximum of messages per second; null: no limit.
  rate_per_second integer check (rate_per_second > 0),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (tenant_id, provider_id)
);
create index messaging_providers_by_age on messaging_providers (tenant_id, created_at desc, provider_id desc);
-- For callbacks, whose URL has the provider's id and no tenant.
create unique index messaging_providers_by_id on messaging_providers (provider_id);
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
  foreign key (tenant_id, project_id) references projects,
  primary key (tenant_id, project_id, campaign_id)
);
create index campaigns_by_age on campaigns (tenant_id, project_id, created_at desc, campaign_id desc);
create index campaigns_due on campaigns (schedule_at) where status = 'scheduled' and deleted_at is null;
create index campaigns_sending on campaigns (tenant_id, project_id) where status = 'sending';
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

-- The leases of processes that send. A message that is `sending` under an expired lease was left by a crash.
create table messengers (
  messenger_id uuid primary key,
  alive_until timestamptz not null
);
grant select, insert, update, delete on messengers to engagement_service;

-- One message to one player, or the reason why none was sent.
create table message_sends (
  tenant_id uuid not null,
  project_id uuid not null,
  send_id uuid not null,
  campaign_id uuid,
  journey_run_id uuid,
  -- Makes two messages of one campaign to one player different: the event that fired the campaign, or empty.
  occasion text not null default '',
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
  -- Data that templates may read beside the player, such as the event that fired the campaign.
  context jsonb,
  attempts smallint not null default 0,
  -- The earliest time of the next attempt; set while the message is queued for a retry.
  retry_at timestamptz,
  -- The process that is sending the message.
  messenger_id uuid,
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
  primary key (tenant_id, project_id, send_id)
) with (fillfactor = 80);
-- The next two indexes do not begin with the tenant. Without statistics the planner rates every index that does as good
-- as the primary key, and may choose one with which it reads a whole project for each row.
-- The first makes a repeated fan-out add nothing; recipients are listed in its order.
create unique index message_sends_once on message_sends (campaign_id, player_id, occasion, tenant_id, project_id);
-- The second serves the frequency caps and the list of a player's messages.
create index message_sends_by_player on message_sends (player_id, counted_at, tenant_id, project_id);
create index message_sends_by_change on message_sends (changed_xid, send_id);
create index message_sends_open on message_sends (tenant_id, project_id, campaign_id, send_id)
  where status in ('queued', 'sending');
create index message_sends_sending on message_sends (messenger_id) where status = 'sending';
create index message_sends_by_provider_message on message_sends (tenant_id, provider_id, provider_message_id)
  where provider_message_id is not null;
call protect_tenant_table('message_sends');

-- Addresses that get no more messages on a channel, in all projects of a tenant.
create table suppressions (
  tenant_id uuid not null references tenants,
  channel text not null check (channel in ('email', 'sms', 'push')),
  -- In lower case.
  address text not null,
  reason text not null check (reason in ('bounce', 'complaint', 'unsubscribe')),
  created_at timestamptz not null,
  primary key (tenant_id, channel, address)
);
call protect_tenant_table('suppressions');

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

-- A player's consent to messages on a channel: the attribute `consent.<channel>`, or `<channel>` in an object
-- `consent`. Null: neither is set. When both are set, both must be yes. A single expression, so that the planner can
-- inline it; as a query of its own it took 11 µs per player.
create function consent_to(attributes jsonb, channel text) returns boolean
  language sql immutable parallel safe
  return case
    when nullif(attributes -> ('consent.' || channel), 'null') is null
      and nullif(attributes #> array['consent', channel], 'null') is null then null
    else coalesce(nullif(attributes -> ('consent.' || channel), 'null') in ('true', '1', '"true"', '"yes"', '"1"'), true)
      and coalesce(nullif(attributes #> array['consent', channel], 'null') in ('true', '1', '"true"', '"yes"', '"1"'), true)
  end;

-- A player who asked for a pause gets no messages until then.
alter table players add column cooldown_until timestamptz;
-- Finds out whether the recipient of a test message is a player who must not be contacted; there are few of those.
create index players_not_to_be_written_to on players (tenant_id, project_id)
  where self_excluded or status in ('self_excluded', 'banned') or cooldown_until is not null;

grant usage on all sequences in schema public to engagement_api, engagement_service;
