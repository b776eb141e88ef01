-- The schema that the migrations result in. Made by a test: UPDATE_GOLDEN=1 writes it anew.

create type bet_kind as enum ('casino', 'sport');

create type bet_status as enum ('placed', 'settled', 'voided', 'cashed_out');

create type money_event as enum ('deposit_initiated', 'deposit_confirmed', 'deposit_failed', 'withdrawal_requested', 'withdrawal_confirmed', 'withdrawal_failed', 'bet_placed', 'bet_settled', 'bet_won', 'bet_lost', 'sport_bet_placed', 'sport_bet_settled', 'sport_cashout', 'sport_bet_voided', 'bet_voided', 'sport_bet_reopened', 'deposit_reversed', 'withdrawal_reversed', 'balance_credited', 'balance_debited');

CREATE OR REPLACE FUNCTION public.add_message_stages()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION public.address_key(channel text, address text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN NULLIF("left"(CASE WHEN (channel = 'sms'::text) THEN COALESCE(NULLIF(CASE WHEN (plain_address(address) !~ '[[:alpha:]@]'::text) THEN ltrim(regexp_replace(plain_address(address), '[(]0[)]|[^0-9]'::text, ''::text, 'g'::text), '0'::text) ELSE NULL::text END, ''::text), lower(plain_address(address))) ELSE lower(plain_address(address)) END, 600), ''::text);

CREATE OR REPLACE FUNCTION public.consent_to(attributes jsonb, channel text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN ((consent_value((attributes -> ('consent.'::text || channel))) IS NULL) AND (consent_value((attributes #> ARRAY['consent'::text, channel])) IS NULL)) THEN NULL::boolean ELSE (COALESCE(consent_value((attributes -> ('consent.'::text || channel))), true) AND COALESCE(consent_value((attributes #> ARRAY['consent'::text, channel])), true)) END;

CREATE OR REPLACE FUNCTION public.consent_to_product(attributes jsonb, channel text, product text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN ((consent_value((attributes -> ((('consent.'::text || channel) || '.'::text) || product))) IS NULL) AND (consent_value((attributes #> ARRAY[('consent.'::text || channel), product])) IS NULL) AND (consent_value((attributes #> ARRAY['consent'::text, ((channel || '.'::text) || product)])) IS NULL) AND (consent_value((attributes #> ARRAY['consent'::text, channel, product])) IS NULL)) THEN NULL::boolean ELSE (COALESCE(consent_value((attributes -> ((('consent.'::text || channel) || '.'::text) || product))), true) AND COALESCE(consent_value((attributes #> ARRAY[('consent.'::text || channel), product])), true) AND COALESCE(consent_value((attributes #> ARRAY['consent'::text, ((channel || '.'::text) || product)])), true) AND COALESCE(consent_value((attributes #> ARRAY['consent'::text, channel, product])), true)) END;

CREATE OR REPLACE FUNCTION public.consent_value(value jsonb)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN ((value IS NULL) OR (jsonb_typeof(value) = ANY (ARRAY['null'::text, 'object'::text]))) THEN NULL::boolean ELSE (value = ANY (ARRAY['true'::jsonb, '1'::jsonb, '"true"'::jsonb, '"yes"'::jsonb, '"1"'::jsonb])) END;

CREATE OR REPLACE FUNCTION public.count_campaign_messages()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION public.count_campaign_rows()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  times integer := tg_argv[0];
  change record;
  free_id uuid;
begin
  for change in
    select tenant_id, project_id, campaign_id, status, case when status = 'skipped' then code end as code,
      times * count(*) as members, times * sum(cost_base) as cost, times * sum(released_base) as released,
      times * sum(case when is_open then 0 else greatest(cost_base - released_base, 0) end) as ended_unreleased,
      times * sum(case when is_open then cost_base else 0 end) as open
    from changed_rows
    group by 1, 2, 3, 4, 5
  loop
    select c.count_id into free_id from bonus_campaign_counts c
    where c.tenant_id = change.tenant_id and c.project_id = change.project_id and c.campaign_id = change.campaign_id
      and c.status = change.status and c.code is not distinct from change.code
    limit 1 for no key update skip locked;
    if found then
      update bonus_campaign_counts c set
        members = c.members + change.members, cost_base = c.cost_base + change.cost,
        released_base = c.released_base + change.released,
        ended_unreleased_base = c.ended_unreleased_base + change.ended_unreleased, open_base = c.open_base + change.open
      where c.tenant_id = change.tenant_id and c.project_id = change.project_id
        and c.campaign_id = change.campaign_id and c.count_id = free_id;
    else
      insert into bonus_campaign_counts (tenant_id, project_id, campaign_id, status, code, members, cost_base,
        released_base, ended_unreleased_base, open_base)
      values (change.tenant_id, change.project_id, change.campaign_id, change.status, change.code, change.members,
        change.cost, change.released, change.ended_unreleased, change.open);
    end if;
  end loop;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.counted_as(status text, error_code text, sent timestamp with time zone, delivered timestamp with time zone, opened timestamp with time zone, clicked timestamp with time zone, is_machine_opened boolean, is_bounced boolean)
 RETURNS TABLE(counted text, at timestamp with time zone)
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT c.counted,
     COALESCE(c.at, '-infinity'::timestamp with time zone) AS "coalesce"
    FROM ( VALUES ('recipients_total'::text,NULL::timestamp with time zone,true), ('sent'::text,counted_as.sent,((counted_as.sent IS NOT NULL) OR (counted_as.status = ANY (ARRAY['sent'::text, 'delivered'::text, 'opened'::text, 'clicked'::text, 'bounced'::text])))), ('delivered'::text,counted_as.delivered,((counted_as.delivered IS NOT NULL) OR (counted_as.opened IS NOT NULL) OR (counted_as.clicked IS NOT NULL) OR (counted_as.status = ANY (ARRAY['delivered'::text, 'opened'::text, 'clicked'::text])))), ('opened'::text,counted_as.opened,((counted_as.opened IS NOT NULL) OR (counted_as.clicked IS NOT NULL) OR (counted_as.status = ANY (ARRAY['opened'::text, 'clicked'::text])))), ('clicked'::text,counted_as.clicked,((counted_as.clicked IS NOT NULL) OR (counted_as.status = 'clicked'::text))), ('machine_opened'::text,NULL::timestamp with time zone,counted_as.is_machine_opened), ('bounced'::text,NULL::timestamp with time zone,(counted_as.is_bounced OR (counted_as.status = 'bounced'::text))), ('failed'::text,NULL::timestamp with time zone,(counted_as.status = 'failed'::text)), ('capped'::text,NULL::timestamp with time zone,(counted_as.status = 'capped'::text)), (counted_as.error_code,NULL::timestamp with time zone,(counted_as.error_code IS NOT NULL))) c(counted, at, is_counted)
   WHERE c.is_counted;
END;

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

CREATE OR REPLACE FUNCTION public.is_erased_side(anew jsonb, old jsonb)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN ((old IS NOT NULL) AND COALESCE(((anew = jsonb_build_object('erased', (anew ->> 'erased'::text))) AND ((anew ->> 'erased'::text) ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'::text)), false));

CREATE OR REPLACE FUNCTION public.is_subscribed(of_tenant uuid, of_project uuid, of_event text)
 RETURNS boolean
 LANGUAGE sql
 STABLE
RETURN (EXISTS (SELECT FROM event_subscriptions s WHERE ((s.tenant_id = is_subscribed.of_tenant) AND (s.project_id = is_subscribed.of_project) AND (s.deleted_at IS NULL) AND (s.events @> ARRAY[is_subscribed.of_event]))));

CREATE OR REPLACE FUNCTION public.iso_time(moment timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 STABLE
RETURN to_char((moment AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'::text);

CREATE OR REPLACE FUNCTION public.job_given_up_at(job_key text)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return (
    select j.updated_at from graphile_worker._private_jobs j
    where j.key = job_given_up_at.job_key and j.attempts >= j.max_attempts and j.locked_at is null
      and j.payload ->> 'tenant_id' = public.current_tenant_id()::text);
end $function$;

CREATE OR REPLACE FUNCTION public.jobs_given_up(most integer)
 RETURNS TABLE(task text, attempts integer, last_error text, created_at timestamp with time zone, given_up_at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return query
    select t.identifier, j.attempts::integer, j.last_error, j.created_at, j.updated_at
    from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
    where j.attempts >= j.max_attempts and j.locked_at is null
      and j.payload ->> 'tenant_id' = public.current_tenant_id()::text
    order by j.updated_at desc limit jobs_given_up.most;
end $function$;

CREATE OR REPLACE FUNCTION public.new_id()
 RETURNS uuid
 LANGUAGE sql
 PARALLEL SAFE
RETURN uuidv7();

CREATE OR REPLACE FUNCTION public.note_exclusion_facts()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
end $function$;

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

CREATE OR REPLACE FUNCTION public.note_grant_facts()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION public.note_message_facts()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION public.note_plan_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  changed record := coalesce(new, old);
begin
  insert into segment_plans as p (tenant_id, project_id, changes) values (changed.tenant_id, changed.project_id, 1)
  on conflict (tenant_id, project_id) do update set changes = p.changes + 1;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.note_player_changes()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into player_changes (tenant_id, project_id, player_count, player_ids)
  select tenant_id, project_id, count(*), array_agg(player_id)
  from (
    select tenant_id, project_id, player_id, (row_number() over () - 1) / 2000 as part
    from changed_rows
    where tg_op = 'DELETE' or changed_xid = pg_current_xact_id()) c
  group by tenant_id, project_id, part;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.note_segment_facts()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into subscription_facts (tenant_id, project_id, event, fact_key, player_ids, data, occurred_at)
  select new.tenant_id, new.project_id, e.event, 'segment ' || new.change_id, new.player_ids,
    jsonb_build_object('segment_id', new.segment_id), new.changed_at
  from (select case when new.has_entered then 'segment.entered' else 'segment.left' end as event) e
  where is_subscribed(new.tenant_id, new.project_id, e.event);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.note_tier_facts()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into subscription_facts (tenant_id, project_id, event, fact_key, player_ids, data, occurred_at)
  select new.tenant_id, new.project_id, 'tier.changed', 'tier ' || new.entry_id, array[new.player_id],
    jsonb_build_object('from_code', new.from_code, 'to_code', new.to_code, 'trigger', new.trigger), new.occurred_at
  where is_subscribed(new.tenant_id, new.project_id, 'tier.changed');
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.plain_address(address text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN btrim(regexp_replace(btrim(regexp_replace(address, '[\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890-\u0891\u08e2\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f]'::text, ''::text, 'g'::text), '	
                  　'::text), '^(?:mailto|tel|sms):(?://)?([^?;]*).*$'::text, '\1'::text, 'i'::text), '	
                  　'::text);

CREATE OR REPLACE PROCEDURE public.protect_tenant_table(IN target regclass)
 LANGUAGE plpgsql
AS $procedure$
begin
  execute format('alter table %s enable row level security', target);
  execute format('alter table %s force row level security', target);
  execute format('create policy own_tenant on %s to engagement_api using (tenant_id = (select current_tenant_id()))', target);
  execute format('create policy every_tenant on %s to engagement_service using (true)', target);
  execute format('grant select, insert, update, delete on %s to engagement_api, engagement_service', target);
end $procedure$;

CREATE OR REPLACE FUNCTION public.protections_of_both(ours jsonb, theirs jsonb)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
 WITH attributes AS (
          SELECT of.attributes
            FROM ( VALUES (protections_of_both.ours), (protections_of_both.theirs)) of(attributes)
         ), said AS (
          SELECT substr(e.key, (length('consent.'::text) + 1)) AS name,
             e.value
            FROM (attributes a
              CROSS JOIN LATERAL jsonb_each(a.attributes) e(key, value))
           WHERE (e.key ~~ 'consent.%'::text)
         UNION ALL
          SELECT e.key,
             e.value
            FROM (attributes a
              CROSS JOIN LATERAL jsonb_each(
                 CASE
                     WHEN (jsonb_typeof((a.attributes -> 'consent'::text)) = 'object'::text) THEN (a.attributes -> 'consent'::text)
                     ELSE '{}'::jsonb
                 END) e(key, value))
         ), named AS (
          SELECT said.name,
             said.value
            FROM said
           WHERE (jsonb_typeof(said.value) <> 'object'::text)
         UNION ALL
          SELECT ((s.name || '.'::text) || e.key),
             e.value
            FROM (said s
              CROSS JOIN LATERAL jsonb_each(
                 CASE
                     WHEN (jsonb_typeof(s.value) = 'object'::text) THEN s.value
                     ELSE '{}'::jsonb
                 END) e(key, value))
         ), refused AS (
          SELECT DISTINCT named.name
            FROM named
           WHERE ((NOT consent_value(named.value)) AND (named.name ~ '^(email|sms|phone|push)(\.[a-z0-9_-]{1,32})?$'::text))
           ORDER BY named.name
          LIMIT 100
         ), born AS (
          SELECT (attributes.attributes -> 'birth_date'::text) AS birth_date
            FROM attributes
           WHERE ((attributes.attributes ->> 'birth_date'::text) ~ '^\d{4}-\d{2}-\d{2}'::text)
           ORDER BY ("left"((attributes.attributes ->> 'birth_date'::text), 10) COLLATE "C") DESC
          LIMIT 1
         )
  SELECT ((COALESCE(( SELECT jsonb_object_agg(('consent.'::text || refused.name), false) AS jsonb_object_agg
            FROM refused), '{}'::jsonb) ||
         CASE
             WHEN ('strong'::text = ANY (ARRAY[(ours ->> 'rg_risk'::text), (theirs ->> 'rg_risk'::text)])) THEN '{"rg_risk": "strong"}'::jsonb
             WHEN ('low'::text = ANY (ARRAY[(ours ->> 'rg_risk'::text), (theirs ->> 'rg_risk'::text)])) THEN '{"rg_risk": "low"}'::jsonb
             ELSE '{}'::jsonb
         END) || COALESCE(( SELECT jsonb_build_object('birth_date', born.birth_date) AS jsonb_build_object
            FROM born), '{}'::jsonb));
END;

CREATE OR REPLACE FUNCTION public.quarter_of(at timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN date_bin('00:15:00'::interval, at, '1970-01-01 00:00:00+00'::timestamp with time zone);

CREATE OR REPLACE FUNCTION public.queue_job(task text, payload json, max_attempts integer, job_key text, queue text, run_at timestamp with time zone, priority integer DEFAULT 0)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  perform graphile_worker.add_job(
    identifier => queue_job.task, payload => queue_job.payload, queue_name => queue_job.queue,
    run_at => coalesce(queue_job.run_at, now()), max_attempts => queue_job.max_attempts, job_key => queue_job.job_key,
    priority => queue_job.priority);
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

CREATE OR REPLACE FUNCTION public.refuse_audit_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if new.before is distinct from old.before and not is_erased_side(new.before, old.before)
    or new.after is distinct from old.after and not is_erased_side(new.after, old.after)
  then
    raise exception 'rows of the audit log are never changed, except by an erasure';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.request_tier_of_player()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into tier_requests (tenant_id, project_id, player_id)
  select new.tenant_id, new.project_id, new.player_id
  where exists (select from vip_tiers t where t.tenant_id = new.tenant_id);
  if found then
    perform pg_notify('tier_requests', '');
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.stored_json(value jsonb, mark text DEFAULT 'e+00'::text)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
begin
  case jsonb_typeof(value)
    when 'object' then
      return '{' || coalesce((
        select string_agg(to_json(m.key)::text || ':' ||
          case when jsonb_typeof(m.value) = 'number' then stored_json(m.value, mark)
            else stored_json(m.value, 'E+00') end, ',')
        from jsonb_each(value) m), '') || '}';
    when 'array' then
      return '[' || coalesce((
        select string_agg(stored_json(e.value, 'E+00'), ',' order by e.ordinality)
        from jsonb_array_elements(value) with ordinality e), '') || ']';
    when 'number' then
      return value::text || case when scale(value::text::numeric) > 0
        or value::text::numeric between -9223372036854775808 and 18446744073709551615 then '' else mark end;
    else return value::text;
  end case;
end $function$;

CREATE OR REPLACE FUNCTION public.suppressed_address(address text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN "left"(lower(plain_address(address)), 600);

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

create table public.activity_profiles (
  tenant_id uuid not null,
  project_id uuid not null,
  timezone text not null,
  hours bigint[],
  counted_at timestamp with time zone not null,
  constraint activity_profiles_hours_check CHECK ((cardinality(hours) = 24)),
  constraint activity_profiles_pkey PRIMARY KEY (tenant_id, project_id),
  constraint activity_profiles_tenant_id_project_id_fkey FOREIGN KEY (tenant_id, project_id) REFERENCES projects(tenant_id, project_id)
);
-- row-level security of public.activity_profiles: enabled, forced
create policy every_tenant on activity_profiles for all to engagement_service using (true);
create policy own_tenant on activity_profiles for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.activity_profiles to engagement_api;
grant delete, insert, select, update on public.activity_profiles to engagement_service;

create table public.adapter_secrets (
  tenant_id uuid not null,
  project_id uuid not null,
  adapter_id uuid not null,
  secret_id uuid not null,
  secret bytea not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone,
  constraint adapter_secrets_pkey PRIMARY KEY (tenant_id, project_id, adapter_id, secret_id),
  constraint adapter_secrets_tenant_id_project_id_adapter_id_fkey FOREIGN KEY (tenant_id, project_id, adapter_id) REFERENCES adapters(tenant_id, project_id, adapter_id)
);
CREATE UNIQUE INDEX adapter_secrets_current ON public.adapter_secrets USING btree (tenant_id, project_id, adapter_id) WHERE (expires_at IS NULL);
CREATE INDEX adapter_secrets_expired ON public.adapter_secrets USING btree (expires_at) WHERE (expires_at IS NOT NULL);
-- row-level security of public.adapter_secrets: enabled, forced
create policy every_tenant on adapter_secrets for all to engagement_service using (true);
create policy own_tenant on adapter_secrets for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.adapter_secrets to engagement_api;
grant delete, insert, select, update on public.adapter_secrets to engagement_service;

create table public.adapter_webhooks (
  tenant_id uuid not null,
  project_id uuid not null,
  adapter_slug text not null,
  event_id uuid not null,
  name text not null,
  body_hash bytea not null,
  result jsonb,
  received_at timestamp with time zone not null,
  constraint adapter_webhooks_pkey PRIMARY KEY (tenant_id, adapter_slug, event_id)
);
CREATE INDEX adapter_webhooks_old ON public.adapter_webhooks USING btree (received_at);
-- row-level security of public.adapter_webhooks: enabled, forced
create policy every_tenant on adapter_webhooks for all to engagement_service using (true);
create policy own_tenant on adapter_webhooks for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.adapter_webhooks to engagement_api;
grant delete, insert, select, update on public.adapter_webhooks to engagement_service;

create table public.adapters (
  tenant_id uuid not null,
  project_id uuid not null,
  adapter_id uuid not null,
  slug text not null,
  kind text not null,
  base_url text,
  auth_type text not null,
  token bytea,
  timeout_ms integer not null,
  max_rps integer not null,
  max_in_flight integer not null,
  capabilities jsonb not null,
  is_active boolean not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint adapters_auth_type_check CHECK ((auth_type = ANY (ARRAY['none'::text, 'bearer'::text]))),
  constraint adapters_check CHECK (((kind = 'http'::text) = (base_url IS NOT NULL))),
  constraint adapters_check1 CHECK (((auth_type = 'bearer'::text) = (token IS NOT NULL))),
  constraint adapters_kind_check CHECK ((kind = ANY (ARRAY['http'::text, 'sandbox'::text]))),
  constraint adapters_pkey PRIMARY KEY (tenant_id, project_id, adapter_id),
  constraint adapters_slug UNIQUE (slug),
  constraint adapters_tenant_id_project_id_fkey FOREIGN KEY (tenant_id, project_id) REFERENCES projects(tenant_id, project_id)
);
CREATE UNIQUE INDEX adapters_active ON public.adapters USING btree (tenant_id, project_id) WHERE is_active;
-- row-level security of public.adapters: enabled, forced
create policy every_tenant on adapters for all to engagement_service using (true);
create policy own_tenant on adapters for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.adapters to engagement_api;
grant delete, insert, select, update on public.adapters to engagement_service;

create table public.alert_firings (
  tenant_id uuid not null,
  project_id uuid not null,
  alert_id uuid not null,
  from_at timestamp with time zone not null,
  to_at timestamp with time zone not null,
  facts jsonb not null,
  decided_at timestamp with time zone not null,
  constraint alert_firings_pkey PRIMARY KEY (tenant_id, project_id, alert_id, from_at, to_at),
  constraint alert_firings_tenant_id_project_id_alert_id_fkey FOREIGN KEY (tenant_id, project_id, alert_id) REFERENCES alerts(tenant_id, project_id, alert_id)
);
CREATE INDEX alert_firings_by_age ON public.alert_firings USING btree (decided_at);
-- row-level security of public.alert_firings: enabled, forced
create policy every_tenant on alert_firings for all to engagement_service using (true);
create policy own_tenant on alert_firings for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.alert_firings to engagement_api;
grant delete, insert, select, update on public.alert_firings to engagement_service;

create table public.alerts (
  tenant_id uuid not null,
  project_id uuid not null,
  alert_id uuid not null,
  name text not null,
  content jsonb not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  deleted_at timestamp with time zone,
  decided_until timestamp with time zone,
  next_at timestamp with time zone not null default '-infinity'::timestamp with time zone,
  failures integer not null default 0,
  error_code text,
  error_message text,
  failed_at timestamp with time zone,
  constraint alerts_pkey PRIMARY KEY (tenant_id, project_id, alert_id),
  constraint alerts_tenant_id_project_id_fkey FOREIGN KEY (tenant_id, project_id) REFERENCES projects(tenant_id, project_id)
);
CREATE INDEX alerts_due ON public.alerts USING btree (next_at) WHERE (deleted_at IS NULL);
CREATE INDEX alerts_listed ON public.alerts USING btree (tenant_id, project_id, created_at DESC, alert_id DESC) WHERE ((created_at > '-infinity'::timestamp with time zone) AND (deleted_at IS NULL));
-- row-level security of public.alerts: enabled, forced
create policy every_tenant on alerts for all to engagement_service using (true);
create policy own_tenant on alerts for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.alerts to engagement_api;
grant delete, insert, select, update on public.alerts to engagement_service;

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
  last_used_at timestamp with time zone,
  kind text not null default 'server'::text,
  allowed_origins text[] not null default '{}'::text[],
  expires_at timestamp with time zone,
  client_secret bytea,
  client_uses jsonb not null default '{}'::jsonb,
  constraint api_keys_allowed_origins_check CHECK (((kind = 'client'::text) OR (allowed_origins = '{}'::text[]))),
  constraint api_keys_client_secret_check CHECK (((client_secret IS NOT NULL) = (kind = 'client'::text))),
  constraint api_keys_client_uses_check CHECK ((jsonb_typeof(client_uses) = 'object'::text)),
  constraint api_keys_environment_check CHECK ((environment = ANY (ARRAY['dev'::text, 'stag'::text, 'prod'::text]))),
  constraint api_keys_ingest_burst_check CHECK ((ingest_burst > 0)),
  constraint api_keys_ingest_per_minute_check CHECK ((ingest_per_minute > 0)),
  constraint api_keys_kind_check CHECK ((kind = ANY (ARRAY['server'::text, 'client'::text]))),
  constraint api_keys_pkey PRIMARY KEY (tenant_id, key_id),
  constraint api_keys_public_id_key UNIQUE (public_id),
  constraint api_keys_tenant_id_project_id_fkey FOREIGN KEY (tenant_id, project_id) REFERENCES projects(tenant_id, project_id)
);
CREATE INDEX api_keys_by_age ON public.api_keys USING btree (tenant_id, project_id, created_at DESC, key_id DESC) WHERE (created_at > '-infinity'::timestamp with time zone);
-- row-level security of public.api_keys: enabled, forced
create policy every_tenant on api_keys for all to engagement_service using (true);
create policy own_tenant on api_keys for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
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
  constraint audit_log_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'editor'::text, 'viewer'::text, 'compliance'::text]))) NOT VALID,
  constraint audit_log_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id)
);
CREATE INDEX audit_log_by_resource ON public.audit_log USING btree (tenant_id, resource_id, occurred_at DESC, audit_id DESC);
CREATE INDEX audit_log_by_time ON public.audit_log USING btree (tenant_id, occurred_at DESC, audit_id DESC);
CREATE INDEX audit_log_by_user ON public.audit_log USING btree (tenant_id, user_id, occurred_at DESC, audit_id DESC);
CREATE INDEX audit_log_suppressions ON public.audit_log USING btree (tenant_id, audit_id) WHERE (resource_type = 'suppression'::text);
-- row-level security of public.audit_log: enabled, forced
create policy every_tenant on audit_log for all to engagement_service using (true);
create policy own_tenant on audit_log for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant insert, select on public.audit_log to engagement_api;
grant insert, select on public.audit_log to engagement_service;

create table public.bet_items (
  project_no integer not null,
  item_no bigint not null generated as identity,
  item_key uuid not null,
  item text not null,
  item_group text not null,
  constraint bet_items_pkey PRIMARY KEY (project_no, item_no),
  constraint bet_items_project_no_item_key_key UNIQUE (project_no, item_key)
);
-- row-level security of public.bet_items: enabled, forced
create policy every_tenant on bet_items for all to engagement_service using (true);
create policy own_tenant on bet_items for r to engagement_api using ((project_no IN ( SELECT p.project_no
   FROM projects p
  WHERE (p.tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)))));
grant select on public.bet_items to engagement_api;
grant delete, insert, select, update on public.bet_items to engagement_service;

create table public.bonus_breaches (
  tenant_id uuid not null,
  project_id uuid not null,
  grant_id uuid not null,
  kind bet_kind not null,
  bet_id text not null,
  stake numeric not null,
  max_bet numeric(38,0) not null,
  occurred_at timestamp with time zone not null,
  found_at timestamp with time zone not null,
  constraint bonus_breaches_pkey PRIMARY KEY (grant_id, kind, bet_id, tenant_id, project_id)
);
-- row-level security of public.bonus_breaches: enabled, forced
create policy every_tenant on bonus_breaches for all to engagement_service using (true);
create policy own_tenant on bonus_breaches for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.bonus_breaches to engagement_api;
grant delete, insert, select, update on public.bonus_breaches to engagement_service;

create table public.bonus_budgets (
  tenant_id uuid not null,
  project_id uuid not null,
  template_id uuid not null,
  used_base numeric(38,0) not null,
  constraint bonus_budgets_pkey PRIMARY KEY (tenant_id, project_id, template_id),
  constraint bonus_budgets_used_base_check CHECK ((used_base >= (0)::numeric))
) with (fillfactor=50, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=500);
-- row-level security of public.bonus_budgets: enabled, forced
create policy every_tenant on bonus_budgets for all to engagement_service using (true);
create policy own_tenant on bonus_budgets for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.bonus_budgets to engagement_api;
grant delete, insert, select, update on public.bonus_budgets to engagement_service;

create table public.bonus_campaign_budgets (
  tenant_id uuid not null,
  project_id uuid not null,
  campaign_id uuid not null,
  used_base numeric(38,0) not null default 0,
  used_grants integer not null default 0,
  released_to timestamp with time zone not null default now(),
  short_cost_base numeric(38,0),
  retry_cost_base numeric(38,0),
  retried_to uuid,
  day_from timestamp with time zone,
  day_to timestamp with time zone,
  day_used_base numeric(38,0) not null default 0,
  waits_until timestamp with time zone,
  constraint bonus_campaign_budgets_pkey PRIMARY KEY (tenant_id, project_id, campaign_id),
  constraint bonus_campaign_budgets_used_base_check CHECK ((used_base >= (0)::numeric)),
  constraint bonus_campaign_budgets_used_grants_check CHECK ((used_grants >= 0))
) with (fillfactor=50, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=500);
-- row-level security of public.bonus_campaign_budgets: enabled, forced
create policy every_tenant on bonus_campaign_budgets for all to engagement_service using (true);
create policy own_tenant on bonus_campaign_budgets for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.bonus_campaign_budgets to engagement_api;
grant delete, insert, select, update on public.bonus_campaign_budgets to engagement_service;

create table public.bonus_campaign_counts (
  tenant_id uuid not null,
  project_id uuid not null,
  campaign_id uuid not null,
  count_id uuid not null default gen_random_uuid(),
  status text not null,
  code text,
  members integer not null,
  cost_base numeric(38,0) not null,
  released_base numeric(38,0) not null,
  ended_unreleased_base numeric(38,0) not null,
  open_base numeric(38,0) not null,
  constraint bonus_campaign_counts_pkey PRIMARY KEY (tenant_id, project_id, campaign_id, count_id)
) with (fillfactor=50, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=500);
-- row-level security of public.bonus_campaign_counts: enabled, forced
create policy every_tenant on bonus_campaign_counts for all to engagement_service using (true);
create policy own_tenant on bonus_campaign_counts for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.bonus_campaign_counts to engagement_api;
grant delete, insert, select, update on public.bonus_campaign_counts to engagement_service;

create table public.bonus_campaign_releases (
  tenant_id uuid not null,
  project_id uuid not null,
  campaign_id uuid not null,
  released_to timestamp with time zone not null,
  constraint bonus_campaign_releases_pkey PRIMARY KEY (tenant_id, project_id, campaign_id)
) with (fillfactor=50, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=500);
-- row-level security of public.bonus_campaign_releases: enabled, forced
create policy every_tenant on bonus_campaign_releases for all to engagement_service using (true);
create policy own_tenant on bonus_campaign_releases for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.bonus_campaign_releases to engagement_api;
grant delete, insert, select, update on public.bonus_campaign_releases to engagement_service;

create table public.bonus_campaign_rows (
  tenant_id uuid not null,
  project_id uuid not null,
  campaign_id uuid not null,
  player_id uuid not null,
  status text not null default 'pending'::text,
  code text,
  grant_id uuid,
  cost_base bigint not null default 0,
  released_base bigint not null default 0,
  is_open boolean not null default false,
  terms_id uuid,
  deposit_transaction_id text,
  assigned_at timestamp with time zone,
  constraint bonus_campaign_rows_check CHECK (((code IS NULL) = (status <> ALL (ARRAY['skipped'::text, 'failed'::text])))),
  constraint bonus_campaign_rows_pkey PRIMARY KEY (player_id, campaign_id, tenant_id, project_id),
  constraint bonus_campaign_rows_reserved CHECK (((status <> 'reserved'::text) OR ((terms_id IS NOT NULL) AND (grant_id IS NULL)))),
  constraint bonus_campaign_rows_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'reserved'::text, 'sent'::text, 'granted'::text, 'skipped'::text, 'failed'::text])))
) with (fillfactor=80, autovacuum_vacuum_scale_factor=0.02, autovacuum_analyze_scale_factor=0.01);
CREATE INDEX bonus_campaign_rows_by_status ON public.bonus_campaign_rows USING btree (campaign_id, status, player_id, tenant_id, project_id);
CREATE INDEX bonus_campaign_rows_of_grant ON public.bonus_campaign_rows USING btree (grant_id, tenant_id, project_id) WHERE (grant_id IS NOT NULL);
-- row-level security of public.bonus_campaign_rows: enabled, forced
create policy every_tenant on bonus_campaign_rows for all to engagement_service using (true);
create policy own_tenant on bonus_campaign_rows for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.bonus_campaign_rows to engagement_api;
grant delete, insert, select, update on public.bonus_campaign_rows to engagement_service;

create table public.bonus_campaign_terms (
  tenant_id uuid not null,
  project_id uuid not null,
  campaign_id uuid not null,
  terms_id uuid not null,
  terms jsonb not null,
  exclusion_group text,
  adapter_slug text not null,
  currency text not null,
  deposit_amount numeric(38,0),
  bonus_amount numeric(38,0) not null,
  bonus_amount_base bigint not null,
  fx jsonb,
  base_fx jsonb,
  wagering_required numeric(38,0) not null,
  max_bet numeric(38,0),
  max_win_cap numeric(38,0),
  max_grants_per_player integer,
  grant_window_days integer,
  constraint bonus_campaign_terms_pkey PRIMARY KEY (campaign_id, terms_id, tenant_id, project_id)
);
-- row-level security of public.bonus_campaign_terms: enabled, forced
create policy every_tenant on bonus_campaign_terms for all to engagement_service using (true);
create policy own_tenant on bonus_campaign_terms for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.bonus_campaign_terms to engagement_api;
grant delete, insert, select, update on public.bonus_campaign_terms to engagement_service;

create table public.bonus_campaigns (
  tenant_id uuid not null,
  project_id uuid not null,
  campaign_id uuid not null,
  name text not null,
  template_id uuid not null,
  segment_id uuid not null,
  deposit_amount numeric(38,0),
  deposit_from text,
  currency_override text,
  schedule_at timestamp with time zone,
  max_liability bigint,
  max_grants integer,
  rate_per_second integer,
  status text not null,
  members integer not null default 0,
  is_filled boolean not null default false,
  filled_to uuid,
  last_error text,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  issued_at timestamp with time zone,
  finished_at timestamp with time zone,
  qualifying_product text,
  advertising text not null default 'direct'::text,
  issued_product text,
  release_error text,
  holdout_percent double precision not null default 0,
  daily_budget_base bigint,
  pace text not null default 'even'::text,
  constraint bonus_campaigns_advertising_check CHECK ((advertising = ANY (ARRAY['direct'::text, 'own_site'::text, 'public'::text]))),
  constraint bonus_campaigns_daily_budget_base CHECK ((daily_budget_base > 0)),
  constraint bonus_campaigns_deposit_from_check CHECK ((deposit_from = 'last_deposit'::text)),
  constraint bonus_campaigns_holdout_percent CHECK (((holdout_percent >= (0)::double precision) AND (holdout_percent <= (100)::double precision))),
  constraint bonus_campaigns_pace CHECK ((pace = ANY (ARRAY['even'::text, 'asap'::text]))),
  constraint bonus_campaigns_pkey PRIMARY KEY (tenant_id, project_id, campaign_id),
  constraint bonus_campaigns_qualifying_product_check CHECK ((qualifying_product = ANY (ARRAY['casino'::text, 'betting'::text, 'bingo'::text, 'lottery'::text, 'any'::text]))),
  constraint bonus_campaigns_status_check CHECK ((status = ANY (ARRAY['draft'::text, 'scheduled'::text, 'issuing'::text, 'issued'::text, 'paused'::text, 'cancelled'::text]))),
  constraint bonus_campaigns_tenant_id_project_id_fkey FOREIGN KEY (tenant_id, project_id) REFERENCES projects(tenant_id, project_id)
);
CREATE INDEX bonus_campaigns_by_age ON public.bonus_campaigns USING btree (tenant_id, project_id, created_at DESC, campaign_id DESC) WHERE (created_at > '-infinity'::timestamp with time zone);
CREATE INDEX bonus_campaigns_due ON public.bonus_campaigns USING btree (schedule_at) WHERE (status = 'scheduled'::text);
CREATE INDEX bonus_campaigns_open ON public.bonus_campaigns USING btree (campaign_id) WHERE ((status = ANY (ARRAY['issuing'::text, 'paused'::text, 'cancelled'::text])) AND (finished_at IS NULL));
CREATE INDEX bonus_campaigns_paced ON public.bonus_campaigns USING btree (tenant_id, project_id) WHERE ((daily_budget_base IS NOT NULL) AND (finished_at IS NULL));
-- row-level security of public.bonus_campaigns: enabled, forced
create policy every_tenant on bonus_campaigns for all to engagement_service using (true);
create policy own_tenant on bonus_campaigns for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.bonus_campaigns to engagement_api;
grant delete, insert, select, update on public.bonus_campaigns to engagement_service;

create table public.bonus_contributions (
  tenant_id uuid not null,
  project_id uuid not null,
  kind bet_kind not null,
  bet_id text not null,
  player_id uuid not null,
  state bet_status not null,
  stake numeric(38,0) not null,
  currency text not null,
  game_category text,
  occurred_at timestamp with time zone not null,
  revision bigint not null,
  grant_id uuid,
  contribution numeric,
  is_breach boolean not null default false,
  is_of_ledger boolean not null default false,
  rate jsonb,
  constraint bonus_contributions_check CHECK (((grant_id IS NOT NULL) OR ((contribution IS NULL) AND (NOT is_breach)))),
  constraint bonus_contributions_pkey PRIMARY KEY (bet_id, kind, tenant_id, project_id),
  constraint bonus_contributions_stake_check CHECK ((stake >= (0)::numeric))
) with (fillfactor=80, autovacuum_vacuum_scale_factor=0.02, autovacuum_analyze_scale_factor=0.01);
CREATE INDEX bonus_contributions_of_grant ON public.bonus_contributions USING btree (grant_id, occurred_at, kind, bet_id, tenant_id, project_id) WHERE (grant_id IS NOT NULL);
CREATE INDEX bonus_contributions_of_player ON public.bonus_contributions USING btree (player_id, occurred_at, kind, bet_id, tenant_id, project_id);
CREATE INDEX bonus_contributions_without_rate ON public.bonus_contributions USING btree (bet_id, kind, tenant_id, project_id) WHERE ((grant_id IS NOT NULL) AND (contribution IS NULL));
-- row-level security of public.bonus_contributions: enabled, forced
create policy every_tenant on bonus_contributions for all to engagement_service using (true);
create policy own_tenant on bonus_contributions for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.bonus_contributions to engagement_api;
grant delete, insert, select, update on public.bonus_contributions to engagement_service;

create table public.bonus_grant_events (
  tenant_id uuid not null,
  project_id uuid not null,
  grant_id uuid not null,
  seq integer not null,
  event text not null,
  source text not null,
  event_id uuid,
  from_status text,
  to_status text not null,
  occurred_at timestamp with time zone not null,
  received_at timestamp with time zone not null,
  data jsonb not null,
  log_event text,
  ingestion_id uuid,
  is_to_publish boolean not null default false,
  constraint bonus_grant_events_check CHECK (((log_event IS NULL) = (ingestion_id IS NULL))),
  constraint bonus_grant_events_pkey PRIMARY KEY (grant_id, seq, tenant_id, project_id),
  constraint bonus_grant_events_source_check CHECK ((source = ANY (ARRAY['api'::text, 'adapter'::text, 'webhook'::text, 'reconciliation'::text, 'clock'::text])))
) with (autovacuum_vacuum_scale_factor=0.02);
CREATE INDEX bonus_grant_events_to_publish ON public.bonus_grant_events USING btree (received_at, grant_id, seq) WHERE is_to_publish;
-- row-level security of public.bonus_grant_events: enabled, forced
create policy every_tenant on bonus_grant_events for all to engagement_service using (true);
create policy own_tenant on bonus_grant_events for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.bonus_grant_events to engagement_api;
grant delete, insert, select, update on public.bonus_grant_events to engagement_service;

create table public.bonus_grants (
  tenant_id uuid not null,
  project_id uuid not null,
  grant_id uuid not null,
  template_id uuid not null,
  template_version integer not null,
  player_id uuid not null,
  campaign_id uuid,
  granted_by_kind text not null,
  granted_by_id uuid,
  granted_by_user text,
  terms jsonb not null,
  exclusion_group text,
  slot integer not null,
  status text not null,
  outcome text not null,
  may_be_sent boolean not null default false,
  needs_review boolean not null default false,
  adapter_slug text not null,
  player_external_id text not null,
  order_body text not null,
  currency text not null,
  deposit_amount numeric(38,0),
  bonus_amount numeric(38,0) not null,
  bonus_amount_base bigint not null,
  fx jsonb,
  base_fx jsonb,
  wagering_required numeric(38,0) not null,
  wagering_progress numeric not null default 0,
  progress_source text not null default 'none'::text,
  max_bet numeric(38,0),
  max_win_cap numeric(38,0),
  max_bet_breaches integer not null default 0,
  released_amount numeric(38,0),
  released_amount_base bigint,
  facts jsonb not null default '{}'::jsonb,
  status_reason text,
  last_error jsonb,
  attempts integer not null default 0,
  calls integer not null default 0,
  next_attempt_at timestamp with time zone,
  cancel_requested_at timestamp with time zone,
  cancel_reason text,
  is_protection_seen boolean not null default false,
  created_at timestamp with time zone not null,
  activated_at timestamp with time zone,
  expires_at timestamp with time zone,
  completed_at timestamp with time zone,
  ended_at timestamp with time zone,
  updated_at timestamp with time zone not null,
  seq integer not null default 0,
  wagering_sum numeric not null default 0,
  counted_from timestamp with time zone,
  counted_until timestamp with time zone,
  recorded_from timestamp with time zone,
  first_called_at timestamp with time zone,
  recount_seq integer not null default 0,
  are_bets_recorded boolean not null default false,
  wagering_record text not null default 'open'::text,
  retry_early_at timestamp with time zone,
  merged_from uuid,
  deposit_transaction_id text,
  deposit_reversed_at timestamp with time zone,
  constraint bonus_grants_bonus_amount_base_check CHECK ((bonus_amount_base >= 0)),
  constraint bonus_grants_bonus_amount_check CHECK ((bonus_amount >= (0)::numeric)),
  constraint bonus_grants_check CHECK (((status <> 'pending'::text) OR (next_attempt_at IS NOT NULL) OR needs_review)),
  constraint bonus_grants_granted_by_kind_check CHECK ((granted_by_kind = ANY (ARRAY['manual'::text, 'api'::text, 'journey'::text, 'campaign'::text, 'auto'::text]))),
  constraint bonus_grants_outcome_check CHECK ((outcome = ANY (ARRAY['unsent'::text, 'sent'::text, 'unknown'::text, 'confirmed'::text, 'rejected'::text]))),
  constraint bonus_grants_pkey PRIMARY KEY (grant_id, tenant_id, project_id),
  constraint bonus_grants_progress_source_check CHECK ((progress_source = ANY (ARRAY['none'::text, 'events'::text, 'platform'::text]))),
  constraint bonus_grants_slot_check CHECK ((slot > 0)),
  constraint bonus_grants_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'active'::text, 'completed'::text, 'forfeited'::text, 'expired'::text, 'lost'::text, 'cancelled'::text, 'failed'::text]))),
  constraint bonus_grants_wagering_record_check CHECK ((wagering_record = ANY (ARRAY['open'::text, 'closed'::text, 'removed'::text])))
) with (fillfactor=80, autovacuum_vacuum_scale_factor=0.02, autovacuum_analyze_scale_factor=0.01);
CREATE INDEX bonus_grants_by_age ON public.bonus_grants USING btree (tenant_id, project_id, created_at DESC, grant_id DESC) WHERE (created_at > '-infinity'::timestamp with time zone);
CREATE INDEX bonus_grants_by_status ON public.bonus_grants USING btree (tenant_id, project_id, status, created_at DESC, grant_id DESC) WHERE (created_at > '-infinity'::timestamp with time zone);
CREATE INDEX bonus_grants_cost ON public.bonus_grants USING btree (template_id, tenant_id, project_id) INCLUDE (bonus_amount_base) WHERE (status <> ALL (ARRAY['cancelled'::text, 'failed'::text]));
CREATE INDEX bonus_grants_live ON public.bonus_grants USING btree (grant_id) WHERE (status = ANY (ARRAY['pending'::text, 'active'::text]));
CREATE INDEX bonus_grants_next ON public.bonus_grants USING btree (next_attempt_at) WHERE ((next_attempt_at IS NOT NULL) AND ((retry_early_at IS NULL) OR (outcome <> 'unsent'::text)));
CREATE INDEX bonus_grants_of_campaign ON public.bonus_grants USING btree (campaign_id, created_at DESC, grant_id DESC, tenant_id, project_id) WHERE (campaign_id IS NOT NULL);
CREATE INDEX bonus_grants_of_player ON public.bonus_grants USING btree (player_id, created_at DESC, grant_id DESC, tenant_id, project_id);
CREATE INDEX bonus_grants_of_template ON public.bonus_grants USING btree (template_id, created_at DESC, grant_id DESC, tenant_id, project_id);
CREATE UNIQUE INDEX bonus_grants_one_per_group ON public.bonus_grants USING btree (player_id, exclusion_group, tenant_id, project_id) WHERE ((exclusion_group IS NOT NULL) AND (status = ANY (ARRAY['pending'::text, 'active'::text])));
CREATE UNIQUE INDEX bonus_grants_one_per_slot ON public.bonus_grants USING btree (player_id, template_id, slot, tenant_id, project_id) WHERE (status <> ALL (ARRAY['cancelled'::text, 'failed'::text]));
CREATE INDEX bonus_grants_to_call ON public.bonus_grants USING btree (adapter_slug, tenant_id, project_id, next_attempt_at) WHERE ((next_attempt_at IS NOT NULL) AND ((retry_early_at IS NULL) OR (outcome <> 'unsent'::text)));
CREATE INDEX bonus_grants_to_close ON public.bonus_grants USING btree (ended_at, grant_id) WHERE ((ended_at IS NOT NULL) AND (wagering_record <> 'removed'::text));
CREATE INDEX bonus_grants_to_compare ON public.bonus_grants USING btree (adapter_slug, tenant_id, project_id, grant_id) WHERE ((status = ANY (ARRAY['pending'::text, 'active'::text])) AND ((status = 'active'::text) OR (outcome <> 'unsent'::text) OR may_be_sent));
CREATE INDEX bonus_grants_to_count ON public.bonus_grants USING btree (grant_id) WHERE ((activated_at IS NOT NULL) AND ((activated_at IS DISTINCT FROM counted_from) OR (LEAST(expires_at, ended_at) IS DISTINCT FROM counted_until)));
CREATE INDEX bonus_grants_to_look_up ON public.bonus_grants USING btree (grant_id) WHERE ((activated_at IS NOT NULL) AND ((NOT are_bets_recorded) OR (activated_at < COALESCE(recorded_from, created_at))));
CREATE INDEX bonus_grants_to_review ON public.bonus_grants USING btree (tenant_id, project_id, created_at DESC, grant_id DESC) WHERE needs_review;
CREATE INDEX bonus_grants_unsent_of_campaign ON public.bonus_grants USING btree (campaign_id, next_attempt_at, grant_id, tenant_id, project_id) WHERE ((campaign_id IS NOT NULL) AND (status = 'pending'::text) AND (outcome = 'unsent'::text));
-- row-level security of public.bonus_grants: enabled, forced
create policy every_tenant on bonus_grants for all to engagement_service using (true);
create policy own_tenant on bonus_grants for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.bonus_grants to engagement_api;
grant delete, insert, select, update on public.bonus_grants to engagement_service;

create table public.bonus_reconcile_positions (
  tenant_id uuid not null,
  project_id uuid not null,
  adapter_slug text not null,
  after_grant_id uuid not null,
  began_after uuid,
  constraint bonus_reconcile_positions_pkey PRIMARY KEY (tenant_id, project_id, adapter_slug)
) with (fillfactor=50, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=500);
-- row-level security of public.bonus_reconcile_positions: enabled, forced
create policy every_tenant on bonus_reconcile_positions for all to engagement_service using (true);
create policy own_tenant on bonus_reconcile_positions for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.bonus_reconcile_positions to engagement_api;
grant delete, insert, select, update on public.bonus_reconcile_positions to engagement_service;

create table public.bonus_templates (
  tenant_id uuid not null,
  project_id uuid not null,
  template_id uuid not null,
  name text not null,
  type text not null,
  config jsonb not null,
  wagering_requirement_multiplier numeric(5,2) not null,
  wagering_basis text not null,
  game_contribution jsonb,
  max_bet_during_wagering numeric(38,0),
  max_win_cap numeric(38,0),
  max_bet_action text not null,
  time_limit_hours integer,
  wallet_model text not null,
  product text not null,
  status text not null,
  max_grants_per_player integer,
  grant_window_days integer,
  exclusion_group text,
  budget_base bigint,
  min_kyc_level integer,
  eligible_segment_id uuid,
  version integer not null,
  licence_warnings jsonb not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  deleted_at timestamp with time zone,
  constraint bonus_templates_max_bet_action_check CHECK ((max_bet_action = ANY (ARRAY['flag'::text, 'forfeit'::text]))),
  constraint bonus_templates_pkey PRIMARY KEY (tenant_id, project_id, template_id),
  constraint bonus_templates_product_check CHECK ((product = ANY (ARRAY['casino'::text, 'betting'::text, 'bingo'::text, 'lottery'::text, 'any'::text]))),
  constraint bonus_templates_status_check CHECK ((status = ANY (ARRAY['active'::text, 'paused'::text]))),
  constraint bonus_templates_tenant_id_project_id_fkey FOREIGN KEY (tenant_id, project_id) REFERENCES projects(tenant_id, project_id),
  constraint bonus_templates_type_check CHECK ((type = ANY (ARRAY['deposit_match'::text, 'reload'::text, 'free_spins'::text, 'no_deposit'::text, 'cashback'::text, 'free_bet'::text]))),
  constraint bonus_templates_wagering_basis_check CHECK ((wagering_basis = ANY (ARRAY['bonus'::text, 'bonus_plus_deposit'::text, 'deposit'::text, 'winnings'::text]))),
  constraint bonus_templates_wallet_model_check CHECK ((wallet_model = ANY (ARRAY['sticky'::text, 'non_sticky'::text])))
);
CREATE INDEX bonus_templates_by_age ON public.bonus_templates USING btree (tenant_id, project_id, created_at DESC, template_id DESC) WHERE (created_at > '-infinity'::timestamp with time zone);
-- row-level security of public.bonus_templates: enabled, forced
create policy every_tenant on bonus_templates for all to engagement_service using (true);
create policy own_tenant on bonus_templates for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.bonus_templates to engagement_api;
grant delete, insert, select, update on public.bonus_templates to engagement_service;

create table public.campaign_counts (
  tenant_id uuid not null,
  project_id uuid not null,
  campaign_id uuid not null,
  counted text not null,
  variant_id uuid not null,
  at timestamp with time zone not null,
  count_id uuid not null default gen_random_uuid(),
  messages integer not null,
  constraint campaign_counts_pkey PRIMARY KEY (tenant_id, project_id, campaign_id, counted, variant_id, at, count_id)
) with (fillfactor=50, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=500);
-- row-level security of public.campaign_counts: enabled, forced
create policy every_tenant on campaign_counts for all to engagement_service using (true);
create policy own_tenant on campaign_counts for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.campaign_counts to engagement_api;
grant delete, insert, select, update on public.campaign_counts to engagement_service;

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
create policy own_tenant on campaign_variants for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
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
  is_counted boolean not null default true,
  holdout_percent double precision not null default 0,
  send_time text,
  constraint campaigns_channel_check CHECK ((channel = ANY (ARRAY['email'::text, 'sms'::text, 'push'::text]))),
  constraint campaigns_goal_attribution_days_check CHECK ((goal_attribution_days > 0)),
  constraint campaigns_holdout_percent CHECK (((holdout_percent >= (0)::double precision) AND (holdout_percent <= (100)::double precision))),
  constraint campaigns_pkey PRIMARY KEY (tenant_id, project_id, campaign_id),
  constraint campaigns_send_time CHECK ((send_time = 'player'::text)),
  constraint campaigns_status_check CHECK ((status = ANY (ARRAY['draft'::text, 'scheduled'::text, 'sending'::text, 'sent'::text, 'cancelled'::text]))),
  constraint campaigns_tenant_id_project_id_fkey FOREIGN KEY (tenant_id, project_id) REFERENCES projects(tenant_id, project_id),
  constraint campaigns_type_check CHECK ((type = ANY (ARRAY['broadcast'::text, 'triggered'::text, 'journey'::text])))
);
CREATE INDEX campaigns_by_age ON public.campaigns USING btree (tenant_id, project_id, created_at DESC, campaign_id DESC) WHERE (created_at > '-infinity'::timestamp with time zone);
CREATE INDEX campaigns_due ON public.campaigns USING btree (schedule_at) WHERE ((status = 'scheduled'::text) AND (deleted_at IS NULL));
CREATE INDEX campaigns_sending ON public.campaigns USING btree (tenant_id, project_id) WHERE (status = 'sending'::text);
-- row-level security of public.campaigns: enabled, forced
create policy every_tenant on campaigns for all to engagement_service using (true);
create policy own_tenant on campaigns for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.campaigns to engagement_api;
grant delete, insert, select, update on public.campaigns to engagement_service;

create table public.console_sessions (
  id_hash bytea not null,
  user_id text not null,
  display_name text,
  provider_sid text,
  id_token text,
  created_at timestamp with time zone not null,
  last_seen_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  constraint console_sessions_id_hash_check CHECK ((length(id_hash) = 32)),
  constraint console_sessions_pkey PRIMARY KEY (id_hash)
);
CREATE INDEX console_sessions_by_expiry ON public.console_sessions USING btree (expires_at);
CREATE INDEX console_sessions_by_sid ON public.console_sessions USING btree (provider_sid) WHERE (provider_sid IS NOT NULL);
CREATE INDEX console_sessions_by_user ON public.console_sessions USING btree (user_id);
grant delete, insert, select, update on public.console_sessions to engagement_service;

create table public.console_used_once (
  id_hash bytea not null,
  expires_at timestamp with time zone not null,
  constraint console_used_once_id_hash_check CHECK ((length(id_hash) = 32)),
  constraint console_used_once_pkey PRIMARY KEY (id_hash)
);
CREATE INDEX console_used_once_by_expiry ON public.console_used_once USING btree (expires_at);
grant delete, insert, select, update on public.console_used_once to engagement_service;

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
create policy own_tenant on currencies for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.currencies to engagement_api;
grant delete, insert, select, update on public.currencies to engagement_service;

create table public.dashboards (
  tenant_id uuid not null,
  project_id uuid not null,
  dashboard_id uuid not null,
  name text not null,
  content jsonb not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  deleted_at timestamp with time zone,
  constraint dashboards_pkey PRIMARY KEY (tenant_id, project_id, dashboard_id),
  constraint dashboards_tenant_id_project_id_fkey FOREIGN KEY (tenant_id, project_id) REFERENCES projects(tenant_id, project_id)
);
CREATE INDEX dashboards_listed ON public.dashboards USING btree (tenant_id, project_id, created_at DESC, dashboard_id DESC) WHERE ((created_at > '-infinity'::timestamp with time zone) AND (deleted_at IS NULL));
-- row-level security of public.dashboards: enabled, forced
create policy every_tenant on dashboards for all to engagement_service using (true);
create policy own_tenant on dashboards for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.dashboards to engagement_api;
grant delete, insert, select, update on public.dashboards to engagement_service;

create table public.database_epochs (
  epoch integer not null,
  identity text not null,
  started_at timestamp with time zone not null default now(),
  ready_at timestamp with time zone,
  noted_xid xid8,
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

create table public.deposit_limits (
  player_id uuid not null,
  occurred_at timestamp with time zone not null,
  amount numeric(38,0) not null,
  period text not null,
  currency text not null,
  tenant_id uuid not null,
  project_id uuid not null,
  constraint deposit_limits_pkey PRIMARY KEY (player_id, occurred_at, period, currency, amount, tenant_id, project_id)
);
-- row-level security of public.deposit_limits: enabled, forced
create policy every_tenant on deposit_limits for all to engagement_service using (true);
create policy own_tenant on deposit_limits for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.deposit_limits to engagement_api;
grant delete, insert, select, update on public.deposit_limits to engagement_service;

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
create policy own_tenant on dirty_players for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.dirty_players to engagement_api;
grant delete, insert, select, update on public.dirty_players to engagement_service;

create table public.duplicate_letters (
  tenant_id uuid not null,
  project_id uuid not null,
  day date not null,
  letters integer not null,
  constraint duplicate_letters_pkey PRIMARY KEY (tenant_id, project_id, day)
);
-- row-level security of public.duplicate_letters: enabled, forced
create policy every_tenant on duplicate_letters for all to engagement_service using (true);
create policy own_tenant on duplicate_letters for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.duplicate_letters to engagement_api;
grant delete, insert, select, update on public.duplicate_letters to engagement_service;

create table public.effect_reports (
  tenant_id uuid not null,
  project_id uuid not null,
  experiment_id uuid not null,
  report jsonb not null,
  stored_at timestamp with time zone not null,
  round text not null default ''::text,
  constraint effect_reports_pkey PRIMARY KEY (tenant_id, project_id, experiment_id, round)
);
-- row-level security of public.effect_reports: enabled, forced
create policy every_tenant on effect_reports for all to engagement_service using (true);
create policy own_tenant on effect_reports for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.effect_reports to engagement_api;
grant delete, insert, select, update on public.effect_reports to engagement_service;

create table public.erasures (
  tenant_id uuid not null,
  erasure_id uuid not null,
  project_id uuid not null,
  player_id uuid not null,
  status text not null,
  reason text not null,
  basis text not null,
  requested_by text not null,
  requested_at timestamp with time zone not null,
  token_hash bytea,
  confirm_before timestamp with time zone not null,
  confirmed_by text,
  confirmed_at timestamp with time zone,
  steps jsonb not null default '[]'::jsonb,
  last_error text,
  completed_at timestamp with time zone,
  constraint erasures_check CHECK (((status = 'requested'::text) = (token_hash IS NOT NULL))),
  constraint erasures_check1 CHECK (((status = 'requested'::text) = (confirmed_at IS NULL))),
  constraint erasures_check2 CHECK (((confirmed_at IS NULL) = (confirmed_by IS NULL))),
  constraint erasures_check3 CHECK (((status = 'done'::text) = (completed_at IS NOT NULL))),
  constraint erasures_pkey PRIMARY KEY (tenant_id, erasure_id),
  constraint erasures_status_check CHECK ((status = ANY (ARRAY['requested'::text, 'running'::text, 'done'::text]))),
  constraint erasures_tenant_id_project_id_fkey FOREIGN KEY (tenant_id, project_id) REFERENCES projects(tenant_id, project_id)
);
CREATE INDEX erasures_by_age ON public.erasures USING btree (tenant_id, requested_at DESC, erasure_id DESC) WHERE (requested_at > '-infinity'::timestamp with time zone);
CREATE UNIQUE INDEX erasures_of_player ON public.erasures USING btree (tenant_id, project_id, player_id);
CREATE INDEX erasures_open ON public.erasures USING btree (confirmed_at) WHERE (status = 'running'::text);
-- row-level security of public.erasures: enabled, forced
create policy every_tenant on erasures for all to engagement_service using (true);
create policy own_tenant on erasures for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.erasures to engagement_api;
grant delete, insert, select, update on public.erasures to engagement_service;

create table public.evaluated_players (
  player_id uuid not null,
  tenant_id uuid not null,
  project_id uuid not null,
  version bigint not null,
  stamp text not null,
  totals text,
  traits text not null default ''::text,
  edge_ms bigint not null default 0,
  since_ms bigint not null default 0,
  recent text not null default ''::text,
  constraint evaluated_players_pkey PRIMARY KEY (player_id, tenant_id, project_id)
) with (fillfactor=60);
-- row-level security of public.evaluated_players: enabled, forced
create policy every_tenant on evaluated_players for all to engagement_service using (true);
create policy own_tenant on evaluated_players for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.evaluated_players to engagement_api;
grant delete, insert, select, update on public.evaluated_players to engagement_service;

create table public.event_corrections (
  tenant_id uuid not null,
  correction_id bigint not null generated as identity,
  project_id uuid not null,
  reference text not null,
  queued_at timestamp with time zone not null default now(),
  ordinal integer not null,
  is_tried boolean not null default false,
  constraint event_corrections_correction_id_key UNIQUE (correction_id),
  constraint event_corrections_pkey PRIMARY KEY (tenant_id, correction_id)
);
-- row-level security of public.event_corrections: enabled, forced
create policy every_tenant on event_corrections for all to engagement_service using (true);
create policy own_tenant on event_corrections for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.event_corrections to engagement_api;
grant delete, insert, select, update on public.event_corrections to engagement_service;

create table public.event_ids (
  event_key uuid not null,
  tenant_id uuid not null,
  project_id uuid not null,
  player_id uuid not null,
  log_partition smallint not null,
  log_offset bigint not null,
  claimed_at timestamp with time zone not null,
  constraint event_ids_pkey PRIMARY KEY (event_key, tenant_id, project_id)
);
CREATE INDEX event_ids_by_age ON public.event_ids USING btree (claimed_at);
-- row-level security of public.event_ids: enabled, forced
create policy every_tenant on event_ids for all to engagement_service using (true);
create policy own_tenant on event_ids for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.event_ids to engagement_api;
grant delete, insert, select, update on public.event_ids to engagement_service;

create table public.event_subscriptions (
  tenant_id uuid not null,
  project_id uuid not null,
  subscription_id uuid not null,
  name text not null,
  url text not null,
  events text[] not null,
  segment_ids uuid[],
  status text not null,
  last_sequence bigint not null default 0,
  counted_at_sequence bigint not null default 0,
  dropped bigint not null default 0,
  last_dropped_at timestamp with time zone,
  replay_from timestamp with time zone,
  replay_until bigint,
  replay_position bigint,
  replayed bigint,
  replay_ended_at timestamp with time zone,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  deleted_at timestamp with time zone,
  constraint event_subscriptions_pkey PRIMARY KEY (tenant_id, project_id, subscription_id),
  constraint event_subscriptions_status_check CHECK ((status = ANY (ARRAY['active'::text, 'paused'::text]))),
  constraint event_subscriptions_tenant_id_project_id_fkey FOREIGN KEY (tenant_id, project_id) REFERENCES projects(tenant_id, project_id)
);
CREATE INDEX event_subscriptions_listed ON public.event_subscriptions USING btree (tenant_id, project_id, created_at DESC, subscription_id DESC) WHERE ((created_at > '-infinity'::timestamp with time zone) AND (deleted_at IS NULL));
-- row-level security of public.event_subscriptions: enabled, forced
create policy every_tenant on event_subscriptions for all to engagement_service using (true);
create policy own_tenant on event_subscriptions for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.event_subscriptions to engagement_api;
grant delete, insert, select, update on public.event_subscriptions to engagement_service;

create table public.first_deposit_pages (
  tenant_id uuid not null,
  project_id uuid not null,
  reference text not null default ''::text,
  ordinal integer not null default '-1'::integer,
  done_xid xid8,
  constraint first_deposit_pages_pkey PRIMARY KEY (tenant_id, project_id),
  constraint first_deposit_pages_tenant_id_project_id_fkey FOREIGN KEY (tenant_id, project_id) REFERENCES projects(tenant_id, project_id)
);
-- row-level security of public.first_deposit_pages: enabled, forced
create policy every_tenant on first_deposit_pages for all to engagement_service using (true);
create policy own_tenant on first_deposit_pages for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.first_deposit_pages to engagement_api;
grant delete, insert, select, update on public.first_deposit_pages to engagement_service;

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
create policy own_tenant on fx_rate_changes for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
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
create policy own_tenant on fx_rates for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.fx_rates to engagement_api;
grant delete, insert, select, update on public.fx_rates to engagement_service;

create table public.global_holdout_shares (
  tenant_id uuid not null,
  project_id uuid not null,
  changes integer not null,
  holdout_percent double precision not null,
  changed_at timestamp with time zone not null,
  constraint global_holdout_shares_holdout_percent_check CHECK (((holdout_percent >= (0)::double precision) AND (holdout_percent <= (10)::double precision))),
  constraint global_holdout_shares_pkey PRIMARY KEY (tenant_id, project_id, changes),
  constraint global_holdout_shares_tenant_id_project_id_fkey FOREIGN KEY (tenant_id, project_id) REFERENCES projects(tenant_id, project_id)
);
-- row-level security of public.global_holdout_shares: enabled, forced
create policy every_tenant on global_holdout_shares for all to engagement_service using (true);
create policy own_tenant on global_holdout_shares for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.global_holdout_shares to engagement_api;
grant delete, insert, select, update on public.global_holdout_shares to engagement_service;

create table public.global_holdouts (
  tenant_id uuid not null,
  project_id uuid not null,
  holdout_percent double precision not null,
  changes integer not null default 1,
  changed_at timestamp with time zone not null,
  constraint global_holdouts_holdout_percent_check CHECK (((holdout_percent >= (0)::double precision) AND (holdout_percent <= (10)::double precision))),
  constraint global_holdouts_pkey PRIMARY KEY (tenant_id, project_id),
  constraint global_holdouts_tenant_id_project_id_fkey FOREIGN KEY (tenant_id, project_id) REFERENCES projects(tenant_id, project_id)
);
-- row-level security of public.global_holdouts: enabled, forced
create policy every_tenant on global_holdouts for all to engagement_service using (true);
create policy own_tenant on global_holdouts for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.global_holdouts to engagement_api;
grant delete, insert, select, update on public.global_holdouts to engagement_service;

create table public.idempotency_keys (
  tenant_id uuid not null,
  route text not null,
  idempotency_key uuid not null,
  request_hash bytea not null,
  status smallint not null,
  response text not null,
  created_at timestamp with time zone not null,
  settles_at timestamp with time zone,
  constraint idempotency_keys_pkey PRIMARY KEY (tenant_id, route, idempotency_key)
);
CREATE INDEX idempotency_keys_by_age ON public.idempotency_keys USING btree (tenant_id, created_at);
-- row-level security of public.idempotency_keys: enabled, forced
create policy every_tenant on idempotency_keys for all to engagement_service using (true);
create policy own_tenant on idempotency_keys for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.idempotency_keys to engagement_api;
grant delete, insert, select, update on public.idempotency_keys to engagement_service;

create table public.insight_export_chunks (
  tenant_id uuid not null,
  export_id uuid not null,
  run_id uuid not null,
  chunk_no integer not null,
  encrypted bytea not null,
  constraint insight_export_chunks_pkey PRIMARY KEY (tenant_id, export_id, run_id, chunk_no)
);
-- row-level security of public.insight_export_chunks: enabled, forced
create policy every_tenant on insight_export_chunks for all to engagement_service using (true);
create policy own_tenant on insight_export_chunks for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.insight_export_chunks to engagement_api;
grant delete, insert, select, update on public.insight_export_chunks to engagement_service;

create table public.insight_exports (
  tenant_id uuid not null,
  export_id uuid not null,
  project_id uuid not null,
  status text not null,
  query json not null,
  cell json,
  format text not null,
  contact text[] not null,
  reason text,
  requested_by text not null,
  requested_at timestamp with time zone not null,
  completed_at timestamp with time zone,
  expires_at timestamp with time zone not null,
  run_id uuid,
  rows bigint not null default 0,
  bytes bigint not null default 0,
  chunks integer not null default 0,
  last_error text,
  constraint insight_exports_check CHECK (((status = 'ready'::text) = (run_id IS NOT NULL))),
  constraint insight_exports_check1 CHECK (((status = 'queued'::text) = (completed_at IS NULL))),
  constraint insight_exports_check2 CHECK (((cardinality(contact) = 0) OR ((cell IS NOT NULL) AND (reason IS NOT NULL)))),
  constraint insight_exports_format_check CHECK ((format = ANY (ARRAY['csv'::text, 'parquet'::text]))),
  constraint insight_exports_pkey PRIMARY KEY (tenant_id, export_id),
  constraint insight_exports_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'ready'::text, 'failed'::text]))),
  constraint insight_exports_tenant_id_project_id_fkey FOREIGN KEY (tenant_id, project_id) REFERENCES projects(tenant_id, project_id)
);
CREATE INDEX insight_exports_expired ON public.insight_exports USING btree (expires_at);
CREATE INDEX insight_exports_queued ON public.insight_exports USING btree (tenant_id, requested_at, export_id) WHERE (status = 'queued'::text);
-- row-level security of public.insight_exports: enabled, forced
create policy every_tenant on insight_exports for all to engagement_service using (true);
create policy own_tenant on insight_exports for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.insight_exports to engagement_api;
grant delete, insert, select, update on public.insight_exports to engagement_service;

create table public.insight_notices (
  tenant_id uuid not null,
  project_id uuid not null,
  notice_id uuid not null,
  owner_id uuid not null,
  receiver jsonb not null,
  lane text not null,
  content json not null,
  status text not null default 'pending'::text,
  attempts integer not null default 0,
  next_at timestamp with time zone not null,
  error text,
  created_at timestamp with time zone not null,
  completed_at timestamp with time zone,
  is_claimed boolean not null default false,
  constraint insight_notices_check CHECK (((status = 'pending'::text) = (completed_at IS NULL))),
  constraint insight_notices_pkey PRIMARY KEY (tenant_id, notice_id),
  constraint insight_notices_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'sent'::text, 'failed'::text]))),
  constraint insight_notices_tenant_id_project_id_fkey FOREIGN KEY (tenant_id, project_id) REFERENCES projects(tenant_id, project_id)
);
CREATE INDEX insight_notices_by_age ON public.insight_notices USING btree (created_at);
CREATE INDEX insight_notices_by_owner ON public.insight_notices USING btree (tenant_id, project_id, owner_id, created_at DESC, notice_id DESC);
CREATE INDEX insight_notices_due ON public.insight_notices USING btree (next_at) WHERE (status = 'pending'::text);
CREATE INDEX insight_notices_waiting ON public.insight_notices USING btree (tenant_id, lane, next_at) WHERE (status = 'pending'::text);
-- row-level security of public.insight_notices: enabled, forced
create policy every_tenant on insight_notices for all to engagement_service using (true);
create policy own_tenant on insight_notices for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.insight_notices to engagement_api;
grant delete, insert, select, update on public.insight_notices to engagement_service;

create table public.insights (
  tenant_id uuid not null,
  project_id uuid not null,
  insight_id uuid not null,
  name text not null,
  content jsonb not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  deleted_at timestamp with time zone,
  constraint insights_pkey PRIMARY KEY (tenant_id, project_id, insight_id),
  constraint insights_tenant_id_project_id_fkey FOREIGN KEY (tenant_id, project_id) REFERENCES projects(tenant_id, project_id)
);
CREATE INDEX insights_listed ON public.insights USING btree (tenant_id, project_id, created_at DESC, insight_id DESC) WHERE ((created_at > '-infinity'::timestamp with time zone) AND (deleted_at IS NULL));
-- row-level security of public.insights: enabled, forced
create policy every_tenant on insights for all to engagement_service using (true);
create policy own_tenant on insights for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.insights to engagement_api;
grant delete, insert, select, update on public.insights to engagement_service;

create table public.installation_secrets (
  name text not null,
  encrypted bytea not null,
  constraint installation_secrets_pkey PRIMARY KEY (name)
);
grant delete, insert, select, update on public.installation_secrets to engagement_service;

create table public.journey_match_rests (
  tenant_id uuid not null,
  project_id uuid not null,
  log_id text not null,
  partition integer not null,
  log_offset bigint not null,
  ends boolean not null,
  after_run_id uuid not null,
  looked_at timestamp with time zone not null default now(),
  noted_at timestamp with time zone not null,
  constraint journey_match_rests_pkey PRIMARY KEY (tenant_id, project_id, log_id, partition, log_offset)
);
CREATE INDEX journey_match_rests_in_turn ON public.journey_match_rests USING btree (looked_at);
CREATE INDEX journey_match_rests_noted ON public.journey_match_rests USING btree (noted_at);
-- row-level security of public.journey_match_rests: enabled, forced
create policy every_tenant on journey_match_rests for all to engagement_service using (true);
create policy own_tenant on journey_match_rests for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.journey_match_rests to engagement_api;
grant delete, insert, select, update on public.journey_match_rests to engagement_service;

create table public.journey_occasions (
  tenant_id uuid not null,
  project_id uuid not null,
  journey_id uuid not null,
  occasion text not null,
  begun_at timestamp with time zone not null default now(),
  constraint journey_occasions_pkey PRIMARY KEY (tenant_id, project_id, journey_id, occasion)
);
-- row-level security of public.journey_occasions: enabled, forced
create policy every_tenant on journey_occasions for all to engagement_service using (true);
create policy own_tenant on journey_occasions for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.journey_occasions to engagement_api;
grant delete, insert, select, update on public.journey_occasions to engagement_service;

create table public.journey_queues (
  tenant_id uuid not null,
  project_id uuid not null,
  queue_id uuid not null,
  journey_id uuid not null,
  provider_id uuid not null,
  channel text not null,
  constraint journey_queues_channel_check CHECK ((channel = ANY (ARRAY['email'::text, 'sms'::text, 'push'::text]))),
  constraint journey_queues_pkey PRIMARY KEY (tenant_id, project_id, queue_id)
);
-- row-level security of public.journey_queues: enabled, forced
create policy every_tenant on journey_queues for all to engagement_service using (true);
create policy own_tenant on journey_queues for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.journey_queues to engagement_api;
grant delete, insert, select, update on public.journey_queues to engagement_service;

create table public.journey_readers (
  log_id text not null,
  partition integer not null,
  reading_to bigint not null,
  constraint journey_readers_pkey PRIMARY KEY (log_id, partition)
);
grant delete, insert, select, update on public.journey_readers to engagement_service;

create table public.journey_runs (
  tenant_id uuid not null,
  project_id uuid not null,
  run_id uuid not null,
  journey_id uuid not null,
  version integer not null,
  player_id uuid not null,
  status text not null,
  node_id text not null,
  seq integer not null,
  entered_at timestamp with time zone,
  due_at timestamp with time zone,
  woken_by jsonb,
  trigger_key text not null,
  re_entry text not null,
  trigger jsonb not null,
  context jsonb not null,
  partition smallint,
  log_id text,
  from_offset bigint,
  outcome text,
  error_code text,
  cancelled_by text,
  started_at timestamp with time zone not null,
  completed_at timestamp with time zone,
  changed_xid xid8 not null default pg_current_xact_id(),
  is_archived boolean not null default false,
  is_held_out_globally boolean not null default false,
  is_of_service boolean not null default false,
  constraint journey_runs_outcome_check CHECK ((outcome = ANY (ARRAY['ended'::text, 'exited'::text, 'goal'::text, 'held_out'::text]))),
  constraint journey_runs_pkey PRIMARY KEY (run_id, tenant_id, project_id),
  constraint journey_runs_re_entry_check CHECK ((re_entry = ANY (ARRAY['once'::text, 'after_exit'::text, 'always'::text]))),
  constraint journey_runs_status_check CHECK ((status = ANY (ARRAY['running'::text, 'completed'::text, 'failed'::text, 'cancelled'::text])))
) with (fillfactor=50);
CREATE INDEX journey_runs_by_change ON public.journey_runs USING btree (changed_xid, run_id);
CREATE INDEX journey_runs_by_status ON public.journey_runs USING btree (journey_id, status, started_at DESC, run_id DESC, tenant_id, project_id);
CREATE INDEX journey_runs_listed ON public.journey_runs USING btree (journey_id, started_at DESC, run_id DESC, tenant_id, project_id);
CREATE INDEX journey_runs_of_player ON public.journey_runs USING btree (player_id, started_at DESC, run_id DESC, tenant_id, project_id);
CREATE INDEX journey_runs_of_version ON public.journey_runs USING btree (journey_id, version, tenant_id, project_id) WHERE (status = 'running'::text);
CREATE UNIQUE INDEX journey_runs_once ON public.journey_runs USING btree (journey_id, player_id, trigger_key, tenant_id, project_id);
CREATE INDEX journey_runs_running ON public.journey_runs USING btree (run_id) WHERE (status = 'running'::text);
CREATE INDEX journey_runs_running_of_player ON public.journey_runs USING btree (player_id, journey_id, tenant_id, project_id) WHERE (status = 'running'::text);
CREATE UNIQUE INDEX journey_runs_single ON public.journey_runs USING btree (journey_id, player_id, tenant_id, project_id) WHERE ((status = 'running'::text) AND (re_entry <> 'always'::text));
CREATE INDEX journey_runs_to_archive ON public.journey_runs USING btree (completed_at, run_id) WHERE ((status <> 'running'::text) AND (NOT is_archived));
-- row-level security of public.journey_runs: enabled, forced
create policy every_tenant on journey_runs for all to engagement_service using (true);
create policy own_tenant on journey_runs for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.journey_runs to engagement_api;
grant delete, insert, select, update on public.journey_runs to engagement_service;

create table public.journey_steps (
  tenant_id uuid not null,
  project_id uuid not null,
  run_id uuid not null,
  seq integer not null,
  node_id text not null,
  node_type text not null,
  status text not null,
  outcome text not null,
  next_node_id text,
  entered_at timestamp with time zone not null,
  completed_at timestamp with time zone not null,
  ref uuid,
  error_code text,
  changed_xid xid8 not null default pg_current_xact_id(),
  constraint journey_steps_pkey PRIMARY KEY (run_id, seq, tenant_id, project_id),
  constraint journey_steps_status_check CHECK ((status = ANY (ARRAY['completed'::text, 'skipped'::text, 'failed'::text])))
);
CREATE INDEX journey_steps_by_change ON public.journey_steps USING btree (changed_xid, run_id, seq);
-- row-level security of public.journey_steps: enabled, forced
create policy every_tenant on journey_steps for all to engagement_service using (true);
create policy own_tenant on journey_steps for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.journey_steps to engagement_api;
grant delete, insert, select, update on public.journey_steps to engagement_service;

create table public.journey_timers (
  tenant_id uuid not null,
  project_id uuid not null,
  due_at timestamp with time zone not null,
  run_id uuid not null,
  seq integer not null,
  constraint journey_timers_pkey PRIMARY KEY (tenant_id, project_id, due_at, run_id)
) with (autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_cost_delay=0);
CREATE INDEX journey_timers_due ON public.journey_timers USING btree (due_at, run_id);
-- row-level security of public.journey_timers: enabled, forced
create policy every_tenant on journey_timers for all to engagement_service using (true);
create policy own_tenant on journey_timers for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.journey_timers to engagement_api;
grant delete, insert, select, update on public.journey_timers to engagement_service;

create table public.journey_versions (
  tenant_id uuid not null,
  project_id uuid not null,
  journey_id uuid not null,
  version integer not null,
  trigger jsonb not null,
  graph jsonb not null,
  settings jsonb not null,
  published_at timestamp with time zone not null,
  published_by text,
  constraint journey_versions_pkey PRIMARY KEY (tenant_id, project_id, journey_id, version),
  constraint journey_versions_tenant_id_project_id_journey_id_fkey FOREIGN KEY (tenant_id, project_id, journey_id) REFERENCES journeys(tenant_id, project_id, journey_id)
);
CREATE INDEX journey_versions_in_clear ON public.journey_versions USING btree (tenant_id, project_id, journey_id, version) WHERE jsonb_path_exists(graph, '$."nodes"[*]?(@."type" == "call_webhook")."headers".*?(@.type() == "string")'::jsonpath);
-- row-level security of public.journey_versions: enabled, forced
create policy every_tenant on journey_versions for all to engagement_service using (true);
create policy own_tenant on journey_versions for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.journey_versions to engagement_api;
grant delete, insert, select, update on public.journey_versions to engagement_service;

create table public.journey_waits (
  tenant_id uuid not null,
  project_id uuid not null,
  event text not null,
  player_id uuid not null,
  run_id uuid not null,
  seq integer not null,
  partition smallint not null,
  log_id text not null,
  from_offset bigint not null,
  since timestamp with time zone not null,
  is_checked boolean not null default false,
  constraint journey_waits_pkey PRIMARY KEY (tenant_id, project_id, event, player_id, run_id)
);
CREATE INDEX journey_waits_of_run ON public.journey_waits USING btree (run_id, tenant_id, project_id);
CREATE INDEX journey_waits_unchecked ON public.journey_waits USING btree (since) WHERE (NOT is_checked);
-- row-level security of public.journey_waits: enabled, forced
create policy every_tenant on journey_waits for all to engagement_service using (true);
create policy own_tenant on journey_waits for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.journey_waits to engagement_api;
grant delete, insert, select, update on public.journey_waits to engagement_service;

create table public.journey_watched (
  tenant_id uuid not null,
  project_id uuid not null,
  event text not null,
  journey_id uuid not null,
  version integer not null,
  kind text not null,
  constraint journey_watched_kind_check CHECK ((kind = ANY (ARRAY['wait'::text, 'exit'::text, 'goal'::text, 'segment_exited'::text]))),
  constraint journey_watched_pkey PRIMARY KEY (tenant_id, project_id, event, journey_id, version, kind)
);
CREATE INDEX journey_watched_of_version ON public.journey_watched USING btree (journey_id, version, tenant_id, project_id);
-- row-level security of public.journey_watched: enabled, forced
create policy every_tenant on journey_watched for all to engagement_service using (true);
create policy own_tenant on journey_watched for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.journey_watched to engagement_api;
grant delete, insert, select, update on public.journey_watched to engagement_service;

create table public.journeys (
  tenant_id uuid not null,
  project_id uuid not null,
  journey_id uuid not null,
  name text not null,
  status text not null,
  trigger jsonb not null,
  graph jsonb not null,
  settings jsonb not null,
  version integer,
  trigger_event text,
  activated_at timestamp with time zone,
  paused_at timestamp with time zone,
  is_held boolean not null default false,
  resuming_since timestamp with time zone,
  last_error text,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  deleted_at timestamp with time zone,
  constraint journeys_pkey PRIMARY KEY (tenant_id, project_id, journey_id),
  constraint journeys_status_check CHECK ((status = ANY (ARRAY['draft'::text, 'active'::text, 'paused'::text]))),
  constraint journeys_tenant_id_project_id_fkey FOREIGN KEY (tenant_id, project_id) REFERENCES projects(tenant_id, project_id)
);
CREATE INDEX journeys_in_clear ON public.journeys USING btree (tenant_id, project_id, journey_id) WHERE jsonb_path_exists(graph, '$."nodes"[*]?(@."type" == "call_webhook")."headers".*?(@.type() == "string")'::jsonpath);
CREATE INDEX journeys_listed ON public.journeys USING btree (tenant_id, project_id, created_at, journey_id) WHERE (deleted_at IS NULL);
CREATE INDEX journeys_listening ON public.journeys USING btree (tenant_id, project_id, trigger_event) WHERE ((status = 'active'::text) AND (deleted_at IS NULL));
-- row-level security of public.journeys: enabled, forced
create policy every_tenant on journeys for all to engagement_service using (true);
create policy own_tenant on journeys for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.journeys to engagement_api;
grant delete, insert, select, update on public.journeys to engagement_service;

create table public.kept_protections (
  tenant_id uuid not null,
  address_hash bytea not null,
  protection text not null,
  since timestamp with time zone not null,
  until timestamp with time zone,
  reason text,
  constraint kept_protections_check CHECK (((protection = 'cooldown'::text) = (until IS NOT NULL))),
  constraint kept_protections_check1 CHECK (((protection = 'suppression'::text) = (reason IS NOT NULL))),
  constraint kept_protections_pkey PRIMARY KEY (tenant_id, address_hash, protection),
  constraint kept_protections_protection_check CHECK ((protection = ANY (ARRAY['self_exclusion'::text, 'ban'::text, 'cooldown'::text, 'suppression'::text]))),
  constraint kept_protections_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id)
);
-- row-level security of public.kept_protections: enabled, forced
create policy every_tenant on kept_protections for all to engagement_service using (true);
create policy own_tenant on kept_protections for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.kept_protections to engagement_api;
grant delete, insert, select, update on public.kept_protections to engagement_service;

create table public.kyc_calls (
  tenant_id uuid not null,
  project_id uuid not null,
  player_id uuid not null,
  call_id uuid not null,
  action text not null,
  body text not null,
  attempts integer not null default 0,
  next_attempt_at timestamp with time zone,
  last_error text,
  created_at timestamp with time zone not null,
  claimed_until timestamp with time zone,
  is_superseded boolean not null default false,
  constraint kyc_calls_action_check CHECK ((action = ANY (ARRAY['initiate'::text, 'update'::text]))),
  constraint kyc_calls_pkey PRIMARY KEY (call_id, tenant_id, project_id)
);
CREATE INDEX kyc_calls_by_age ON public.kyc_calls USING btree (created_at);
CREATE INDEX kyc_calls_due ON public.kyc_calls USING btree (next_attempt_at) WHERE (next_attempt_at IS NOT NULL);
CREATE INDEX kyc_calls_of_player ON public.kyc_calls USING btree (player_id, tenant_id, project_id);
CREATE INDEX kyc_calls_of_project ON public.kyc_calls USING btree (tenant_id, project_id, next_attempt_at) WHERE (next_attempt_at IS NOT NULL);
CREATE INDEX kyc_calls_old ON public.kyc_calls USING btree (created_at) WHERE (next_attempt_at IS NULL);
-- row-level security of public.kyc_calls: enabled, forced
create policy every_tenant on kyc_calls for all to engagement_service using (true);
create policy own_tenant on kyc_calls for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.kyc_calls to engagement_api;
grant delete, insert, select, update on public.kyc_calls to engagement_service;

create table public.kyc_decisions (
  tenant_id uuid not null,
  project_id uuid not null,
  player_id uuid not null,
  decision_id uuid not null,
  kind text not null,
  source text not null,
  occurred_at timestamp with time zone not null,
  received_at timestamp with time zone not null,
  level integer,
  expires_at timestamp with time zone,
  applied boolean not null,
  kyc_status text not null,
  decided_by text,
  adapter_slug text,
  reason text,
  requirements text[],
  event text,
  is_unpublished boolean not null default false,
  constraint kyc_decisions_kind_check CHECK ((kind = ANY (ARRAY['submitted'::text, 'approved'::text, 'level_upgraded'::text, 'lapsed'::text, 'expired'::text, 'rejected'::text, 'revoked'::text]))),
  constraint kyc_decisions_pkey PRIMARY KEY (decision_id, tenant_id, project_id),
  constraint kyc_decisions_source_check CHECK ((source = ANY (ARRAY['api'::text, 'webhook'::text, 'event'::text, 'clock'::text])))
);
CREATE INDEX kyc_decisions_approved ON public.kyc_decisions USING btree (player_id, tenant_id, project_id, occurred_at DESC) WHERE ((kind = 'approved'::text) AND (level IS NOT NULL));
CREATE INDEX kyc_decisions_decided ON public.kyc_decisions USING btree (player_id, tenant_id, project_id, occurred_at DESC) WHERE (kind <> 'submitted'::text);
CREATE INDEX kyc_decisions_of_player ON public.kyc_decisions USING btree (player_id, tenant_id, project_id, occurred_at DESC, decision_id DESC);
CREATE INDEX kyc_decisions_submitted ON public.kyc_decisions USING btree (player_id, tenant_id, project_id, occurred_at DESC) WHERE (kind = 'submitted'::text);
CREATE INDEX kyc_decisions_unpublished ON public.kyc_decisions USING btree (received_at, decision_id) WHERE is_unpublished;
-- row-level security of public.kyc_decisions: enabled, forced
create policy every_tenant on kyc_decisions for all to engagement_service using (true);
create policy own_tenant on kyc_decisions for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.kyc_decisions to engagement_api;
grant delete, insert, select, update on public.kyc_decisions to engagement_service;

create table public.ledger (
  log_offset bigint not null,
  occurred_at timestamp with time zone not null,
  base_amount bigint,
  base_payout bigint,
  rate_ts timestamp with time zone,
  ingestion_id uuid not null,
  player_id uuid not null,
  project_no integer not null,
  event money_event not null,
  ordinal integer not null,
  event_index smallint not null,
  log_partition smallint not null,
  rate_is_inverse boolean,
  reference text not null,
  currency text,
  amount numeric(38,0),
  payout numeric(38,0),
  rate numeric,
  movement_id text,
  reason text,
  bonus_stake numeric(38,0),
  bonus_payout numeric(38,0),
  base_bonus_stake bigint,
  base_bonus_payout bigint,
  detail_hash integer,
  item_no bigint,
  constraint ledger_pkey PRIMARY KEY (project_no, reference, ordinal)
);
CREATE INDEX ledger_by_rate ON public.ledger USING btree (project_no, currency, occurred_at, reference, ordinal) WHERE ((rate IS NOT NULL) OR ((amount IS NOT NULL) AND (base_amount IS NULL)) OR ((payout IS NOT NULL) AND (base_payout IS NULL)));
CREATE INDEX ledger_pending ON public.ledger USING btree (ingestion_id) WHERE (((amount IS NOT NULL) AND (base_amount IS NULL)) OR ((payout IS NOT NULL) AND (base_payout IS NULL)));
-- row-level security of public.ledger: enabled, forced
create policy every_tenant on ledger for all to engagement_service using (true);
create policy own_tenant on ledger for r to engagement_api using ((project_no IN ( SELECT p.project_no
   FROM projects p
  WHERE (p.tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)))));
