-- Bonuses: the casino platforms that are asked for them, what may be granted, what was granted, and which bets count.

-- Casino platforms: the registry of adapters, what they sent us, and what sandboxes were given.
create table adapters (
  tenant_id uuid not null,
  project_id uuid not null,
  adapter_id uuid not null,
  -- In the path of the platform's webhooks, where it stands for tenant and project; never given to another adapter.
  slug text not null,
  kind text not null check (kind in ('http', 'sandbox')),
  -- Null: a sandbox.
  base_url text,
  auth_type text not null check (auth_type in ('none', 'bearer')),
  -- Encrypted; the bearer token.
  token bytea,
  timeout_ms integer not null,
  max_rps integer not null,
  max_in_flight integer not null,
  capabilities jsonb not null,
  is_active boolean not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (tenant_id, project_id, adapter_id),
  constraint adapters_slug unique (slug),
  foreign key (tenant_id, project_id) references projects,
  check ((kind = 'http') = (base_url is not null)),
  check ((auth_type = 'bearer') = (token is not null))
);
create unique index adapters_active on adapters (tenant_id, project_id) where is_active;
call protect_tenant_table('adapters');

-- What signs calls of a platform, its webhooks, and webhooks of journeys while the adapter is active.
create table adapter_secrets (
  tenant_id uuid not null,
  project_id uuid not null,
  adapter_id uuid not null,
  secret_id uuid not null,
  -- Encrypted.
  secret bytea not null,
  created_at timestamptz not null,
  -- Null: the current one.
  expires_at timestamptz,
  primary key (tenant_id, project_id, adapter_id, secret_id),
  foreign key (tenant_id, project_id, adapter_id) references adapters
);
create unique index adapter_secrets_current on adapter_secrets (tenant_id, project_id, adapter_id)
  where expires_at is null;
create index adapter_secrets_expired on adapter_secrets (expires_at) where expires_at is not null;
call protect_tenant_table('adapter_secrets');

-- Webhooks of platforms that had their effect: a row is written in the transaction of the effect.
create table adapter_webhooks (
  tenant_id uuid not null,
  project_id uuid not null,
  -- It belongs to one tenant for ever.
  adapter_slug text not null,
  event_id uuid not null,
  -- The last part of the path.
  name text not null,
  -- SHA-256; another body under the same id is a fault of the platform.
  body_hash bytea not null,
  -- What was answered; null only within the transaction of the effect.
  result jsonb,
  received_at timestamptz not null,
  primary key (tenant_id, adapter_slug, event_id)
);
create index adapter_webhooks_old on adapter_webhooks (received_at);
call protect_tenant_table('adapter_webhooks');

-- Bonuses of sandboxes: of adapters of that kind, and of the built-in one of the slug 'sandbox'.
create table sandbox_bonuses (
  tenant_id uuid not null,
  project_id uuid not null,
  adapter_slug text not null,
  grant_id uuid not null,
  platform_bonus_id uuid not null,
  status text not null check (status in ('active', 'cancelled')),
  -- The body of the grant as it was sent.
  sent jsonb not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (tenant_id, project_id, adapter_slug, grant_id)
);
create unique index sandbox_bonuses_listed on sandbox_bonuses
  (tenant_id, project_id, adapter_slug, platform_bonus_id desc)
  where created_at > '-infinity';
call protect_tenant_table('sandbox_bonuses');

