-- The schema that the migrations result in. Made by a test: UPDATE_GOLDEN=1 writes it anew.

create type bet_kind as enum ('casino', 'sport');

create type bet_status as enum ('placed', 'settled', 'voided', 'cashed_out');

create type money_event as enum ('deposit_initiated', 'deposit_confirmed', 'deposit_failed', 'withdrawal_requested', 'withdrawal_confirmed', 'withdrawal_failed', 'bet_placed', 'bet_settled', 'bet_won', 'bet_lost', 'sport_bet_placed', 'sport_bet_settled', 'sport_cashout', 'sport_bet_voided');

CREATE OR REPLACE FUNCTION public.consent_to(attributes jsonb, channel text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN ((NULLIF((attributes -> ('consent.'::text || channel)), 'null'::jsonb) IS NULL) AND (NULLIF((attributes #> ARRAY['consent'::text, channel]), 'null'::jsonb) IS NULL)) THEN NULL::boolean ELSE (COALESCE((NULLIF((attributes -> ('consent.'::text || channel)), 'null'::jsonb) = ANY (ARRAY['true'::jsonb, '1'::jsonb, '"true"'::jsonb, '"yes"'::jsonb, '"1"'::jsonb])), true) AND COALESCE((NULLIF((attributes #> ARRAY['consent'::text, channel]), 'null'::jsonb) = ANY (ARRAY['true'::jsonb, '1'::jsonb, '"true"'::jsonb, '"yes"'::jsonb, '"1"'::jsonb])), true)) END;

CREATE OR REPLACE FUNCTION public.current_tenant_id()
 RETURNS uuid
 LANGUAGE sql
 STABLE PARALLEL SAFE
RETURN (NULLIF(current_setting('app.tenant_id'::text, true), ''::text))::uuid;

CREATE OR REPLACE FUNCTION public.epoch_ms(moment timestamp with time zone)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (floor((EXTRACT(epoch FROM moment) * (1000)::numeric)))::bigint;

CREATE OR REPLACE FUNCTION public.new_id()
 RETURNS uuid
 LANGUAGE sql
 PARALLEL SAFE
RETURN uuidv7();

CREATE OR REPLACE FUNCTION public.note_fx_rate_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if tg_op = 'UPDATE' and (new.tenant_id, new.base, new.quote, new.ts, new.rate)
      = (old.tenant_id, old.base, old.quote, old.ts, old.rate) then
    return null;
  end if;
  -- A rate that moved leaves a gap where it was.
  if tg_op = 'DELETE' or tg_op = 'UPDATE' and (new.tenant_id, new.base, new.quote, new.ts)
      <> (old.tenant_id, old.base, old.quote, old.ts) then
    insert into fx_rate_changes (tenant_id, base, quote, ts) values (old.tenant_id, old.base, old.quote, old.ts);
  end if;
  if tg_op <> 'DELETE' then
    insert into fx_rate_changes (tenant_id, base, quote, ts) values (new.tenant_id, new.base, new.quote, new.ts);
  end if;
  perform pg_notify('fx_rates', '');
  return null;
end $function$;

CREATE OR REPLACE PROCEDURE public.protect_tenant_table(IN target regclass)
 LANGUAGE plpgsql
AS $procedure$
begin
  execute format('alter table %s enable row level security', target);
  execute format('alter table %s force row level security', target);
  execute format('create policy own_tenant on %s to engagement_api using (tenant_id = current_tenant_id())', target);
  execute format('create policy every_tenant on %s to engagement_service using (true)', target);
  execute format('grant select, insert, update, delete on %s to engagement_api, engagement_service', target);
end $procedure$;

CREATE OR REPLACE FUNCTION public.queue_job(task text, payload json, max_attempts integer, job_key text, queue text, run_at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  perform graphile_worker.add_job(
    identifier => queue_job.task, payload => queue_job.payload, queue_name => queue_job.queue,
    run_at => coalesce(queue_job.run_at, now()), max_attempts => queue_job.max_attempts, job_key => queue_job.job_key);
end $function$;

CREATE OR REPLACE FUNCTION public.rate_at(of_tenant uuid, from_code text, to_code text, moment timestamp with time zone)
 RETURNS TABLE(rate numeric, rate_ts timestamp with time zone, rate_is_inverse boolean, source text)
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
    select c.rate, c.ts, c.is_inverse, c.source
    from (
      (select f.rate, f.ts, false as is_inverse, f.source from fx_rates f
        where f.tenant_id = of_tenant and f.base = from_code and f.quote = to_code and f.ts <= moment
        order by f.ts desc limit 1)
      union all
      (select f.rate, f.ts, true, f.source from fx_rates f
        where f.tenant_id = of_tenant and f.base = to_code and f.quote = from_code and f.ts <= moment
        order by f.ts desc limit 1)
    ) c
    order by c.is_inverse
    limit 1
  $function$;

create table event_log.group_positions (
  group_name text not null,
  topic_id smallint not null,
  partition smallint not null,
  next_offset bigint not null,
  constraint group_positions_pkey PRIMARY KEY (group_name, topic_id, partition)
);

create table event_log.records (
  topic_id smallint not null,
  partition smallint not null,
  log_offset bigint not null,
  key text not null,
  value text not null,
  constraint records_pkey PRIMARY KEY (topic_id, partition, log_offset)
);

create table event_log.topics (
  topic_id smallint not null generated as identity,
  topic text not null,
  partitions smallint not null,
  log_id uuid not null default gen_random_uuid(),
  constraint topics_pkey PRIMARY KEY (topic_id),
  constraint topics_topic_key UNIQUE (topic)
);

create table public.api_keys (
  tenant_id uuid not null,
  project_id uuid not null,
  key_id uuid not null,
  name text not null,
  environment text not null,
  public_id text not null,
  secret_hash bytea not null,
  ingest_per_minute integer,
  ingest_burst integer,
  created_at timestamp with time zone not null default now(),
  deleted_at timestamp with time zone,
  constraint api_keys_environment_check CHECK ((environment = ANY (ARRAY['dev'::text, 'stag'::text, 'prod'::text]))),
  constraint api_keys_ingest_burst_check CHECK ((ingest_burst > 0)),
  constraint api_keys_ingest_per_minute_check CHECK ((ingest_per_minute > 0)),
  constraint api_keys_pkey PRIMARY KEY (tenant_id, key_id),
  constraint api_keys_public_id_key UNIQUE (public_id),
  constraint api_keys_tenant_id_project_id_fkey FOREIGN KEY (tenant_id, project_id) REFERENCES projects(tenant_id, project_id)
);
CREATE INDEX api_keys_by_age ON public.api_keys USING btree (tenant_id, project_id, created_at DESC, key_id DESC) WHERE (created_at > '-infinity'::timestamp with time zone);
-- row-level security of public.api_keys: enabled, forced
create policy every_tenant on api_keys for all to engagement_service using (true);
create policy own_tenant on api_keys for all to engagement_api using ((tenant_id = current_tenant_id()));
grant delete, insert, select, update on public.api_keys to engagement_api;
grant delete, insert, select, update on public.api_keys to engagement_service;

create table public.audit_log (
  tenant_id uuid not null,
  audit_id uuid not null,
  occurred_at timestamp with time zone not null,
  user_id text,
  role text,
  project_id uuid,
  action text not null,
  resource_type text not null,
  resource_id text not null,
  before jsonb,
  after jsonb,
  request_id text not null,
  constraint audit_log_check CHECK (((user_id IS NULL) = (role IS NULL))),
  constraint audit_log_pkey PRIMARY KEY (tenant_id, audit_id),
  constraint audit_log_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'editor'::text, 'viewer'::text]))),
  constraint audit_log_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id)
);
CREATE INDEX audit_log_by_resource ON public.audit_log USING btree (tenant_id, resource_id, occurred_at DESC, audit_id DESC);
CREATE INDEX audit_log_by_time ON public.audit_log USING btree (tenant_id, occurred_at DESC, audit_id DESC);
CREATE INDEX audit_log_by_user ON public.audit_log USING btree (tenant_id, user_id, occurred_at DESC, audit_id DESC);
-- row-level security of public.audit_log: enabled, forced
create policy every_tenant on audit_log for all to engagement_service using (true);
create policy own_tenant on audit_log for all to engagement_api using ((tenant_id = current_tenant_id()));
grant insert, select on public.audit_log to engagement_api;
grant insert, select on public.audit_log to engagement_service;

create table public.bets (
  tenant_id uuid not null,
  project_id uuid not null,
  kind bet_kind not null,
  bet_id text not null,
  status bet_status not null,
  revision integer not null,
  constraint bets_pkey PRIMARY KEY (tenant_id, project_id, kind, bet_id)
) with (fillfactor=80);
-- row-level security of public.bets: enabled, forced
create policy every_tenant on bets for all to engagement_service using (true);
create policy own_tenant on bets for all to engagement_api using ((tenant_id = current_tenant_id()));
grant delete, insert, select, update on public.bets to engagement_api;
grant delete, insert, select, update on public.bets to engagement_service;

create table public.campaign_batches (
  tenant_id uuid not null,
  project_id uuid not null,
  campaign_id uuid not null,
  from_player_id uuid not null,
  until_player_id uuid,
  constraint campaign_batches_pkey PRIMARY KEY (tenant_id, project_id, campaign_id, from_player_id)
);
-- row-level security of public.campaign_batches: enabled, forced
create policy every_tenant on campaign_batches for all to engagement_service using (true);
create policy own_tenant on campaign_batches for all to engagement_api using ((tenant_id = current_tenant_id()));
grant delete, insert, select, update on public.campaign_batches to engagement_api;
grant delete, insert, select, update on public.campaign_batches to engagement_service;

create table public.campaign_variants (
  tenant_id uuid not null,
  project_id uuid not null,
  campaign_id uuid not null,
  variant_id uuid not null,
  name text not null,
  label text not null,
  template_id uuid,
  weight integer not null,
  sort_order integer not null,
  is_default boolean not null default false,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  deleted_at timestamp with time zone,
  constraint campaign_variants_pkey PRIMARY KEY (tenant_id, project_id, campaign_id, variant_id),
  constraint campaign_variants_weight_check CHECK ((weight > 0))
);
-- row-level security of public.campaign_variants: enabled, forced
create policy every_tenant on campaign_variants for all to engagement_service using (true);
create policy own_tenant on campaign_variants for all to engagement_api using ((tenant_id = current_tenant_id()));
grant delete, insert, select, update on public.campaign_variants to engagement_api;
grant delete, insert, select, update on public.campaign_variants to engagement_service;

create table public.campaigns (
  tenant_id uuid not null,
  project_id uuid not null,
  campaign_id uuid not null,
  name text not null,
  type text not null,
  channel text not null,
  segment_id uuid,
  template_id uuid,
  provider_id uuid,
  schedule_at timestamp with time zone,
  trigger_event text,
  goal_event text,
  goal_attribution_days integer,
  goal_value_property text,
  status text not null,
  started_at timestamp with time zone,
  finished_at timestamp with time zone,
  last_error text,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  deleted_at timestamp with time zone,
  retry_failed_until timestamp with time zone,
  constraint campaigns_channel_check CHECK ((channel = ANY (ARRAY['email'::text, 'sms'::text, 'push'::text]))),
  constraint campaigns_goal_attribution_days_check CHECK ((goal_attribution_days > 0)),
  constraint campaigns_pkey PRIMARY KEY (tenant_id, project_id, campaign_id),
  constraint campaigns_status_check CHECK ((status = ANY (ARRAY['draft'::text, 'scheduled'::text, 'sending'::text, 'sent'::text, 'cancelled'::text]))),
  constraint campaigns_tenant_id_project_id_fkey FOREIGN KEY (tenant_id, project_id) REFERENCES projects(tenant_id, project_id),
  constraint campaigns_type_check CHECK ((type = ANY (ARRAY['broadcast'::text, 'triggered'::text, 'journey'::text])))
);
CREATE INDEX campaigns_by_age ON public.campaigns USING btree (tenant_id, project_id, created_at DESC, campaign_id DESC) WHERE (created_at > '-infinity'::timestamp with time zone);
CREATE INDEX campaigns_due ON public.campaigns USING btree (schedule_at) WHERE ((status = 'scheduled'::text) AND (deleted_at IS NULL));
CREATE INDEX campaigns_retrying ON public.campaigns USING btree (tenant_id, project_id) WHERE (retry_failed_until IS NOT NULL);
CREATE INDEX campaigns_sending ON public.campaigns USING btree (tenant_id, project_id) WHERE (status = 'sending'::text);
-- row-level security of public.campaigns: enabled, forced
create policy every_tenant on campaigns for all to engagement_service using (true);
create policy own_tenant on campaigns for all to engagement_api using ((tenant_id = current_tenant_id()));
grant delete, insert, select, update on public.campaigns to engagement_api;
grant delete, insert, select, update on public.campaigns to engagement_service;

create table public.consumed_logs (
  group_name text not null,
  topic text not null,
  log_id text not null,
  since timestamp with time zone not null default now(),
  constraint consumed_logs_pkey PRIMARY KEY (group_name, topic)
);
grant delete, insert, select, update on public.consumed_logs to engagement_service;

create table public.currencies (
  tenant_id uuid not null,
  code text not null,
  kind text not null,
  scale smallint not null,
  symbol text not null,
  display_name text not null,
  is_active boolean not null default true,
  constraint currencies_kind_check CHECK ((kind = ANY (ARRAY['fiat'::text, 'crypto'::text]))),
  constraint currencies_pkey PRIMARY KEY (tenant_id, code),
  constraint currencies_scale_check CHECK (((scale >= 0) AND (scale <= 18))),
  constraint currencies_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id)
);
-- row-level security of public.currencies: enabled, forced
create policy every_tenant on currencies for all to engagement_service using (true);
create policy own_tenant on currencies for all to engagement_api using ((tenant_id = current_tenant_id()));
grant delete, insert, select, update on public.currencies to engagement_api;
grant delete, insert, select, update on public.currencies to engagement_service;