grant select on public.ledger to engagement_api;
grant delete, insert, select, update on public.ledger to engagement_service;

create table public.ledger_adjustments (
  tenant_id uuid not null,
  project_id uuid not null,
  adjustment_id bigint not null generated as identity,
  reference text not null,
  base_amount bigint,
  base_payout bigint,
  rate numeric,
  rate_ts timestamp with time zone,
  rate_is_inverse boolean,
  adjusted_at timestamp with time zone not null,
  ordinal integer not null,
  base_bonus_stake bigint,
  base_bonus_payout bigint,
  constraint ledger_adjustments_pkey PRIMARY KEY (tenant_id, project_id, adjustment_id)
);
CREATE INDEX ledger_adjustments_by_row ON public.ledger_adjustments USING btree (tenant_id, project_id, reference, ordinal);
-- row-level security of public.ledger_adjustments: enabled, forced
create policy every_tenant on ledger_adjustments for all to engagement_service using (true);
create policy own_tenant on ledger_adjustments for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.ledger_adjustments to engagement_api;
grant delete, insert, select, update on public.ledger_adjustments to engagement_service;

create table public.licence_history (
  tenant_id uuid not null,
  project_id uuid not null,
  reference text not null default ''::text,
  ordinal integer not null default '-1'::integer,
  is_ledger_read boolean not null default false,
  constraint licence_history_pkey PRIMARY KEY (tenant_id, project_id),
  constraint licence_history_tenant_id_project_id_fkey FOREIGN KEY (tenant_id, project_id) REFERENCES projects(tenant_id, project_id)
);
-- row-level security of public.licence_history: enabled, forced
create policy every_tenant on licence_history for all to engagement_service using (true);
create policy own_tenant on licence_history for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.licence_history to engagement_api;
grant delete, insert, select, update on public.licence_history to engagement_service;