-- Bonus templates: what may be granted, on which terms. A grant keeps a copy of the terms of its moment.
create table bonus_templates (
  tenant_id uuid not null,
  project_id uuid not null,
  template_id uuid not null,
  name text not null,
  type text not null check (type in ('deposit_match', 'reload', 'free_spins', 'no_deposit', 'cashback', 'free_bet')),
  -- By type, as the API shows it: amounts above 2^53 - 1 are digit strings.
  config jsonb not null,
  wagering_requirement_multiplier numeric(5, 2) not null,
  wagering_basis text not null check (wagering_basis in ('bonus', 'bonus_plus_deposit', 'deposit', 'winnings')),
  -- Null: every game counts in full.
  game_contribution jsonb,
  -- In the smallest unit of the currency in `config`.
  max_bet_during_wagering numeric(38, 0),
  max_win_cap numeric(38, 0),
  max_bet_action text not null check (max_bet_action in ('flag', 'forfeit')),
  time_limit_hours integer,
  wallet_model text not null check (wallet_model in ('sticky', 'non_sticky')),
  product text not null check (product in ('casino', 'betting', 'bingo', 'lottery', 'any')),
  status text not null check (status in ('active', 'paused')),
  max_grants_per_player integer,
  grant_window_days integer,
  exclusion_group text,
  -- In the smallest unit of the tenant's base currency.
  budget_base bigint,
  min_kyc_level integer,
  eligible_segment_id uuid,
  -- Of the terms: from `config` to `product`.
  version integer not null,
  -- Licence rules that only warn, of the moment at which the terms were written: [{rule_id, message}].
  licence_warnings jsonb not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (tenant_id, project_id, template_id),
  foreign key (tenant_id, project_id) references projects
);
create index bonus_templates_by_age on bonus_templates (tenant_id, project_id, created_at desc, template_id desc)
  where created_at > '-infinity';
call protect_tenant_table('bonus_templates');

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
  -- The id of the player at the platform, and the body of the call: the same bytes in every attempt.
  player_external_id text not null,
  order_body text not null,
  currency text not null,
  -- Amounts in the smallest unit of `currency`, those `_base` in that of the tenant's base currency.
  deposit_amount numeric(38, 0),
  bonus_amount numeric(38, 0) not null check (bonus_amount >= 0),
  bonus_amount_base bigint not null check (bonus_amount_base >= 0),
  -- {rate, ts} of the conversion of the terms; {rate, ts, steps, from_scale, to_scale} of that to the base currency, exactly.
  -- Null: none was needed.
  fx jsonb,
  base_fx jsonb,
  wagering_required numeric(38, 0) not null,
  -- Without a limit of digits: a sum of stakes of up to 38 digits may have more.
  wagering_progress numeric not null default 0,
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
  -- The sum of the contributions of bets, exactly: stakes in the smallest unit times percent.
  wagering_sum numeric not null default 0,
  -- The window for which the bets were counted. Where it differs from the window that the grant has now, they are counted
  -- again.
  counted_from timestamptz,
  counted_until timestamptz,
  -- Since when bets of the player are recorded; null: since the grant was made. Earlier ones are read from ClickHouse.
  recorded_from timestamptz,
  -- When the first call of the grant began: a grant may wait for days before that, in a campaign that is slow or paused.
  -- Null: there was none.
  first_called_at timestamptz,
  -- Grows with every merge: a recount that began before it is not the one that it needs.
  recount_seq integer not null default 0,
  -- The bets since the activation that came before the grant was stored are recorded, too: by clocks that are ahead, or by
  -- a credit of an earlier time.
  are_bets_recorded boolean not null default false,
  -- Of an ended grant, long after its end: `closed`: the sum stays, and no bet changes it any more; `removed`: nor are its
  -- bets kept.
  wagering_record text not null default 'open' check (wagering_record in ('open', 'closed', 'removed')),
  -- Of a campaign's grant of which nothing was sent, since its last call led to nothing: it waits for a share of the
  -- campaign's rate, at next_attempt_at, or from this moment on when its platform takes calls again. Null: it has its share,
  -- or needs none.
  put_off_to timestamptz,
  -- Whose the bonus was before its player was merged: the exclusion of one does not make what another got wrong.
  merged_from uuid,
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
create index bonus_grants_to_count on bonus_grants (grant_id)
  where activated_at is not null
    and (activated_at is distinct from counted_from or least(expires_at, ended_at) is distinct from counted_until);
-- Grants of campaigns of which nothing was sent: parked ones come last.
create index bonus_grants_unsent_of_campaign on bonus_grants
  (campaign_id, next_attempt_at, grant_id, tenant_id, project_id)
  where campaign_id is not null and status = 'pending' and outcome = 'unsent';
-- Live grants that a platform may know.
create index bonus_grants_to_compare on bonus_grants (adapter_slug, tenant_id, project_id, grant_id)
  where status in ('pending', 'active') and (status = 'active' or outcome <> 'unsent' or may_be_sent);