create table public.database_epochs (
  epoch integer not null,
  identity text not null,
  started_at timestamp with time zone not null default now(),
  ready_at timestamp with time zone,
  constraint database_epochs_pkey PRIMARY KEY (epoch)
);
grant delete, insert, select, update on public.database_epochs to engagement_service;

create table public.dead_letter_replays (
  partition integer not null,
  log_offset bigint not null,
  started_at timestamp with time zone not null,
  finished_at timestamp with time zone,
  constraint dead_letter_replays_pkey PRIMARY KEY (partition, log_offset)
);
grant delete, insert, select, update on public.dead_letter_replays to engagement_service;

create table public.dirty_players (
  tenant_id uuid not null,
  project_id uuid not null,
  entry_id bigint not null generated as identity,
  reads text[] not null,
  player_ids uuid[] not null,
  segment_id uuid,
  marked_at timestamp with time zone not null,
  constraint dirty_players_pkey PRIMARY KEY (tenant_id, project_id, entry_id)
);
CREATE INDEX dirty_players_by_segment ON public.dirty_players USING btree (tenant_id, project_id, segment_id, entry_id) WHERE (segment_id IS NOT NULL);
CREATE INDEX dirty_players_in_order ON public.dirty_players USING btree (entry_id);
-- row-level security of public.dirty_players: enabled, forced
create policy every_tenant on dirty_players for all to engagement_service using (true);
create policy own_tenant on dirty_players for all to engagement_api using ((tenant_id = current_tenant_id()));
grant delete, insert, select, update on public.dirty_players to engagement_api;
grant delete, insert, select, update on public.dirty_players to engagement_service;