create table public.member_ranges (
  tenant_id uuid not null,
  project_id uuid not null,
  work text not null,
  owner_id uuid not null,
  occasion text not null,
  from_player_id uuid not null,
  until_player_id uuid,
  members_before timestamp with time zone,
  constraint member_ranges_pkey PRIMARY KEY (tenant_id, project_id, owner_id, occasion, from_player_id),
  constraint member_ranges_work_check CHECK ((work = ANY (ARRAY['campaign'::text, 'journey'::text])))
);
CREATE INDEX member_ranges_turns ON public.member_ranges USING btree (work, owner_id, occasion, from_player_id);
-- row-level security of public.member_ranges: enabled, forced
create policy every_tenant on member_ranges for all to engagement_service using (true);
create policy own_tenant on member_ranges for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.member_ranges to engagement_api;
grant delete, insert, select, update on public.member_ranges to engagement_service;

create table public.memberships (
  tenant_id uuid not null,
  user_id text not null,
  role text not null,
  created_at timestamp with time zone not null default now(),
  accepted_at timestamp with time zone default now(),
  constraint memberships_pkey PRIMARY KEY (tenant_id, user_id),
  constraint memberships_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'editor'::text, 'viewer'::text, 'compliance'::text]))),
  constraint memberships_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id)
);
CREATE INDEX memberships_by_user ON public.memberships USING btree (user_id);
-- row-level security of public.memberships: enabled, forced
create policy every_tenant on memberships for all to engagement_service using (true);
create policy own_tenant on memberships for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.memberships to engagement_api;
grant delete, insert, select, update on public.memberships to engagement_service;

