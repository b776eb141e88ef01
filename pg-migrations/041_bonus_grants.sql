-- Bonus grants: what was promised to players, what their platforms have made of it, and what is still to be sent.

create table bonus_grants (
  tenant_id uuid not null,
  project_id uuid not null,
  grant_id uuid not null,
  template_id uuid not null,
  template_version integer not null,
  player_id uuid not null,
  campaign_id uuid,
  granted_by_kind text not null check (granted_by_kind in ('manual', 'api', 'journey', 'campaign', 'auto')),
  granted_by_id uuid,
  -- The user of the session; null for the internal secret.
  granted_by_user text,
  -- A copy of the template's terms, in the currency of the grant.
  terms jsonb not null,
  -- At most one live grant of a group per player. Null: of no group, or the player had one already when this one turned
  -- out to exist.
  exclusion_group text,
  -- The place among the grants of the template to the player: 1 for the first.
  slot integer not null check (slot > 0),
  status text not null
    check (status in ('pending', 'active', 'completed', 'forfeited', 'expired', 'lost', 'cancelled', 'failed')),
  outcome text not null check (outcome in ('unsent', 'sent', 'unknown', 'confirmed', 'rejected')),
  -- Before the attempt that is being made, one was made whose outcome is not known.
  may_be_sent boolean not null default false,
  needs_review boolean not null default false,
  adapter_slug text not null,
  -- The player as the platform is told, and the body of the call: the same bytes in every attempt.
  player_external_id text not null,
  order_body text not null,
  currency text not null,
  -- Amounts in the smallest unit of `currency`, those `_base` in that of the tenant's base currency.
  deposit_amount numeric(38, 0),
  bonus_amount numeric(38, 0) not null check (bonus_amount >= 0),
  bonus_amount_base bigint not null check (bonus_amount_base >= 0),
  -- {rate, ts} of the conversion of the terms; {rate, ts, numerator, denominator} of that to the base currency, by
  -- smallest units. Null: none was needed.
  fx jsonb,
  base_fx jsonb,
  wagering_required numeric(38, 0) not null,
  wagering_progress numeric(38, 0) not null default 0,
  progress_source text not null default 'none' check (progress_source in ('none', 'events', 'platform')),
  max_bet numeric(38, 0),
  max_win_cap numeric(38, 0),
  max_bet_breaches integer not null default 0,
  released_amount numeric(38, 0),
  released_amount_base bigint,
  -- What the platform has said, merged so that the order of its events does not matter.
  facts jsonb not null default '{}',
  status_reason text,
  last_error jsonb,
  -- Calls that were made to grant it, and calls of any kind: the result of a call counts only if no other has begun.
  attempts integer not null default 0,
  calls integer not null default 0,
  -- When the next call is due; while one is made: when it is taken for lost. Null: nothing is to be done.
  next_attempt_at timestamptz,
  cancel_requested_at timestamptz,
  cancel_reason text,
  -- Somebody has looked at the grant since its player was excluded, banned or deleted.
  is_protection_seen boolean not null default false,
  created_at timestamptz not null,
  activated_at timestamptz,
  expires_at timestamptz,
  completed_at timestamptz,
  ended_at timestamptz,
  updated_at timestamptz not null,
  -- The number of its last event.
  seq integer not null default 0,
  primary key (grant_id, tenant_id, project_id),
  check (status <> 'pending' or next_attempt_at is not null or needs_review)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.01);
create unique index bonus_grants_one_per_slot on bonus_grants (player_id, template_id, slot, tenant_id, project_id)
  where status not in ('cancelled', 'failed');
create unique index bonus_grants_one_per_group on bonus_grants (player_id, exclusion_group, tenant_id, project_id)
  where exclusion_group is not null and status in ('pending', 'active');
create index bonus_grants_of_player on bonus_grants (player_id, created_at desc, grant_id desc, tenant_id, project_id);
create index bonus_grants_of_template on bonus_grants (template_id, created_at desc, grant_id desc, tenant_id, project_id);
create index bonus_grants_of_campaign on bonus_grants (campaign_id, created_at desc, grant_id desc, tenant_id, project_id)
  where campaign_id is not null;
create index bonus_grants_by_age on bonus_grants (tenant_id, project_id, created_at desc, grant_id desc)
  where created_at > '-infinity';
create index bonus_grants_by_status on bonus_grants (tenant_id, project_id, status, created_at desc, grant_id desc)
  where created_at > '-infinity';
create index bonus_grants_to_review on bonus_grants (tenant_id, project_id, created_at desc, grant_id desc)
  where needs_review;
create index bonus_grants_due on bonus_grants (adapter_slug, tenant_id, project_id, next_attempt_at)
  where next_attempt_at is not null;
create index bonus_grants_live on bonus_grants (grant_id) where status in ('pending', 'active');
call protect_tenant_table('bonus_grants');

-- What has happened to a grant, in order. An event that players' segments and journeys see is also a record of the event
-- log, until `is_to_publish` is false.
create table bonus_grant_events (
  tenant_id uuid not null,
  project_id uuid not null,
  grant_id uuid not null,
  seq integer not null,
  event text not null,
  source text not null check (source in ('api', 'adapter', 'webhook', 'reconciliation', 'clock')),
  event_id uuid,
  from_status text,
  to_status text not null,
  occurred_at timestamptz not null,
  received_at timestamptz not null,
  data jsonb not null,
  -- The name of the event on the log; null: none.
  log_event text,
  ingestion_id uuid,
  is_to_publish boolean not null default false,
  primary key (grant_id, seq, tenant_id, project_id),
  check ((log_event is null) = (ingestion_id is null))
) with (autovacuum_vacuum_scale_factor = 0.02);
create index bonus_grant_events_to_publish on bonus_grant_events (received_at, grant_id, seq) where is_to_publish;
call protect_tenant_table('bonus_grant_events');

-- What the grants of a template cost, in the smallest unit of the base currency: the sum of bonus_amount_base of those
-- that are not cancelled or failed, at the end of every transaction.
create table bonus_budgets (
  tenant_id uuid not null,
  project_id uuid not null,
  template_id uuid not null,
  used_base numeric(38, 0) not null check (used_base >= 0),
  primary key (tenant_id, project_id, template_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
call protect_tenant_table('bonus_budgets');

-- The answer to a request that is still being worked on outside of a transaction: it is given from this moment on, unless
-- the final one has taken its place. Null: it is final.
alter table idempotency_keys add column settles_at timestamptz;