create table public.event_corrections (
  tenant_id uuid not null,
  correction_id bigint not null generated as identity,
  project_id uuid not null,
  reference text not null,
  event money_event not null,
  occurrence bigint not null,
  queued_at timestamp with time zone not null default now(),
  constraint event_corrections_correction_id_key UNIQUE (correction_id),
  constraint event_corrections_pkey PRIMARY KEY (tenant_id, correction_id)
);
-- row-level security of public.event_corrections: enabled, forced
create policy every_tenant on event_corrections for all to engagement_service using (true);
create policy own_tenant on event_corrections for all to engagement_api using ((tenant_id = current_tenant_id()));
grant delete, insert, select, update on public.event_corrections to engagement_api;
grant delete, insert, select, update on public.event_corrections to engagement_service;

create table public.fold_positions (
  topic text not null,
  partition integer not null,
  next_offset bigint not null,
  emitted_offset bigint,
  constraint fold_positions_check CHECK ((emitted_offset <= next_offset)),
  constraint fold_positions_pkey PRIMARY KEY (topic, partition)
);
grant delete, insert, select, update on public.fold_positions to engagement_service;

create table public.fx_rate_changes (
  tenant_id uuid not null,
  change_id bigint not null generated as identity,
  base text not null,
  quote text not null,
  ts timestamp(3) with time zone not null,
  queued_at timestamp with time zone not null default now(),
  constraint fx_rate_changes_change_id_key UNIQUE (change_id),
  constraint fx_rate_changes_pkey PRIMARY KEY (tenant_id, change_id)
);
-- row-level security of public.fx_rate_changes: enabled, forced
create policy every_tenant on fx_rate_changes for all to engagement_service using (true);
create policy own_tenant on fx_rate_changes for all to engagement_api using ((tenant_id = current_tenant_id()));
grant delete, insert, select, update on public.fx_rate_changes to engagement_api;
grant delete, insert, select, update on public.fx_rate_changes to engagement_service;