create table public.merged_addresses (
  tenant_id uuid not null,
  project_id uuid not null,
  player_id uuid not null,
  channel text not null,
  address_key text not null,
  constraint merged_addresses_channel_check CHECK ((channel = ANY (ARRAY['email'::text, 'sms'::text, 'push'::text, 'external_id'::text]))),
  constraint merged_addresses_pkey PRIMARY KEY (address_key, channel, player_id, tenant_id, project_id)
);
CREATE INDEX merged_addresses_of_player ON public.merged_addresses USING btree (player_id, tenant_id, project_id);
-- row-level security of public.merged_addresses: enabled, forced
create policy every_tenant on merged_addresses for all to engagement_service using (true);
create policy own_tenant on merged_addresses for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.merged_addresses to engagement_api;
grant delete, insert, select, update on public.merged_addresses to engagement_service;

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
  journey_id uuid,
  queue_id uuid,
  defers_quiet_hours boolean not null default false,
  merged_from uuid,
  gated_at timestamp with time zone,
  machine_opened_at timestamp with time zone,
  claimed_until timestamp with time zone,
  assigned_at timestamp with time zone,
  is_own_hour boolean,
  constraint message_sends_channel_check CHECK ((channel = ANY (ARRAY['email'::text, 'sms'::text, 'push'::text]))),
  constraint message_sends_pkey PRIMARY KEY (send_id, tenant_id, project_id),
  constraint message_sends_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'sending'::text, 'sent'::text, 'delivered'::text, 'opened'::text, 'clicked'::text, 'bounced'::text, 'failed'::text, 'capped'::text])))
) with (fillfactor=80);
CREATE INDEX message_sends_blocked_by_code ON public.message_sends USING btree (tenant_id, project_id, error_code, enqueued_at DESC, send_id DESC) WHERE (error_code = ANY (ARRAY['SKIPPED_SELF_EXCLUDED'::text, 'SKIPPED_COOLDOWN'::text, 'SKIPPED_AT_RISK'::text, 'SKIPPED_BANNED'::text]));
CREATE INDEX message_sends_by_change ON public.message_sends USING btree (changed_xid, send_id);
CREATE INDEX message_sends_by_player ON public.message_sends USING btree (player_id, counted_at, tenant_id, project_id);
CREATE INDEX message_sends_by_provider_message ON public.message_sends USING btree (tenant_id, provider_id, provider_message_id) WHERE (provider_message_id IS NOT NULL);
CREATE UNIQUE INDEX message_sends_once ON public.message_sends USING btree (campaign_id, player_id, dedup_key, tenant_id, project_id);
CREATE UNIQUE INDEX message_sends_once_per_node ON public.message_sends USING btree (journey_run_id, dedup_key, tenant_id, project_id) WHERE (journey_run_id IS NOT NULL);
CREATE INDEX message_sends_open ON public.message_sends USING btree (tenant_id, project_id, COALESCE(queue_id, campaign_id), send_id, COALESCE(retry_at, '-infinity'::timestamp with time zone)) WHERE (status = ANY (ARRAY['queued'::text, 'sending'::text]));
CREATE INDEX message_sends_sending ON public.message_sends USING btree (COALESCE(claimed_until, '-infinity'::timestamp with time zone)) WHERE (status = 'sending'::text);
CREATE INDEX message_sends_unavailable ON public.message_sends USING btree (tenant_id, project_id, campaign_id, send_id) WHERE ((status = 'failed'::text) AND (error_code = 'PROVIDER_UNAVAILABLE'::text));
-- row-level security of public.message_sends: enabled, forced
create policy every_tenant on message_sends for all to engagement_service using (true);
create policy own_tenant on message_sends for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.message_sends to engagement_api;
grant delete, insert, select, update on public.message_sends to engagement_service;

