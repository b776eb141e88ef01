-- Messages: what is said (templates), through whom (providers), to whom (campaigns), and what became of each (sends).

-- Ids made in bulk by statements: in order of time where the server can, so that rows made together lie together.
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
  -- Liquid, as it was written.
  subject text,
  preheader text,
  body text not null,
  -- Of push messages: an object whose values are Liquid.
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
  -- What may be shown.
  config jsonb not null,
  -- The rest, encrypted (AES-256-GCM): nonce, tag, text. Null: there is nothing to hide.
  credentials bytea,
  -- Messages a second at most; null: as many as go.
  rate_per_second integer check (rate_per_second > 0),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (tenant_id, provider_id)
);
create index messaging_providers_by_age on messaging_providers (tenant_id, created_at desc, provider_id desc);
-- Their callbacks name them, and no tenant.
create unique index messaging_providers_by_id on messaging_providers (provider_id);
call protect_tenant_table('messaging_providers');

create table campaigns (
  tenant_id uuid not null,
  project_id uuid not null,
  campaign_id uuid not null,
  name text not null,
  type text not null check (type in ('broadcast', 'triggered', 'journey')),
  channel text not null check (channel in ('email', 'sms', 'push')),
  -- Null: an absent segment has no members.
  segment_id uuid,
  template_id uuid,
  -- Null: the oldest active provider of the channel when a message is sent.
  provider_id uuid,
  schedule_at timestamptz,
  -- Of triggered ones: the event that fires it.
  trigger_event text,
  goal_event text,
  goal_attribution_days integer check (goal_attribution_days > 0),
  goal_value_property text,
  status text not null check (status in ('draft', 'scheduled', 'sending', 'sent', 'cancelled')),
  -- When it was sent; from then on members are walked.
  started_at timestamptz,
  finished_at timestamptz,
  -- Why it could not be sent when it was due.
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
  -- Null: the campaign's own template. Only the variant that a campaign begins with has none.
  template_id uuid,
  weight integer not null check (weight > 0),
  sort_order integer not null,
  -- The one every campaign begins with; it gives way to the first explicit one.
  is_default boolean not null default false,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (tenant_id, project_id, campaign_id, variant_id)
);
call protect_tenant_table('campaign_variants');

-- The members of a campaign's segment in ranges of 1,000, from when it was sent until each has become send rows.
create table campaign_batches (
  tenant_id uuid not null,
  project_id uuid not null,
  campaign_id uuid not null,
  -- Included; the next batch begins where this one ends, the last one has no end.
  from_player_id uuid not null,
  until_player_id uuid,
  primary key (tenant_id, project_id, campaign_id, from_player_id)
);
call protect_tenant_table('campaign_batches');

-- Processes that send; what one of them was sending when it died can be told by its row having run out.
create table messengers (
  messenger_id uuid primary key,
  alive_until timestamptz not null
);
grant select, insert, update, delete on messengers to engagement_service;

-- One message to one player, or the reason why there was none.
create table message_sends (
  tenant_id uuid not null,
  project_id uuid not null,
  send_id uuid not null,
  campaign_id uuid,
  journey_run_id uuid,
  -- What tells two messages of one campaign to one player apart: the event that fired it, or nothing.
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
  -- What templates may read beside the player, such as the event that fired it.
  context jsonb,
  attempts smallint not null default 0,
  -- Not before; set while it is queued again.
  retry_at timestamptz,
  -- Who is sending it.
  messenger_id uuid,
  -- When it was handed to a provider, as far as it may have gone out: it counts for the caps from then on.
  counted_at timestamptz,
  enqueued_at timestamptz not null,
  sent_at timestamptz,
  delivered_at timestamptz,
  opened_at timestamptz,
  clicked_at timestamptz,
  bounced_at timestamptz,
  -- The transaction that wrote the row last; send-mirror follows it in commit order.
  changed_xid xid8 not null default pg_current_xact_id(),
  primary key (tenant_id, project_id, send_id)
) with (fillfactor = 80);
-- These two do not begin with the tenant: a plan made before there are statistics takes any index that does for as good as
-- the primary key, and then reads all of a project for each row.
-- A fan-out that is repeated adds nothing; recipients are listed in this order.
create unique index message_sends_once on message_sends (campaign_id, player_id, occasion, tenant_id, project_id);
-- The caps, and the messages of a player.
create index message_sends_by_player on message_sends (player_id, counted_at, tenant_id, project_id);
create index message_sends_by_change on message_sends (changed_xid, send_id);
create index message_sends_open on message_sends (tenant_id, project_id, campaign_id, send_id)
  where status in ('queued', 'sending');
create index message_sends_sending on message_sends (messenger_id) where status = 'sending';
create index message_sends_by_provider_message on message_sends (tenant_id, provider_id, provider_message_id)
  where provider_message_id is not null;
call protect_tenant_table('message_sends');

-- Addresses that get nothing more on a channel, of all projects of a tenant.
create table suppressions (
  tenant_id uuid not null references tenants,
  channel text not null check (channel in ('email', 'sms', 'push')),
  -- Lower case.
  address text not null,
  reason text not null check (reason in ('bounce', 'complaint', 'unsubscribe')),
  created_at timestamptz not null,
  primary key (tenant_id, channel, address)
);
call protect_tenant_table('suppressions');

-- What the provider `sandbox` was given to send.
create table sandbox_messages (
  tenant_id uuid not null,
  provider_id uuid not null,
  message_id uuid not null,
  -- Null: a test.
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

-- What a player's attributes say to messages on a channel: by `consent.<channel>`, or `<channel>` in an object `consent`.
-- Null: nothing. Where both speak, both must say yes. One expression, which the planner puts in place of the call: as
-- a query of its own it took 11 µs a player.
create function consent_to(attributes jsonb, channel text) returns boolean
  language sql immutable parallel safe
  return case
    when nullif(attributes -> ('consent.' || channel), 'null') is null
      and nullif(attributes #> array['consent', channel], 'null') is null then null
    else coalesce(nullif(attributes -> ('consent.' || channel), 'null') in ('true', '1', '"true"', '"yes"', '"1"'), true)
      and coalesce(nullif(attributes #> array['consent', channel], 'null') in ('true', '1', '"true"', '"yes"', '"1"'), true)
  end;

-- A player who asked for a pause gets nothing until then.
alter table players add column cooldown_until timestamptz;
-- Whose address is it that a test is to be sent to? Only those few matter to whom nothing is sent.
create index players_not_to_be_written_to on players (tenant_id, project_id)
  where self_excluded or status in ('self_excluded', 'banned') or cooldown_until is not null;

grant usage on all sequences in schema public to engagement_api, engagement_service;