create table public.fx_rates (
  tenant_id uuid not null,
  base text not null,
  quote text not null,
  ts timestamp(3) with time zone not null default now(),
  rate numeric not null,
  source text not null default 'manual'::text,
  constraint fx_rates_check CHECK ((base <> quote)),
  constraint fx_rates_pkey PRIMARY KEY (tenant_id, base, quote, ts),
  constraint fx_rates_rate_check CHECK (((rate > (0)::numeric) AND (rate < 'Infinity'::numeric))),
  constraint fx_rates_tenant_id_base_fkey FOREIGN KEY (tenant_id, base) REFERENCES currencies(tenant_id, code),
  constraint fx_rates_tenant_id_quote_fkey FOREIGN KEY (tenant_id, quote) REFERENCES currencies(tenant_id, code),
  constraint fx_rates_ts_check CHECK (isfinite(ts))
);
-- row-level security of public.fx_rates: enabled, forced
create policy every_tenant on fx_rates for all to engagement_service using (true);
create policy own_tenant on fx_rates for all to engagement_api using ((tenant_id = current_tenant_id()));
grant delete, insert, select, update on public.fx_rates to engagement_api;
grant delete, insert, select, update on public.fx_rates to engagement_service;

create table public.idempotency_keys (
  tenant_id uuid not null,
  route text not null,
  idempotency_key uuid not null,
  request_hash bytea not null,
  status smallint not null,
  response text not null,
  created_at timestamp with time zone not null,
  constraint idempotency_keys_pkey PRIMARY KEY (tenant_id, route, idempotency_key)
);
CREATE INDEX idempotency_keys_by_age ON public.idempotency_keys USING btree (tenant_id, created_at);
-- row-level security of public.idempotency_keys: enabled, forced
create policy every_tenant on idempotency_keys for all to engagement_service using (true);
create policy own_tenant on idempotency_keys for all to engagement_api using ((tenant_id = current_tenant_id()));
grant delete, insert, select, update on public.idempotency_keys to engagement_api;
grant delete, insert, select, update on public.idempotency_keys to engagement_service;

create table public.installation_secrets (
  name text not null,
  encrypted bytea not null,
  constraint installation_secrets_pkey PRIMARY KEY (name)
);
grant delete, insert, select, update on public.installation_secrets to engagement_service;

create table public.ledger (
  tenant_id uuid not null,
  project_id uuid not null,
  reference text not null,
  event money_event not null,
  occurrence bigint not null,
  player_id uuid not null,
  occurred_at timestamp with time zone not null,
  currency text,
  amount numeric(38,0),
  payout numeric(38,0),
  base_amount bigint,
  base_payout bigint,
  rate numeric,
  rate_ts timestamp with time zone,
  ingestion_id uuid not null,
  event_index smallint not null,
  log_partition integer not null,
  log_offset bigint not null,
  rate_is_inverse boolean,
  constraint ledger_pkey PRIMARY KEY (tenant_id, project_id, reference, event, occurrence)
);
CREATE INDEX ledger_by_rate ON public.ledger USING btree (tenant_id, currency, occurred_at, project_id, reference, event, occurrence) WHERE ((rate IS NOT NULL) OR ((amount IS NOT NULL) AND (base_amount IS NULL)) OR ((payout IS NOT NULL) AND (base_payout IS NULL)));
CREATE INDEX ledger_pending ON public.ledger USING btree (ingestion_id) WHERE (((amount IS NOT NULL) AND (base_amount IS NULL)) OR ((payout IS NOT NULL) AND (base_payout IS NULL)));
-- row-level security of public.ledger: enabled, forced
create policy every_tenant on ledger for all to engagement_service using (true);
create policy own_tenant on ledger for all to engagement_api using ((tenant_id = current_tenant_id()));
grant delete, insert, select, update on public.ledger to engagement_api;
grant delete, insert, select, update on public.ledger to engagement_service;

create table public.ledger_adjustments (
  tenant_id uuid not null,
  project_id uuid not null,
  adjustment_id bigint not null generated as identity,
  reference text not null,
  event money_event not null,
  occurrence bigint not null,
  base_amount bigint,
  base_payout bigint,
  rate numeric,
  rate_ts timestamp with time zone,
  rate_is_inverse boolean,
  adjusted_at timestamp with time zone not null,
  constraint ledger_adjustments_pkey PRIMARY KEY (tenant_id, project_id, adjustment_id)
);
CREATE INDEX ledger_adjustments_by_row ON public.ledger_adjustments USING btree (tenant_id, project_id, reference, event, occurrence);
-- row-level security of public.ledger_adjustments: enabled, forced
create policy every_tenant on ledger_adjustments for all to engagement_service using (true);
create policy own_tenant on ledger_adjustments for all to engagement_api using ((tenant_id = current_tenant_id()));
grant delete, insert, select, update on public.ledger_adjustments to engagement_api;
grant delete, insert, select, update on public.ledger_adjustments to engagement_service;

create table public.memberships (
  tenant_id uuid not null,
  user_id text not null,
  role text not null,
  created_at timestamp with time zone not null default now(),
  constraint memberships_pkey PRIMARY KEY (tenant_id, user_id),
  constraint memberships_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'editor'::text, 'viewer'::text]))),
  constraint memberships_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id)
);
CREATE INDEX memberships_by_user ON public.memberships USING btree (user_id);
-- row-level security of public.memberships: enabled, forced
create policy every_tenant on memberships for all to engagement_service using (true);
create policy own_tenant on memberships for all to engagement_api using ((tenant_id = current_tenant_id()));
grant delete, insert, select, update on public.memberships to engagement_api;
grant delete, insert, select, update on public.memberships to engagement_service;