create table public.message_stages (
  tenant_id uuid not null,
  project_id uuid not null,
  stage_id bigint not null generated as identity,
  send_id uuid not null,
  stage text not null,
  reached_at timestamp with time zone not null,
  constraint message_stages_pkey PRIMARY KEY (tenant_id, project_id, stage_id),
  constraint message_stages_stage_check CHECK ((stage = ANY (ARRAY['sent'::text, 'opened'::text, 'clicked'::text, 'bounced'::text])))
) with (autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_cost_delay=0);
CREATE INDEX message_stages_in_order ON public.message_stages USING btree (stage_id);
-- row-level security of public.message_stages: enabled, forced
create policy every_tenant on message_stages for all to engagement_service using (true);
create policy own_tenant on message_stages for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.message_stages to engagement_api;
grant delete, insert, select, update on public.message_stages to engagement_service;

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
  credentials_refused jsonb,
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
create policy own_tenant on messaging_providers for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.messaging_providers to engagement_api;
grant delete, insert, select, update on public.messaging_providers to engagement_service;

create table public.mirror_positions (
  name text not null,
  changed_xid xid8 not null,
  row_id uuid not null,
  epoch integer not null default 0,
  constraint mirror_positions_pkey PRIMARY KEY (name)
);
grant delete, insert, select, update on public.mirror_positions to engagement_service;