-- What the grants of a template cost, from the index alone.
create index bonus_grants_cost on bonus_grants (template_id, tenant_id, project_id) include (bonus_amount_base)
  where status not in ('cancelled', 'failed');
create index bonus_grants_to_look_up on bonus_grants (grant_id)
  where activated_at is not null
    and (not are_bets_recorded or activated_at < coalesce(recorded_from, created_at));
create index bonus_grants_to_close on bonus_grants (ended_at, grant_id)
  where ended_at is not null and wagering_record <> 'removed';
-- What may be called when its time has come.
create index bonus_grants_to_call on bonus_grants (adapter_slug, tenant_id, project_id, next_attempt_at)
  where next_attempt_at is not null and (put_off_to is null or outcome <> 'unsent');
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

-- The bets of players with bonuses that count, or may come to count: one row per bet, which at most one grant takes.
create table bonus_contributions (
  tenant_id uuid not null,
  project_id uuid not null,
  kind bet_kind not null,
  bet_id text not null,
  player_id uuid not null,
  state bet_status not null,
  -- In the smallest unit of `currency`, as the bet has it.
  stake numeric(38, 0) not null check (stake >= 0),
  currency text not null,
  game_category text,
  -- When it counts: a casino bet when it was placed, a sport bet when it was settled.
  occurred_at timestamptz not null,
  -- Of the bet: a lower one is not applied any more.
  revision bigint not null,
  -- The grant that takes the bet. Null: none does.
  grant_id uuid,
  -- The stake in the smallest unit of the grant's currency times percent. Null: no rate is known yet, or no grant takes it.
  contribution numeric,
  is_breach boolean not null default false,
  -- The state is that of the ledger, which is above every state that came with an event.
  is_of_ledger boolean not null default false,
  -- The conversion with which the bet was first counted in another currency: {to, from_scale, to_scale, steps}.
  rate jsonb,
  primary key (bet_id, kind, tenant_id, project_id),
  check (grant_id is not null or (contribution is null and not is_breach))
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.01);
create index bonus_contributions_of_player on bonus_contributions
  (player_id, occurred_at, kind, bet_id, tenant_id, project_id);
create index bonus_contributions_of_grant on bonus_contributions
  (grant_id, occurred_at, kind, bet_id, tenant_id, project_id) where grant_id is not null;
create index bonus_contributions_without_rate on bonus_contributions (bet_id, kind, tenant_id, project_id)
  where grant_id is not null and contribution is null;
call protect_tenant_table('bonus_contributions');

-- Stakes above what the terms of a grant allow. They count nothing.
create table bonus_breaches (
  tenant_id uuid not null,
  project_id uuid not null,
  grant_id uuid not null,
  kind bet_kind not null,
  bet_id text not null,
  -- In the smallest unit of the grant's currency.
  stake numeric not null,
  max_bet numeric(38, 0) not null,
  occurred_at timestamptz not null,
  found_at timestamptz not null,
  primary key (grant_id, kind, bet_id, tenant_id, project_id)
);
call protect_tenant_table('bonus_breaches');

-- How far the bets of `player-events` are counted. Behind what the log knows when Postgres was restored: then they are
-- read again. This table has no data of tenants.
create table wagering_positions (
  topic text not null,
  partition integer not null,
  -- The log that the position points into.
  log_id text not null,
  next_offset bigint not null,
  primary key (topic, partition)
);
grant select, insert, update, delete on wagering_positions to engagement_service;

-- Comparing bonus grants with their platforms: the grants of one platform after each other, and how far that came. Without a
-- row the next comparison begins with the first grant.
create table bonus_reconcile_positions (
  tenant_id uuid not null,
  project_id uuid not null,
  adapter_slug text not null,
  -- The comparison goes on, or the next one begins, behind this grant.
  after_grant_id uuid not null,
  -- Behind which grant a comparison began that was cut: it goes on to the last one, and then from the first to this one.
  -- Null: it is over, and the next one begins behind after_grant_id.
  began_after uuid,
  primary key (tenant_id, project_id, adapter_slug)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
call protect_tenant_table('bonus_reconcile_positions');