create table public.message_sends (
  tenant_id uuid not null,
  project_id uuid not null,
  send_id uuid not null,
  campaign_id uuid,
  journey_run_id uuid,
  dedup_key text not null default ''::text,
  player_id uuid not null,
  channel text not null,
  template_id uuid,
  variant_id uuid,
  provider_id uuid,
  recipient text,
  status text not null,
  error_code text,
  provider_message_id text,
  context jsonb,
  attempts smallint not null default 0,
  retry_at timestamp with time zone,
  lease_id uuid,
  counted_at timestamp with time zone,
  enqueued_at timestamp with time zone not null,
  sent_at timestamp with time zone,
  delivered_at timestamp with time zone,
  opened_at timestamp with time zone,
  clicked_at timestamp with time zone,
  bounced_at timestamp with time zone,
  changed_xid xid8 not null default pg_current_xact_id(),
  provider_code text,
  provider_message text,
  give_up_at timestamp with time zone,
  constraint message_sends_channel_check CHECK ((channel = ANY (ARRAY['email'::text, 'sms'::text, 'push'::text]))),
  constraint message_sends_pkey PRIMARY KEY (send_id, tenant_id, project_id),
  constraint message_sends_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'sending'::text, 'sent'::text, 'delivered'::text, 'opened'::text, 'clicked'::text, 'bounced'::text, 'failed'::text, 'capped'::text])))
) with (fillfactor=80);
CREATE INDEX message_sends_by_change ON public.message_sends USING btree (changed_xid, send_id);
CREATE INDEX message_sends_by_player ON public.message_sends USING btree (player_id, counted_at, tenant_id, project_id);
CREATE INDEX message_sends_by_provider_message ON public.message_sends USING btree (tenant_id, provider_id, provider_message_id) WHERE (provider_message_id IS NOT NULL);
CREATE UNIQUE INDEX message_sends_once ON public.message_sends USING btree (campaign_id, player_id, dedup_key, tenant_id, project_id);
CREATE INDEX message_sends_open ON public.message_sends USING btree (tenant_id, project_id, campaign_id, send_id) WHERE (status = ANY (ARRAY['queued'::text, 'sending'::text]));
CREATE INDEX message_sends_sending ON public.message_sends USING btree (lease_id) WHERE (status = 'sending'::text);
CREATE INDEX message_sends_unavailable ON public.message_sends USING btree (tenant_id, project_id, campaign_id, send_id) WHERE ((status = 'failed'::text) AND (error_code = 'PROVIDER_UNAVAILABLE'::text));
-- row-level security of public.message_sends: enabled, forced
create policy every_tenant on message_sends for all to engagement_service using (true);
create policy own_tenant on message_sends for all to engagement_api using ((tenant_id = current_tenant_id()));
grant delete, insert, select, update on public.message_sends to engagement_api;
grant delete, insert, select, update on public.message_sends to engagement_service;

create table public.messaging_providers (
  tenant_id uuid not null,
  provider_id uuid not null,
  name text not null,
  kind text not null,
  channel text not null,
  status text not null,
  config jsonb not null,
  credentials bytea,
  rate_per_second integer,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  deleted_at timestamp with time zone,
  constraint messaging_providers_channel_check CHECK ((channel = ANY (ARRAY['email'::text, 'sms'::text, 'push'::text]))),
  constraint messaging_providers_kind_check CHECK ((kind = ANY (ARRAY['smtp'::text, 'sendgrid'::text, 'twilio'::text, 'fcm'::text, 'sandbox'::text]))),
  constraint messaging_providers_pkey PRIMARY KEY (tenant_id, provider_id),
  constraint messaging_providers_rate_per_second_check CHECK ((rate_per_second > 0)),
  constraint messaging_providers_status_check CHECK ((status = ANY (ARRAY['active'::text, 'paused'::text]))),
  constraint messaging_providers_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id)
);
CREATE INDEX messaging_providers_by_age ON public.messaging_providers USING btree (tenant_id, created_at DESC, provider_id DESC) WHERE (created_at > '-infinity'::timestamp with time zone);
CREATE UNIQUE INDEX messaging_providers_by_id ON public.messaging_providers USING btree (provider_id);
-- row-level security of public.messaging_providers: enabled, forced
create policy every_tenant on messaging_providers for all to engagement_service using (true);
create policy own_tenant on messaging_providers for all to engagement_api using ((tenant_id = current_tenant_id()));
grant delete, insert, select, update on public.messaging_providers to engagement_api;
grant delete, insert, select, update on public.messaging_providers to engagement_service;

create table public.messenger_leases (
  lease_id uuid not null,
  expires_at timestamp with time zone not null,
  constraint messenger_leases_pkey PRIMARY KEY (lease_id)
);
grant delete, insert, select, update on public.messenger_leases to engagement_service;

create table public.mirror_positions (
  name text not null,
  changed_xid xid8 not null,
  row_id uuid not null,
  epoch integer not null default 0,
  constraint mirror_positions_pkey PRIMARY KEY (name)
);
grant delete, insert, select, update on public.mirror_positions to engagement_service;

create table public.player_identities (
  tenant_id uuid not null,
  project_id uuid not null,
  anonymous_id text not null,
  player_id uuid not null,
  linked_at timestamp with time zone not null,
  constraint player_identities_pkey PRIMARY KEY (anonymous_id, tenant_id, project_id)
);
-- row-level security of public.player_identities: enabled, forced
create policy every_tenant on player_identities for all to engagement_service using (true);
create policy own_tenant on player_identities for all to engagement_api using ((tenant_id = current_tenant_id()));
grant delete, insert, select, update on public.player_identities to engagement_api;
grant delete, insert, select, update on public.player_identities to engagement_service;

create table public.player_merges (
  tenant_id uuid not null,
  project_id uuid not null,
  player_id uuid not null,
  into_player_id uuid not null,
  merged_at timestamp with time zone not null,
  aliased_at timestamp with time zone,
  rewritten_at timestamp with time zone,
  changed_xid xid8 not null default pg_current_xact_id(),
  constraint player_merges_pkey PRIMARY KEY (player_id, tenant_id, project_id)
);
CREATE INDEX player_merges_by_change ON public.player_merges USING btree (changed_xid, player_id);
CREATE INDEX player_merges_by_survivor ON public.player_merges USING btree (into_player_id, tenant_id, project_id);
CREATE INDEX player_merges_in_clickhouse ON public.player_merges USING btree (merged_at) WHERE (rewritten_at IS NULL);
-- row-level security of public.player_merges: enabled, forced
create policy every_tenant on player_merges for all to engagement_service using (true);
create policy own_tenant on player_merges for all to engagement_api using ((tenant_id = current_tenant_id()));
grant delete, insert, select, update on public.player_merges to engagement_api;
grant delete, insert, select, update on public.player_merges to engagement_service;