create table public.open_withdrawals (
  player_id uuid not null,
  tenant_id uuid not null,
  project_id uuid not null,
  reference text not null,
  constraint open_withdrawals_pkey PRIMARY KEY (reference, tenant_id, project_id)
);
CREATE INDEX open_withdrawals_of_player ON public.open_withdrawals USING btree (player_id, tenant_id, project_id);
-- row-level security of public.open_withdrawals: enabled, forced
create policy every_tenant on open_withdrawals for all to engagement_service using (true);
create policy own_tenant on open_withdrawals for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.open_withdrawals to engagement_api;
grant delete, insert, select, update on public.open_withdrawals to engagement_service;

create table public.player_changes (
  tenant_id uuid not null,
  project_id uuid not null,
  changed_xid xid8 not null default pg_current_xact_id(),
  change_id uuid not null default new_id(),
  player_count integer not null,
  player_ids uuid[] not null,
  noted_at timestamp with time zone not null default now(),
  constraint player_changes_pkey PRIMARY KEY (tenant_id, change_id)
);
CREATE INDEX player_changes_in_order ON public.player_changes USING btree (changed_xid, change_id);
-- row-level security of public.player_changes: enabled, forced
create policy every_tenant on player_changes for all to engagement_service using (true);
create policy own_tenant on player_changes for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.player_changes to engagement_api;
grant delete, insert, select, update on public.player_changes to engagement_service;

create table public.player_exclusions (
  tenant_id uuid not null,
  project_id uuid not null,
  exclusion_id uuid not null,
  player_id uuid not null,
  kind text not null,
  since timestamp with time zone not null,
  accepted_at timestamp with time zone not null,
  recorded_at timestamp with time zone not null,
  ends_at timestamp with time zone,
  source text not null,
  ingestion_id uuid,
  event_index smallint,
  lifted_at timestamp with time zone,
  ended_at timestamp with time zone,
  end_source text,
  end_ingestion_id uuid,
  end_event_index smallint,
  constraint player_exclusions_check CHECK (((kind = 'cooldown'::text) = (ends_at IS NOT NULL))),
  constraint player_exclusions_check1 CHECK (((ended_at IS NULL) = (end_source IS NULL))),
  constraint player_exclusions_end_source_check CHECK ((end_source = ANY (ARRAY['event'::text, 'operator'::text, 'merge'::text]))),
  constraint player_exclusions_kind_check CHECK ((kind = ANY (ARRAY['self_exclusion'::text, 'cooldown'::text]))),
  constraint player_exclusions_pkey PRIMARY KEY (tenant_id, project_id, exclusion_id),
  constraint player_exclusions_source_check CHECK ((source = ANY (ARRAY['event'::text, 'operator'::text, 'merge'::text, 'before_records'::text, 'erasure'::text])))
);
CREATE INDEX player_exclusions_by_end ON public.player_exclusions USING btree (tenant_id, project_id, LEAST(ended_at, ends_at)) WHERE (LEAST(ended_at, ends_at) IS NOT NULL);
CREATE INDEX player_exclusions_listed ON public.player_exclusions USING btree (tenant_id, project_id, accepted_at DESC, exclusion_id DESC) WHERE (accepted_at > '-infinity'::timestamp with time zone);
CREATE INDEX player_exclusions_of_player ON public.player_exclusions USING btree (player_id, tenant_id, project_id);
CREATE INDEX player_exclusions_open ON public.player_exclusions USING btree (tenant_id, project_id, accepted_at DESC, exclusion_id DESC) WHERE ((accepted_at > '-infinity'::timestamp with time zone) AND (ended_at IS NULL) AND (ends_at IS NULL));
-- row-level security of public.player_exclusions: enabled, forced
create policy every_tenant on player_exclusions for all to engagement_service using (true);
create policy own_tenant on player_exclusions for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.player_exclusions to engagement_api;
grant delete, insert, select, update on public.player_exclusions to engagement_service;

create table public.player_export_chunks (
  tenant_id uuid not null,
  export_id uuid not null,
  run_id uuid not null,
  chunk_no integer not null,
  encrypted bytea not null,
  constraint player_export_chunks_pkey PRIMARY KEY (tenant_id, export_id, run_id, chunk_no)
);
-- row-level security of public.player_export_chunks: enabled, forced
create policy every_tenant on player_export_chunks for all to engagement_service using (true);
create policy own_tenant on player_export_chunks for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.player_export_chunks to engagement_api;
grant delete, insert, select, update on public.player_export_chunks to engagement_service;

create table public.player_exports (
  tenant_id uuid not null,
  export_id uuid not null,
  project_id uuid not null,
  player_id uuid not null,
  status text not null,
  requested_by text not null,
  requested_at timestamp with time zone not null,
  completed_at timestamp with time zone,
  expires_at timestamp with time zone not null,
  run_id uuid,
  files jsonb not null default '[]'::jsonb,
  bytes bigint not null default 0,
  chunks integer not null default 0,
  last_error text,
  constraint player_exports_check CHECK (((status = 'ready'::text) = (run_id IS NOT NULL))),
  constraint player_exports_check1 CHECK (((status = 'queued'::text) = (completed_at IS NULL))),
  constraint player_exports_pkey PRIMARY KEY (tenant_id, export_id),
  constraint player_exports_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'ready'::text, 'failed'::text]))),
  constraint player_exports_tenant_id_project_id_fkey FOREIGN KEY (tenant_id, project_id) REFERENCES projects(tenant_id, project_id)
);
CREATE INDEX player_exports_expired ON public.player_exports USING btree (expires_at);
CREATE INDEX player_exports_of_player ON public.player_exports USING btree (player_id, tenant_id, project_id);
CREATE UNIQUE INDEX player_exports_queued ON public.player_exports USING btree (tenant_id, project_id, player_id) WHERE (status = 'queued'::text);
-- row-level security of public.player_exports: enabled, forced
create policy every_tenant on player_exports for all to engagement_service using (true);
create policy own_tenant on player_exports for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.player_exports to engagement_api;
grant delete, insert, select, update on public.player_exports to engagement_service;

create table public.player_identities (
  tenant_id uuid not null,
  project_id uuid not null,
  anonymous_id text not null,
  player_id uuid not null,
  linked_at timestamp with time zone not null,
  constraint player_identities_pkey PRIMARY KEY (anonymous_id, tenant_id, project_id)
);
CREATE INDEX player_identities_of_player ON public.player_identities USING btree (player_id, tenant_id, project_id);
-- row-level security of public.player_identities: enabled, forced
create policy every_tenant on player_identities for all to engagement_service using (true);
create policy own_tenant on player_identities for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
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
  is_erased boolean not null default false,
  constraint player_merges_pkey PRIMARY KEY (player_id, tenant_id, project_id)
);
CREATE INDEX player_merges_by_survivor ON public.player_merges USING btree (into_player_id, tenant_id, project_id);
CREATE INDEX player_merges_erased ON public.player_merges USING btree (player_id) WHERE is_erased;
CREATE INDEX player_merges_in_clickhouse ON public.player_merges USING btree (merged_at) WHERE (rewritten_at IS NULL);
-- row-level security of public.player_merges: enabled, forced
create policy every_tenant on player_merges for all to engagement_service using (true);
create policy own_tenant on player_merges for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.player_merges to engagement_api;
grant delete, insert, select, update on public.player_merges to engagement_service;

create table public.player_tier_history (
  tenant_id uuid not null,
  project_id uuid not null,
  player_id uuid not null,
  entry_id bigint not null generated as identity,
  from_code text,
  to_code text,
  trigger text not null,
  context jsonb not null,
  occurred_at timestamp with time zone not null,
  constraint player_tier_history_pkey PRIMARY KEY (player_id, entry_id, tenant_id, project_id),
  constraint player_tier_history_trigger_check CHECK ((trigger = ANY (ARRAY['auto'::text, 'manual'::text, 'reset'::text])))
);
CREATE INDEX player_tier_history_listed ON public.player_tier_history USING btree (tenant_id, project_id, occurred_at DESC, entry_id DESC) WHERE (occurred_at > '-infinity'::timestamp with time zone);
-- row-level security of public.player_tier_history: enabled, forced
create policy every_tenant on player_tier_history for all to engagement_service using (true);
create policy own_tenant on player_tier_history for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.player_tier_history to engagement_api;
grant delete, insert, select, update on public.player_tier_history to engagement_service;

create table public.player_totals (
  tenant_id uuid not null,
  project_id uuid not null,
  player_id uuid not null,
  first_seen_at timestamp with time zone not null,
  listed_at timestamp with time zone not null,
  total_deposited bigint not null default 0,
  total_withdrawn bigint not null default 0,
  total_wagered bigint not null default 0,
  total_won bigint not null default 0,
  bet_count bigint not null default 0,
  session_count bigint not null default 0,
  pending_conversions bigint not null default 0,
  updated_at timestamp with time zone not null,
  changed_xid xid8 not null default pg_current_xact_id(),
  last_active_at timestamp with time zone default '-infinity'::timestamp with time zone,
  tier_demoted_at timestamp with time zone,
  total_bonus_wagered bigint not null default 0,
  total_bonus_won bigint not null default 0,
  total_credited bigint not null default 0,
  total_debited bigint not null default 0,
  seen_at timestamp with time zone,
  first_deposit_at timestamp with time zone,
  constraint player_totals_pkey PRIMARY KEY (player_id, tenant_id, project_id)
) with (fillfactor=70);
CREATE INDEX player_totals_by_last_seen ON public.player_totals USING btree (tenant_id, project_id, listed_at DESC, player_id DESC) WHERE (listed_at > '-infinity'::timestamp with time zone);
-- row-level security of public.player_totals: enabled, forced
create policy every_tenant on player_totals for all to engagement_service using (true);
create policy own_tenant on player_totals for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
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
  tier_locked boolean not null default false,
  tier_pending_code text,
  kyc_requested_level integer,
  kyc_expires_at timestamp with time zone,
  kyc_decided_by text,
  kyc_provider_ref text,
  kyc_revision integer not null default 0,
  was_banned boolean not null default false,
  barred_until timestamp with time zone default 
CASE
    WHEN (self_excluded OR (status = ANY (ARRAY['self_excluded'::text, 'banned'::text])) OR was_banned) THEN 'infinity'::timestamp with time zone
    ELSE cooldown_until
END,
  email_key text default address_key('email'::text, email),
  sms_key text default address_key('sms'::text, phone),
  push_key text default address_key('push'::text,
CASE
    WHEN (jsonb_typeof((custom_attributes -> 'push_token'::text)) = 'string'::text) THEN (custom_attributes ->> 'push_token'::text)
    ELSE NULL::text
END),
  erased_at timestamp with time zone,
  identified_at timestamp with time zone,
  churn_model text,
  churn_as_of timestamp with time zone,
  ltv_model text,
  ltv_as_of timestamp with time zone,
  session_hours bytea,
  has_dated_traits boolean not null default false,
  constraint players_kyc_status_check CHECK ((kyc_status = ANY (ARRAY['none'::text, 'pending'::text, 'approved'::text, 'rejected'::text, 'expired'::text, 'revoked'::text]))) NOT VALID,
  constraint players_pkey PRIMARY KEY (player_id, tenant_id, project_id),
  constraint players_status_check CHECK ((status = ANY (ARRAY['active'::text, 'self_excluded'::text, 'banned'::text, 'deleted'::text, 'conflict'::text])))
);
CREATE INDEX players_by_email ON public.players USING btree (email, tenant_id, project_id) WHERE (email IS NOT NULL);
CREATE INDEX players_by_email_key ON public.players USING btree (email_key, tenant_id, barred_until, project_id) WHERE (email_key IS NOT NULL);
CREATE UNIQUE INDEX players_by_external_id ON public.players USING btree (external_id, tenant_id, project_id) WHERE (external_id IS NOT NULL);
CREATE INDEX players_by_phone ON public.players USING btree (phone, tenant_id, project_id) WHERE (phone IS NOT NULL);
CREATE INDEX players_by_push_key ON public.players USING btree (push_key, tenant_id, barred_until) WHERE (push_key IS NOT NULL);
CREATE INDEX players_by_rare_status ON public.players USING btree (tenant_id, project_id, status) WHERE (status <> 'active'::text);
CREATE INDEX players_by_sms_key ON public.players USING btree (sms_key, tenant_id, barred_until, project_id) WHERE (sms_key IS NOT NULL);
CREATE INDEX players_by_telegram_id ON public.players USING btree (telegram_id, tenant_id, project_id) WHERE (telegram_id IS NOT NULL);
CREATE INDEX players_erased ON public.players USING btree (player_id, tenant_id, project_id) WHERE (erased_at IS NOT NULL);
CREATE INDEX players_kyc_lapsing ON public.players USING btree (kyc_expires_at) WHERE ((kyc_expires_at IS NOT NULL) AND (kyc_status = 'approved'::text) AND (deleted_at IS NULL));
CREATE INDEX players_kyc_pending ON public.players USING btree (tenant_id, project_id, created_at DESC, player_id DESC) WHERE ((kyc_status = 'pending'::text) AND (deleted_at IS NULL));
CREATE INDEX players_not_contactable ON public.players USING btree (tenant_id, project_id) WHERE (self_excluded OR (status = ANY (ARRAY['self_excluded'::text, 'banned'::text])) OR (cooldown_until IS NOT NULL));
-- row-level security of public.players: enabled, forced
create policy every_tenant on players for all to engagement_service using (true);
create policy own_tenant on players for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
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
  project_no integer not null generated as identity,
  constraint projects_by_number UNIQUE (project_no),
  constraint projects_pkey PRIMARY KEY (tenant_id, project_id),
  constraint projects_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id)
);
-- row-level security of public.projects: enabled, forced
create policy every_tenant on projects for all to engagement_service using (true);
create policy own_tenant on projects for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.projects to engagement_api;
grant delete, insert, select, update on public.projects to engagement_service;

create table public.push_receipts (
  tenant_id uuid not null,
  receipt_id bigint not null generated as identity,
  project_id uuid not null,
  player_id uuid not null,
  send_id uuid not null,
  step text not null,
  at timestamp with time zone not null,
  constraint push_receipts_pkey PRIMARY KEY (tenant_id, receipt_id),
  constraint push_receipts_step_check CHECK ((step = ANY (ARRAY['opened'::text, 'clicked'::text])))
);
-- row-level security of public.push_receipts: enabled, forced
create policy every_tenant on push_receipts for all to engagement_service using (true);
create policy own_tenant on push_receipts for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.push_receipts to engagement_api;
grant delete, insert, select, update on public.push_receipts to engagement_service;

create table public.reconciliations (
  tenant_id uuid not null,
  ended_at timestamp with time zone not null,
  differences bigint not null,
  constraint reconciliations_pkey PRIMARY KEY (tenant_id),
  constraint reconciliations_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id)
);
-- row-level security of public.reconciliations: enabled, forced
create policy every_tenant on reconciliations for all to engagement_service using (true);
create policy own_tenant on reconciliations for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.reconciliations to engagement_api;
grant delete, insert, select, update on public.reconciliations to engagement_service;

create table public.recounts (
  tenant_id uuid not null,
  project_id uuid not null,
  reference text not null default ''::text,
  ordinal integer not null default '-1'::integer,
  pages integer not null default 0,
  constraint recounts_pkey PRIMARY KEY (tenant_id, project_id)
);
-- row-level security of public.recounts: enabled, forced
create policy every_tenant on recounts for all to engagement_service using (true);
create policy own_tenant on recounts for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.recounts to engagement_api;
grant delete, insert, select, update on public.recounts to engagement_service;

create table public.rejected_events (
  rejection_key uuid not null,
  tenant_id uuid not null,
  project_id uuid not null,
  key_id uuid,
  code text not null,
  reason text not null,
  event text,
  client text not null,
  event_index integer,
  shape text,
  rejections bigint not null,
  first_at timestamp with time zone not null,
  last_at timestamp with time zone not null,
  constraint rejected_events_pkey PRIMARY KEY (tenant_id, project_id, rejection_key)
);
CREATE INDEX rejected_events_by_age ON public.rejected_events USING btree (last_at);
CREATE INDEX rejected_events_by_time ON public.rejected_events USING btree (tenant_id, project_id, last_at, rejection_key) WHERE (last_at > '-infinity'::timestamp with time zone);
-- row-level security of public.rejected_events: enabled, forced
create policy every_tenant on rejected_events for all to engagement_service using (true);
create policy own_tenant on rejected_events for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.rejected_events to engagement_api;
grant delete, insert, select, update on public.rejected_events to engagement_service;

create table public.reports (
  tenant_id uuid not null,
  project_id uuid not null,
  report_id uuid not null,
  name text not null,
  content jsonb not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  deleted_at timestamp with time zone,
  decided_until timestamp with time zone,
  next_at timestamp with time zone not null default '-infinity'::timestamp with time zone,
  failures integer not null default 0,
  error_code text,
  error_message text,
  failed_at timestamp with time zone,
  constraint reports_pkey PRIMARY KEY (tenant_id, project_id, report_id),
  constraint reports_tenant_id_project_id_fkey FOREIGN KEY (tenant_id, project_id) REFERENCES projects(tenant_id, project_id)
);
CREATE INDEX reports_by_dashboard ON public.reports USING btree (tenant_id, project_id, ((content ->> 'dashboard_id'::text))) WHERE (deleted_at IS NULL);
CREATE INDEX reports_due ON public.reports USING btree (next_at) WHERE (deleted_at IS NULL);
CREATE INDEX reports_listed ON public.reports USING btree (tenant_id, project_id, created_at DESC, report_id DESC) WHERE ((created_at > '-infinity'::timestamp with time zone) AND (deleted_at IS NULL));
-- row-level security of public.reports: enabled, forced
create policy every_tenant on reports for all to engagement_service using (true);
create policy own_tenant on reports for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.reports to engagement_api;
grant delete, insert, select, update on public.reports to engagement_service;

create table public.sandbox_bonuses (
  tenant_id uuid not null,
  project_id uuid not null,
  adapter_slug text not null,
  grant_id uuid not null,
  platform_bonus_id uuid not null,
  status text not null,
  sent jsonb not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint sandbox_bonuses_pkey PRIMARY KEY (tenant_id, project_id, adapter_slug, grant_id),
  constraint sandbox_bonuses_status_check CHECK ((status = ANY (ARRAY['active'::text, 'cancelled'::text])))
);
CREATE UNIQUE INDEX sandbox_bonuses_listed ON public.sandbox_bonuses USING btree (tenant_id, project_id, adapter_slug, platform_bonus_id DESC) WHERE (created_at > '-infinity'::timestamp with time zone);
-- row-level security of public.sandbox_bonuses: enabled, forced
create policy every_tenant on sandbox_bonuses for all to engagement_service using (true);
create policy own_tenant on sandbox_bonuses for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.sandbox_bonuses to engagement_api;
grant delete, insert, select, update on public.sandbox_bonuses to engagement_service;

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
create policy own_tenant on sandbox_messages for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.sandbox_messages to engagement_api;
grant delete, insert, select, update on public.sandbox_messages to engagement_service;

create table public.schema_migrations (
  folder text not null,
  version integer not null,
  name text not null,
  applied_at timestamp with time zone not null default now(),
  constraint schema_migrations_pkey PRIMARY KEY (folder, version)
);

create table public.score_models (
  tenant_id uuid not null,
  project_id uuid not null,
  status text not null,
  as_of timestamp with time zone not null,
  fitted_at timestamp with time zone not null,
  ngr numeric not null,
  deposited numeric not null,
  fit jsonb not null,
  constraint score_models_pkey PRIMARY KEY (tenant_id, project_id),
  constraint score_models_status_check CHECK ((status = ANY (ARRAY['on'::text, 'off'::text, 'waiting'::text])))
);
-- row-level security of public.score_models: enabled, forced
create policy every_tenant on score_models for all to engagement_service using (true);
create policy own_tenant on score_models for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.score_models to engagement_api;
grant delete, insert, select, update on public.score_models to engagement_service;

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
create policy own_tenant on segment_changes for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
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
create policy own_tenant on segment_members for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.segment_members to engagement_api;
grant delete, insert, select, update on public.segment_members to engagement_service;

create table public.segment_plans (
  tenant_id uuid not null,
  project_id uuid not null,
  changes bigint not null default 0,
  sweeping_at timestamp with time zone not null default '-infinity'::timestamp with time zone,
  constraint segment_plans_pkey PRIMARY KEY (tenant_id, project_id)
);
-- row-level security of public.segment_plans: enabled, forced
create policy every_tenant on segment_plans for all to engagement_service using (true);
create policy own_tenant on segment_plans for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.segment_plans to engagement_api;
grant delete, insert, select, update on public.segment_plans to engagement_service;

create table public.segment_sizes (
  tenant_id uuid not null,
  project_id uuid not null,
  segment_id uuid not null,
  counted_at timestamp with time zone not null,
  size bigint not null,
  constraint segment_sizes_pkey PRIMARY KEY (tenant_id, project_id, segment_id, counted_at)
);
CREATE INDEX segment_sizes_by_time ON public.segment_sizes USING btree (counted_at);
-- row-level security of public.segment_sizes: enabled, forced
create policy every_tenant on segment_sizes for all to engagement_service using (true);
create policy own_tenant on segment_sizes for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.segment_sizes to engagement_api;
grant delete, insert, select, update on public.segment_sizes to engagement_service;

create table public.segment_sweeps (
  tenant_id uuid not null,
  project_id uuid not null,
  swept_at timestamp with time zone not null,
  constraint segment_sweeps_pkey PRIMARY KEY (tenant_id, project_id)
);
-- row-level security of public.segment_sweeps: enabled, forced
create policy every_tenant on segment_sweeps for all to engagement_service using (true);
create policy own_tenant on segment_sweeps for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
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
create policy own_tenant on segment_window_sweeps for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
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
create policy own_tenant on segments for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.segments to engagement_api;
grant delete, insert, select, update on public.segments to engagement_service;