create table public.player_totals (
  tenant_id uuid not null,
  project_id uuid not null,
  player_id uuid not null,
  first_seen_at timestamp with time zone not null,
  last_seen_at timestamp with time zone not null,
  total_deposited bigint not null default 0,
  total_withdrawn bigint not null default 0,
  total_wagered bigint not null default 0,
  total_won bigint not null default 0,
  bet_count bigint not null default 0,
  session_count bigint not null default 0,
  pending_conversions bigint not null default 0,
  updated_at timestamp with time zone not null,
  changed_xid xid8 not null default pg_current_xact_id(),
  constraint player_totals_pkey PRIMARY KEY (player_id, tenant_id, project_id)
) with (fillfactor=80);
CREATE INDEX player_totals_by_change ON public.player_totals USING btree (changed_xid, player_id);
CREATE INDEX player_totals_by_last_seen ON public.player_totals USING btree (tenant_id, project_id, last_seen_at DESC, player_id DESC) WHERE (last_seen_at > '-infinity'::timestamp with time zone);
-- row-level security of public.player_totals: enabled, forced
create policy every_tenant on player_totals for all to engagement_service using (true);
create policy own_tenant on player_totals for all to engagement_api using ((tenant_id = current_tenant_id()));
grant delete, insert, select, update on public.player_totals to engagement_api;
grant delete, insert, select, update on public.player_totals to engagement_service;

create table public.players (
  tenant_id uuid not null,
  project_id uuid not null,
  player_id uuid not null,
  external_id text,
  email text,
  phone text,
  telegram_id text,
  anonymous_ids text[] not null default '{}'::text[],
  status text not null default 'active'::text,
  self_excluded boolean not null default false,
  self_excluded_at timestamp with time zone,
  timezone text,
  default_currency_code text not null,
  current_tier_code text,
  tier_promoted_at timestamp with time zone,
  kyc_status text not null default 'none'::text,
  kyc_status_at timestamp with time zone,
  kyc_level integer not null default 0,
  kyc_level_at timestamp with time zone,
  churn_score double precision not null default 0,
  ltv_predicted double precision,
  custom_attributes jsonb not null default '{}'::jsonb,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  deleted_at timestamp with time zone,
  is_known_to_segments boolean not null default false,
  cooldown_until timestamp with time zone,
  constraint players_kyc_status_check CHECK ((kyc_status = ANY (ARRAY['none'::text, 'pending'::text, 'approved'::text, 'rejected'::text, 'expired'::text]))),
  constraint players_pkey PRIMARY KEY (player_id, tenant_id, project_id),
  constraint players_status_check CHECK ((status = ANY (ARRAY['active'::text, 'self_excluded'::text, 'banned'::text, 'deleted'::text, 'conflict'::text])))
);
CREATE INDEX players_by_email ON public.players USING btree (email, tenant_id, project_id) WHERE (email IS NOT NULL);
CREATE UNIQUE INDEX players_by_external_id ON public.players USING btree (external_id, tenant_id, project_id) WHERE (external_id IS NOT NULL);
CREATE INDEX players_by_phone ON public.players USING btree (phone, tenant_id, project_id) WHERE (phone IS NOT NULL);
CREATE INDEX players_by_rare_status ON public.players USING btree (tenant_id, project_id, status) WHERE (status <> 'active'::text);
CREATE INDEX players_by_telegram_id ON public.players USING btree (telegram_id, tenant_id, project_id) WHERE (telegram_id IS NOT NULL);
CREATE INDEX players_not_contactable ON public.players USING btree (tenant_id, project_id) WHERE (self_excluded OR (status = ANY (ARRAY['self_excluded'::text, 'banned'::text])) OR (cooldown_until IS NOT NULL));
-- row-level security of public.players: enabled, forced
create policy every_tenant on players for all to engagement_service using (true);
create policy own_tenant on players for all to engagement_api using ((tenant_id = current_tenant_id()));
grant delete, insert, select, update on public.players to engagement_api;
grant delete, insert, select, update on public.players to engagement_service;

create table public.position_refusals (
  group_name text not null,
  topic text not null,
  log_id text not null,
  partition integer not null,
  end_offset bigint not null,
  refused_at timestamp with time zone not null default now(),
  handled_offset bigint,
  constraint position_refusals_pkey PRIMARY KEY (group_name, topic, log_id, partition)
);
grant delete, insert, select, update on public.position_refusals to engagement_service;

create table public.projects (
  tenant_id uuid not null,
  project_id uuid not null,
  name text not null,
  created_at timestamp with time zone not null default now(),
  constraint projects_pkey PRIMARY KEY (tenant_id, project_id),
  constraint projects_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id)
);
-- row-level security of public.projects: enabled, forced
create policy every_tenant on projects for all to engagement_service using (true);
create policy own_tenant on projects for all to engagement_api using ((tenant_id = current_tenant_id()));
grant delete, insert, select, update on public.projects to engagement_api;
grant delete, insert, select, update on public.projects to engagement_service;

create table public.sandbox_messages (
  tenant_id uuid not null,
  provider_id uuid not null,
  message_id uuid not null,
  send_id uuid,
  channel text not null,
  recipient text not null,
  subject text,
  preheader text,
  body text not null,
  data jsonb not null,
  headers jsonb not null,
  sent_at timestamp with time zone not null,
  constraint sandbox_messages_pkey PRIMARY KEY (tenant_id, provider_id, message_id)
);
CREATE INDEX sandbox_messages_by_send ON public.sandbox_messages USING btree (tenant_id, send_id);
-- row-level security of public.sandbox_messages: enabled, forced
create policy every_tenant on sandbox_messages for all to engagement_service using (true);
create policy own_tenant on sandbox_messages for all to engagement_api using ((tenant_id = current_tenant_id()));
grant delete, insert, select, update on public.sandbox_messages to engagement_api;
grant delete, insert, select, update on public.sandbox_messages to engagement_service;

create table public.schema_migrations (
  folder text not null,
  version integer not null,
  name text not null,
  applied_at timestamp with time zone not null default now(),
  constraint schema_migrations_pkey PRIMARY KEY (folder, version)
);

create table public.segment_changes (
  tenant_id uuid not null,
  project_id uuid not null,
  change_id bigint not null generated as identity,
  segment_id uuid not null,
  has_entered boolean not null,
  player_ids uuid[] not null,
  changed_at timestamp with time zone not null,
  constraint segment_changes_pkey PRIMARY KEY (tenant_id, project_id, change_id)
);
CREATE INDEX segment_changes_in_order ON public.segment_changes USING btree (change_id);
-- row-level security of public.segment_changes: enabled, forced
create policy every_tenant on segment_changes for all to engagement_service using (true);
create policy own_tenant on segment_changes for all to engagement_api using ((tenant_id = current_tenant_id()));
grant delete, insert, select, update on public.segment_changes to engagement_api;
grant delete, insert, select, update on public.segment_changes to engagement_service;

create table public.segment_members (
  tenant_id uuid not null,
  project_id uuid not null,
  segment_id uuid not null,
  player_id uuid not null,
  entered_at timestamp with time zone not null,
  constraint segment_members_pkey PRIMARY KEY (segment_id, player_id, tenant_id, project_id)
);
CREATE INDEX segment_members_by_player ON public.segment_members USING btree (player_id, tenant_id, project_id);
-- row-level security of public.segment_members: enabled, forced
create policy every_tenant on segment_members for all to engagement_service using (true);
create policy own_tenant on segment_members for all to engagement_api using ((tenant_id = current_tenant_id()));
grant delete, insert, select, update on public.segment_members to engagement_api;
grant delete, insert, select, update on public.segment_members to engagement_service;

create table public.segment_sweeps (
  tenant_id uuid not null,
  project_id uuid not null,
  swept_at timestamp with time zone not null,
  constraint segment_sweeps_pkey PRIMARY KEY (tenant_id, project_id)
);
-- row-level security of public.segment_sweeps: enabled, forced
create policy every_tenant on segment_sweeps for all to engagement_service using (true);
create policy own_tenant on segment_sweeps for all to engagement_api using ((tenant_id = current_tenant_id()));
grant delete, insert, select, update on public.segment_sweeps to engagement_api;
grant delete, insert, select, update on public.segment_sweeps to engagement_service;

create table public.segment_window_sweeps (
  tenant_id uuid not null,
  project_id uuid not null,
  passing_window jsonb not null,
  swept_at timestamp with time zone not null,
  failures integer not null,
  last_error text,
  retry_at timestamp with time zone not null,
  constraint segment_window_sweeps_pkey PRIMARY KEY (tenant_id, project_id, passing_window)
);
CREATE INDEX segment_window_sweeps_due ON public.segment_window_sweeps USING btree (retry_at);
-- row-level security of public.segment_window_sweeps: enabled, forced
create policy every_tenant on segment_window_sweeps for all to engagement_service using (true);
create policy own_tenant on segment_window_sweeps for all to engagement_api using ((tenant_id = current_tenant_id()));
grant delete, insert, select, update on public.segment_window_sweeps to engagement_api;
grant delete, insert, select, update on public.segment_window_sweeps to engagement_service;

create table public.segments (
  tenant_id uuid not null,
  project_id uuid not null,
  segment_id uuid not null,
  name text not null,
  description text not null default ''::text,
  definition json not null,
  refresh_strategy text not null,
  refresh_interval_minutes integer,
  reads text[] not null,
  windows jsonb not null default '[]'::jsonb,
  defined_at timestamp with time zone not null,
  estimated_size bigint not null default 0,
  last_computed_at timestamp with time zone,
  last_error text,
  refresh_progress jsonb,
  next_refresh_at timestamp with time zone,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  deleted_at timestamp with time zone,
  evaluation_failures integer not null default 0,
  evaluation_retry_at timestamp with time zone,
  refresh_failures integer not null default 0,
  refresh_retry_at timestamp with time zone,
  constraint segments_check CHECK (((refresh_strategy = 'scheduled'::text) = (refresh_interval_minutes IS NOT NULL))),
  constraint segments_pkey PRIMARY KEY (tenant_id, project_id, segment_id),
  constraint segments_refresh_interval_minutes_check CHECK ((refresh_interval_minutes > 0)),
  constraint segments_refresh_strategy_check CHECK ((refresh_strategy = ANY (ARRAY['realtime'::text, 'scheduled'::text, 'manual'::text]))),
  constraint segments_tenant_id_project_id_fkey FOREIGN KEY (tenant_id, project_id) REFERENCES projects(tenant_id, project_id)
);
CREATE INDEX segments_by_age ON public.segments USING btree (tenant_id, project_id, created_at DESC, segment_id DESC) WHERE (created_at > '-infinity'::timestamp with time zone);
CREATE INDEX segments_due ON public.segments USING btree (next_refresh_at) WHERE ((refresh_strategy = 'scheduled'::text) AND (deleted_at IS NULL));
CREATE INDEX segments_realtime ON public.segments USING btree (tenant_id, project_id) WHERE ((refresh_strategy = 'realtime'::text) AND (deleted_at IS NULL));
CREATE INDEX segments_set_aside ON public.segments USING btree (evaluation_retry_at) WHERE (evaluation_failures > 0);
CREATE INDEX segments_unfinished ON public.segments USING btree (refresh_retry_at) WHERE (refresh_retry_at IS NOT NULL);
-- row-level security of public.segments: enabled, forced
create policy every_tenant on segments for all to engagement_service using (true);
create policy own_tenant on segments for all to engagement_api using ((tenant_id = current_tenant_id()));
grant delete, insert, select, update on public.segments to engagement_api;
grant delete, insert, select, update on public.segments to engagement_service;