create table public.send_time_models (
  tenant_id uuid not null,
  project_id uuid not null,
  status text not null,
  as_of timestamp with time zone not null,
  fitted_at timestamp with time zone not null,
  fit jsonb not null,
  constraint send_time_models_pkey PRIMARY KEY (tenant_id, project_id),
  constraint send_time_models_status_check CHECK ((status = ANY (ARRAY['on'::text, 'off'::text, 'waiting'::text])))
);
-- row-level security of public.send_time_models: enabled, forced
create policy every_tenant on send_time_models for all to engagement_service using (true);
create policy own_tenant on send_time_models for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.send_time_models to engagement_api;
grant delete, insert, select, update on public.send_time_models to engagement_service;

create table public.sent_ids (
  sent_id uuid not null,
  tenant_id uuid not null,
  log_offset bigint not null,
  kept_until date not null,
  log_partition smallint not null,
  constraint sent_ids_pkey PRIMARY KEY (sent_id, tenant_id)
);
CREATE INDEX sent_ids_by_end ON public.sent_ids USING btree (kept_until);
-- row-level security of public.sent_ids: enabled, forced
create policy every_tenant on sent_ids for all to engagement_service using (true);
create policy own_tenant on sent_ids for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.sent_ids to engagement_api;
grant delete, insert, select, update on public.sent_ids to engagement_service;

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

create table public.sms_replies (
  tenant_id uuid not null,
  provider_id uuid not null,
  message_id text not null,
  wants_messages boolean not null,
  received_at timestamp with time zone not null,
  constraint sms_replies_pkey PRIMARY KEY (tenant_id, provider_id, message_id)
);
-- row-level security of public.sms_replies: enabled, forced
create policy every_tenant on sms_replies for all to engagement_service using (true);
create policy own_tenant on sms_replies for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.sms_replies to engagement_api;
grant delete, insert, select, update on public.sms_replies to engagement_service;

create table public.subscription_break_ends (
  tenant_id uuid not null,
  project_id uuid not null,
  exclusion_id uuid not null,
  ends_at timestamp with time zone not null,
  constraint subscription_break_ends_pkey PRIMARY KEY (tenant_id, project_id, exclusion_id)
);
CREATE INDEX subscription_break_ends_in_order ON public.subscription_break_ends USING btree (ends_at);
-- row-level security of public.subscription_break_ends: enabled, forced
create policy every_tenant on subscription_break_ends for all to engagement_service using (true);
create policy own_tenant on subscription_break_ends for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.subscription_break_ends to engagement_api;
grant delete, insert, select, update on public.subscription_break_ends to engagement_service;

create table public.subscription_facts (
  tenant_id uuid not null,
  project_id uuid not null,
  fact_id bigint not null generated as identity,
  event text not null,
  fact_key text not null,
  player_ids uuid[] not null,
  data jsonb not null,
  occurred_at timestamp with time zone not null,
  constraint subscription_facts_pkey PRIMARY KEY (tenant_id, fact_id)
) with (autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_cost_delay=0);
-- row-level security of public.subscription_facts: enabled, forced
create policy every_tenant on subscription_facts for all to engagement_service using (true);
create policy own_tenant on subscription_facts for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.subscription_facts to engagement_api;
grant delete, insert, select, update on public.subscription_facts to engagement_service;

create table public.suppressions (
  tenant_id uuid not null,
  channel text not null,
  address text not null,
  reason text not null,
  created_at timestamp with time zone not null,
  detail text,
  suppression_id uuid not null default gen_random_uuid(),
  dialled text default 
CASE
    WHEN (channel = 'sms'::text) THEN COALESCE(NULLIF(
    CASE
        WHEN (address !~ '[[:alpha:]@]'::text) THEN ltrim(regexp_replace(address, '[(]0[)]|[^0-9]'::text, ''::text, 'g'::text), '0'::text)
        ELSE NULL::text
    END, ''::text), lower(address))
    ELSE NULL::text
END,
  constraint suppressions_channel_check CHECK ((channel = ANY (ARRAY['email'::text, 'sms'::text, 'push'::text]))),
  constraint suppressions_pkey PRIMARY KEY (tenant_id, channel, address),
  constraint suppressions_reason_check CHECK ((reason = ANY (ARRAY['bounce'::text, 'complaint'::text, 'unsubscribe'::text, 'manual'::text]))),
  constraint suppressions_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id)
);
CREATE INDEX suppressions_by_age ON public.suppressions USING btree (tenant_id, created_at DESC, suppression_id DESC) WHERE (created_at > '-infinity'::timestamp with time zone);
CREATE UNIQUE INDEX suppressions_by_id ON public.suppressions USING btree (suppression_id);
CREATE INDEX suppressions_by_reason ON public.suppressions USING btree (reason, tenant_id, created_at DESC, suppression_id DESC) WHERE (created_at > '-infinity'::timestamp with time zone);
CREATE UNIQUE INDEX suppressions_dialled ON public.suppressions USING btree (dialled, tenant_id) WHERE (channel = 'sms'::text);
-- row-level security of public.suppressions: enabled, forced
create policy every_tenant on suppressions for all to engagement_service using (true);
create policy own_tenant on suppressions for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
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
  bonus_product text,
  reads_bonus boolean not null default false,
  purpose text not null default 'marketing'::text,
  constraint templates_bonus_product_check CHECK ((bonus_product = ANY (ARRAY['casino'::text, 'betting'::text, 'bingo'::text, 'lottery'::text, 'any'::text]))),
  constraint templates_channel_check CHECK ((channel = ANY (ARRAY['email'::text, 'sms'::text, 'push'::text]))),
  constraint templates_pkey PRIMARY KEY (tenant_id, project_id, template_id),
  constraint templates_purpose CHECK ((purpose = ANY (ARRAY['marketing'::text, 'service'::text]))),
  constraint templates_status_check CHECK ((status = ANY (ARRAY['draft'::text, 'active'::text, 'archived'::text]))),
  constraint templates_tenant_id_project_id_fkey FOREIGN KEY (tenant_id, project_id) REFERENCES projects(tenant_id, project_id)
);
CREATE INDEX templates_by_age ON public.templates USING btree (tenant_id, project_id, created_at DESC, template_id DESC) WHERE (created_at > '-infinity'::timestamp with time zone);
-- row-level security of public.templates: enabled, forced
create policy every_tenant on templates for all to engagement_service using (true);
create policy own_tenant on templates for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.templates to engagement_api;
grant delete, insert, select, update on public.templates to engagement_service;

create table public.tenant_configs (
  tenant_id uuid not null,
  license_jurisdiction text,
  verticals text[] not null,
  kyc_model text not null,
  config jsonb not null,
  is_kyc_model_chosen boolean not null default false,
  constraint tenant_configs_config_check CHECK (((jsonb_typeof(config) = 'object'::text) AND (octet_length((config)::text) <= 16384))),
  constraint tenant_configs_kyc_model_check CHECK ((kyc_model = ANY (ARRAY['platform_owns'::text, 'crm_owns'::text, 'dual'::text, 'none'::text]))),
  constraint tenant_configs_license_jurisdiction_check CHECK ((length(license_jurisdiction) <= 64)),
  constraint tenant_configs_pkey PRIMARY KEY (tenant_id),
  constraint tenant_configs_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id),
  constraint tenant_configs_verticals_check CHECK ((octet_length(array_to_string(verticals, ','::text)) <= 4096))
);
-- row-level security of public.tenant_configs: enabled, forced
create policy every_tenant on tenant_configs for all to engagement_service using (true);
create policy own_tenant on tenant_configs for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
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
create policy own_tenant on tenants for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.tenants to engagement_api;
grant delete, insert, select, update on public.tenants to engagement_service;

create table public.tier_deadlines (
  tenant_id uuid not null,
  project_id uuid not null,
  player_id uuid not null,
  due_at timestamp with time zone not null,
  constraint tier_deadlines_pkey PRIMARY KEY (player_id, tenant_id, project_id)
);
CREATE INDEX tier_deadlines_due ON public.tier_deadlines USING btree (due_at, player_id);
-- row-level security of public.tier_deadlines: enabled, forced
create policy every_tenant on tier_deadlines for all to engagement_service using (true);
create policy own_tenant on tier_deadlines for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.tier_deadlines to engagement_api;
grant delete, insert, select, update on public.tier_deadlines to engagement_service;

create table public.tier_requests (
  tenant_id uuid not null,
  request_id bigint not null generated as identity,
  project_id uuid not null,
  player_id uuid not null,
  requested_at timestamp with time zone not null default now(),
  constraint tier_requests_pkey PRIMARY KEY (tenant_id, request_id)
) with (autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_cost_delay=0);
-- row-level security of public.tier_requests: enabled, forced
create policy every_tenant on tier_requests for all to engagement_service using (true);
create policy own_tenant on tier_requests for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.tier_requests to engagement_api;
grant delete, insert, select, update on public.tier_requests to engagement_service;

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
  constraint trigger_events_listener_kind_check CHECK ((listener_kind = ANY (ARRAY['campaign'::text, 'journey'::text]))),
  constraint trigger_events_outcome_check CHECK ((outcome = ANY (ARRAY['fired'::text, 'refused'::text, 'failed'::text]))),
  constraint trigger_events_pkey PRIMARY KEY (tenant_id, project_id, event_key, listener_id)
);
CREATE INDEX trigger_events_kept ON public.trigger_events USING btree (keep_until) WHERE (decided_at IS NOT NULL);
CREATE INDEX trigger_events_waiting ON public.trigger_events USING btree (listener_id, partition, log_offset) WHERE (decided_at IS NULL);
-- row-level security of public.trigger_events: enabled, forced
create policy every_tenant on trigger_events for all to engagement_service using (true);
create policy own_tenant on trigger_events for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.trigger_events to engagement_api;
grant delete, insert, select, update on public.trigger_events to engagement_service;

create table public.unrated_events (
  tenant_id uuid not null,
  project_id uuid not null,
  ingestion_id uuid not null,
  event_index smallint not null,
  partition integer not null,
  log_offset bigint not null,
  log_id text,
  value text not null,
  held_at timestamp with time zone not null,
  is_rated boolean not null default false,
  base_amount bigint,
  base_payout bigint,
  base_bonus_stake bigint,
  base_bonus_payout bigint,
  constraint unrated_events_pkey PRIMARY KEY (tenant_id, project_id, ingestion_id, event_index)
);
CREATE INDEX unrated_events_held ON public.unrated_events USING btree (held_at);
CREATE INDEX unrated_events_rated ON public.unrated_events USING btree (tenant_id, project_id, ingestion_id, event_index) WHERE is_rated;
-- row-level security of public.unrated_events: enabled, forced
create policy every_tenant on unrated_events for all to engagement_service using (true);
create policy own_tenant on unrated_events for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.unrated_events to engagement_api;
grant delete, insert, select, update on public.unrated_events to engagement_service;

create table public.vip_tiers (
  tenant_id uuid not null,
  tier_id uuid not null,
  code text not null,
  name text not null,
  rank integer not null,
  color text,
  glyph text,
  lifetime_deposit_subunit bigint not null,
  lifetime_wagered_subunit bigint not null,
  min_days_active integer not null,
  inactivity_days integer,
  grace_days integer,
  perks jsonb not null,
  is_active boolean not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint vip_tiers_check CHECK (((inactivity_days IS NULL) OR (grace_days IS NOT NULL))),
  constraint vip_tiers_code UNIQUE (tenant_id, code),
  constraint vip_tiers_code_check CHECK ((code ~ '^[a-z0-9_]{1,40}$'::text)),
  constraint vip_tiers_pkey PRIMARY KEY (tenant_id, tier_id),
  constraint vip_tiers_rank_check CHECK ((rank >= 0)),
  constraint vip_tiers_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id)
);
CREATE UNIQUE INDEX vip_tiers_rank ON public.vip_tiers USING btree (tenant_id, rank) WHERE is_active;
-- row-level security of public.vip_tiers: enabled, forced
create policy every_tenant on vip_tiers for all to engagement_service using (true);
create policy own_tenant on vip_tiers for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.vip_tiers to engagement_api;
grant delete, insert, select, update on public.vip_tiers to engagement_service;

create table public.wagering_positions (
  topic text not null,
  partition integer not null,
  log_id text not null,
  next_offset bigint not null,
  constraint wagering_positions_pkey PRIMARY KEY (topic, partition)
);
grant delete, insert, select, update on public.wagering_positions to engagement_service;

create table public.webhook_deliveries (
  tenant_id uuid not null,
  project_id uuid not null,
  event_id uuid not null,
  journey_id uuid,
  journey_version integer,
  run_id uuid,
  node_id text,
  seq integer,
  player_id uuid not null,
  url text not null,
  host text not null,
  headers jsonb not null,
  timeout_ms integer not null,
  max_attempts integer not null,
  backoff_ms integer,
  wait_for_response boolean not null,
  save_as text,
  source jsonb,
  payload text,
  status text not null,
  attempts integer not null default 0,
  attempts_before integer not null default 0,
  next_at timestamp with time zone not null,
  attempted_at timestamp with time zone,
  last_status integer,
  last_error text,
  last_reason text,
  response text,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  completed_at timestamp with time zone,
  subscription_id uuid,
  sequence bigint,
  event text,
  constraint webhook_deliveries_check CHECK (((status = 'pending'::text) = (completed_at IS NULL))),
  constraint webhook_deliveries_check1 CHECK (((source IS NOT NULL) OR (payload IS NOT NULL) OR (status <> 'pending'::text))),
  constraint webhook_deliveries_of_one CHECK (
CASE
    WHEN (subscription_id IS NULL) THEN ((num_nulls(journey_id, journey_version, run_id, node_id, seq) = 0) AND (num_nonnulls(sequence, event) = 0))
    ELSE ((num_nonnulls(journey_id, journey_version, run_id, node_id, seq) = 0) AND (num_nulls(sequence, event) = 0))
END),
  constraint webhook_deliveries_pkey PRIMARY KEY (tenant_id, event_id),
  constraint webhook_deliveries_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'delivered'::text, 'failed'::text, 'cancelled'::text])))
);
CREATE INDEX webhook_deliveries_due ON public.webhook_deliveries USING btree (tenant_id, host, next_at) WHERE (status = 'pending'::text);
CREATE INDEX webhook_deliveries_ended ON public.webhook_deliveries USING btree (completed_at) WHERE (status <> 'pending'::text);
CREATE INDEX webhook_deliveries_in_clear ON public.webhook_deliveries USING btree (tenant_id, event_id) WHERE jsonb_path_exists(headers, '$.*?(@.type() == "string")'::jsonpath);
CREATE INDEX webhook_deliveries_in_turn ON public.webhook_deliveries USING btree (subscription_id, player_id, next_at, sequence) WHERE ((status = 'pending'::text) AND (subscription_id IS NOT NULL));
CREATE INDEX webhook_deliveries_listed ON public.webhook_deliveries USING btree (journey_id, created_at DESC, event_id DESC, tenant_id, project_id) WHERE ((created_at > '-infinity'::timestamp with time zone) AND (journey_id IS NOT NULL));
CREATE INDEX webhook_deliveries_next ON public.webhook_deliveries USING btree (next_at) WHERE (status = 'pending'::text);
CREATE INDEX webhook_deliveries_of_player ON public.webhook_deliveries USING btree (player_id, tenant_id, project_id);
CREATE INDEX webhook_deliveries_of_project ON public.webhook_deliveries USING btree (project_id, status, created_at DESC, event_id DESC, tenant_id) WHERE ((created_at > '-infinity'::timestamp with time zone) AND (journey_id IS NOT NULL));
CREATE INDEX webhook_deliveries_of_run ON public.webhook_deliveries USING btree (run_id, tenant_id, project_id) WHERE (status = 'pending'::text);
CREATE INDEX webhook_deliveries_of_subscription ON public.webhook_deliveries USING btree (subscription_id, status, sequence, tenant_id, project_id) WHERE (subscription_id IS NOT NULL);
-- row-level security of public.webhook_deliveries: enabled, forced
create policy every_tenant on webhook_deliveries for all to engagement_service using (true);
create policy own_tenant on webhook_deliveries for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.webhook_deliveries to engagement_api;
grant delete, insert, select, update on public.webhook_deliveries to engagement_service;

create table public.webhook_secrets (
  tenant_id uuid not null,
  project_id uuid not null,
  secret_id uuid not null,
  secret bytea,
  created_at timestamp with time zone not null,
  deleted_at timestamp with time zone,
  subscription_id uuid,
  constraint webhook_secrets_check CHECK (((secret IS NULL) = (deleted_at IS NOT NULL))),
  constraint webhook_secrets_pkey PRIMARY KEY (tenant_id, project_id, secret_id),
  constraint webhook_secrets_tenant_id_project_id_fkey FOREIGN KEY (tenant_id, project_id) REFERENCES projects(tenant_id, project_id)
);
CREATE INDEX webhook_secrets_of_subscription ON public.webhook_secrets USING btree (subscription_id) WHERE (subscription_id IS NOT NULL);
-- row-level security of public.webhook_secrets: enabled, forced
create policy every_tenant on webhook_secrets for all to engagement_service using (true);
create policy own_tenant on webhook_secrets for all to engagement_api using ((tenant_id = ( SELECT current_tenant_id() AS current_tenant_id)));
grant delete, insert, select, update on public.webhook_secrets to engagement_api;
grant delete, insert, select, update on public.webhook_secrets to engagement_service;