create table public.sink_positions (
  topic text not null,
  partition integer not null,
  next_offset bigint not null,
  block_end bigint,
  block_token text,
  constraint sink_positions_pkey PRIMARY KEY (topic, partition),
  constraint sink_positions_whole_block CHECK (((block_end IS NULL) = (block_token IS NULL)))
);
grant delete, insert, select, update on public.sink_positions to engagement_service;

create table public.suppressions (
  tenant_id uuid not null,
  channel text not null,
  address text not null,
  reason text not null,
  created_at timestamp with time zone not null,
  detail text,
  constraint suppressions_channel_check CHECK ((channel = ANY (ARRAY['email'::text, 'sms'::text, 'push'::text]))),
  constraint suppressions_pkey PRIMARY KEY (tenant_id, channel, address),
  constraint suppressions_reason_check CHECK ((reason = ANY (ARRAY['bounce'::text, 'complaint'::text, 'unsubscribe'::text]))),
  constraint suppressions_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id)
);
-- row-level security of public.suppressions: enabled, forced
create policy every_tenant on suppressions for all to engagement_service using (true);
create policy own_tenant on suppressions for all to engagement_api using ((tenant_id = current_tenant_id()));
grant delete, insert, select, update on public.suppressions to engagement_api;
grant delete, insert, select, update on public.suppressions to engagement_service;

create table public.templates (
  tenant_id uuid not null,
  project_id uuid not null,
  template_id uuid not null,
  name text not null,
  channel text not null,
  status text not null,
  subject text,
  preheader text,
  body text not null,
  data jsonb not null default '{}'::jsonb,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  deleted_at timestamp with time zone,
  constraint templates_channel_check CHECK ((channel = ANY (ARRAY['email'::text, 'sms'::text, 'push'::text]))),
  constraint templates_pkey PRIMARY KEY (tenant_id, project_id, template_id),
  constraint templates_status_check CHECK ((status = ANY (ARRAY['draft'::text, 'active'::text, 'archived'::text]))),
  constraint templates_tenant_id_project_id_fkey FOREIGN KEY (tenant_id, project_id) REFERENCES projects(tenant_id, project_id)
);
CREATE INDEX templates_by_age ON public.templates USING btree (tenant_id, project_id, created_at DESC, template_id DESC) WHERE (created_at > '-infinity'::timestamp with time zone);
-- row-level security of public.templates: enabled, forced
create policy every_tenant on templates for all to engagement_service using (true);
create policy own_tenant on templates for all to engagement_api using ((tenant_id = current_tenant_id()));
grant delete, insert, select, update on public.templates to engagement_api;
grant delete, insert, select, update on public.templates to engagement_service;

create table public.tenant_configs (
  tenant_id uuid not null,
  license_jurisdiction text,
  verticals text[] not null,
  kyc_model text not null,
  config jsonb not null,
  constraint tenant_configs_config_check CHECK (((jsonb_typeof(config) = 'object'::text) AND (octet_length((config)::text) <= 16384))),
  constraint tenant_configs_kyc_model_check CHECK ((kyc_model = ANY (ARRAY['platform_owns'::text, 'crm_owns'::text, 'dual'::text, 'none'::text]))),
  constraint tenant_configs_license_jurisdiction_check CHECK ((length(license_jurisdiction) <= 64)),
  constraint tenant_configs_pkey PRIMARY KEY (tenant_id),
  constraint tenant_configs_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id),
  constraint tenant_configs_verticals_check CHECK ((octet_length(array_to_string(verticals, ','::text)) <= 4096))
);
-- row-level security of public.tenant_configs: enabled, forced
create policy every_tenant on tenant_configs for all to engagement_service using (true);
create policy own_tenant on tenant_configs for all to engagement_api using ((tenant_id = current_tenant_id()));
grant delete, insert, select, update on public.tenant_configs to engagement_api;
grant delete, insert, select, update on public.tenant_configs to engagement_service;

create table public.tenants (
  tenant_id uuid not null,
  name text not null,
  base_currency text not null,
  created_at timestamp with time zone not null default now(),
  constraint tenants_pkey PRIMARY KEY (tenant_id)
);
-- row-level security of public.tenants: enabled, forced
create policy every_tenant on tenants for all to engagement_service using (true);
create policy own_tenant on tenants for all to engagement_api using ((tenant_id = current_tenant_id()));
grant delete, insert, select, update on public.tenants to engagement_api;
grant delete, insert, select, update on public.tenants to engagement_service;

create table public.trigger_events (
  tenant_id uuid not null,
  project_id uuid not null,
  listener_id uuid not null,
  listener_kind text not null,
  event_key text not null,
  player_id uuid not null,
  partition integer not null,
  log_offset bigint not null,
  player_xid xid8 not null,
  value text,
  recorded_at timestamp with time zone not null,
  claimed_until timestamp with time zone,
  attempts integer not null default 0,
  last_error text,
  decided_at timestamp with time zone,
  outcome text,
  keep_until timestamp with time zone not null,
  log_id text,
  constraint trigger_events_check CHECK (((decided_at IS NULL) = (outcome IS NULL))),
  constraint trigger_events_listener_kind_check CHECK ((listener_kind = 'campaign'::text)),
  constraint trigger_events_outcome_check CHECK ((outcome = ANY (ARRAY['fired'::text, 'refused'::text, 'failed'::text]))),
  constraint trigger_events_pkey PRIMARY KEY (tenant_id, project_id, event_key, listener_id)
);
CREATE INDEX trigger_events_kept ON public.trigger_events USING btree (keep_until) WHERE (decided_at IS NOT NULL);
CREATE INDEX trigger_events_waiting ON public.trigger_events USING btree (listener_id, partition, log_offset) WHERE (decided_at IS NULL);
-- row-level security of public.trigger_events: enabled, forced
create policy every_tenant on trigger_events for all to engagement_service using (true);
create policy own_tenant on trigger_events for all to engagement_api using ((tenant_id = current_tenant_id()));
grant delete, insert, select, update on public.trigger_events to engagement_api;
grant delete, insert, select, update on public.trigger_events to engagement_service;
