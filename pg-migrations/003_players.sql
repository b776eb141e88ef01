-- Players: which ids and addresses are one person, its profile and totals, when it is excluded, and how it is forgotten.

-- An address without characters that have no look of their own, without spaces around, and of a link the address alone:
-- what `plainAddress` of the service makes of it (a test compares them).
create function plain_address(address text) returns text language sql immutable parallel safe
return btrim(regexp_replace(
  btrim(regexp_replace(address, '[\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890-\u0891\u08e2\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f]', '', 'g'),
    E'\t\n\x0b\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000'),
  '^(?:mailto|tel|sms):(?://)?([^?;]*).*$', '\1', 'i'),
  E'\t\n\x0b\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000');

-- An address as it is compared: a telephone number without separators, and without zeros that stand for `+` or a national
-- call; everything else in lower case; both plain. Null: no address. Cut, because entries of an index have a limit: what is
-- that long is no address.
create function address_key(channel text, address text) returns text language sql immutable parallel safe
return nullif(left(case when channel = 'sms' then coalesce(nullif(case when plain_address(address) !~ '[[:alpha:]@]'
    then ltrim(regexp_replace(plain_address(address), '[(]0[)]|[^0-9]', '', 'g'), '0') end, ''), lower(plain_address(address)))
  else lower(plain_address(address)) end, 600), '');

-- What an attribute of consent says. Null: nothing is said. An object says nothing on a channel itself: it says something
-- on products. These functions are single expressions, so that the planner can inline them; as a query of its own one took
-- 11 µs per player.
create function consent_value(value jsonb) returns boolean
  language sql immutable parallel safe
  return case
    when value is null or jsonb_typeof(value) in ('null', 'object') then null
    else value in ('true', '1', '"true"', '"yes"', '"1"') end;

-- A player's consent to messages on a channel: the attribute `consent.<channel>`, or `<channel>` in an object `consent`.
-- Null: neither is set. When both are set, both must be yes.
create function consent_to(attributes jsonb, channel text) returns boolean
  language sql immutable parallel safe
  return case
    when consent_value(attributes -> ('consent.' || channel)) is null
      and consent_value(attributes #> array['consent', channel]) is null then null
    else coalesce(consent_value(attributes -> ('consent.' || channel)), true)
      and coalesce(consent_value(attributes #> array['consent', channel]), true)
  end;

-- A player's consent to messages on a channel about a product: `consent.<channel>.<product>`, or the same in objects. Null:
-- nothing is said. Where it is said more than once, all must be yes.
create function consent_to_product(attributes jsonb, channel text, product text) returns boolean
  language sql immutable parallel safe
  return case
    when consent_value(attributes -> ('consent.' || channel || '.' || product)) is null
      and consent_value(attributes #> array['consent.' || channel, product]) is null
      and consent_value(attributes #> array['consent', channel || '.' || product]) is null
      and consent_value(attributes #> array['consent', channel, product]) is null then null
    else coalesce(consent_value(attributes -> ('consent.' || channel || '.' || product)), true)
      and coalesce(consent_value(attributes #> array['consent.' || channel, product]), true)
      and coalesce(consent_value(attributes #> array['consent', channel || '.' || product]), true)
      and coalesce(consent_value(attributes #> array['consent', channel, product]), true)
  end;

-- What a merge of two players keeps of both, whatever the survivor's own attributes say: each refusal of messages, on a
-- channel or on a product there, the worse `rg_risk`, and the later `birth_date`.
create function protections_of_both(ours jsonb, theirs jsonb) returns jsonb
  language sql immutable parallel safe
  begin atomic
    with attributes as (
      select of.attributes from (values (ours), (theirs)) as of (attributes)
    ), said as (
      select substr(e.key, length('consent.') + 1) as name, e.value
      from attributes a cross join lateral jsonb_each(a.attributes) e where e.key like 'consent.%'
      union all
      select e.key, e.value
      from attributes a cross join lateral jsonb_each(
        case when jsonb_typeof(a.attributes -> 'consent') = 'object' then a.attributes -> 'consent' else '{}' end) e
    ), named as (
      select name, value from said where jsonb_typeof(value) <> 'object'
      union all
      select s.name || '.' || e.key, e.value
      from said s cross join lateral jsonb_each(
        case when jsonb_typeof(s.value) = 'object' then s.value else '{}' end) e
    ), refused as (
      select distinct name from named
      where not consent_value(value) and name ~ '^(email|sms|phone|push)(\.[a-z0-9_-]{1,32})?$'
      order by name limit 100
    ), born as (
      select attributes -> 'birth_date' as birth_date from attributes
      where attributes ->> 'birth_date' ~ '^\d{4}-\d{2}-\d{2}'
      order by left(attributes ->> 'birth_date', 10) collate "C" desc limit 1
    )
    select coalesce((select jsonb_object_agg('consent.' || name, false) from refused), '{}')
      || case
        when 'strong' in (ours ->> 'rg_risk', theirs ->> 'rg_risk') then '{"rg_risk": "strong"}'::jsonb
        when 'low' in (ours ->> 'rg_risk', theirs ->> 'rg_risk') then '{"rg_risk": "low"}'
        else '{}' end
      || coalesce((select jsonb_build_object('birth_date', birth_date) from born), '{}');
  end;

-- A player is one profile row, which changes seldom, and one totals row, which changes with every batch of events. So
-- the row that changes often stays narrow and has few indexes.
create table players (
  tenant_id uuid not null,
  project_id uuid not null,
  player_id uuid not null,
  external_id text,
  email text,
  phone text,
  telegram_id text,
  -- The same links as in player_identities, oldest first: that table finds the player of an id, this column the ids of
  -- a player. Both are written in one transaction.
  anonymous_ids text[] not null default '{}',
  status text not null default 'active'
    check (status in ('active', 'self_excluded', 'banned', 'deleted', 'conflict')),
  -- Whether the player is self-excluded, by events or by an operator, whatever `status` shows: when a ban ends, the
  -- exclusion is visible in `status` again.
  self_excluded boolean not null default false,
  -- When self_excluded was set last: the time of the event, or of the operator's change.
  self_excluded_at timestamptz,
  timezone text,
  default_currency_code text not null,
  current_tier_code text,
  tier_promoted_at timestamptz,
  kyc_status text not null default 'none',
  -- The time of the last decision.
  kyc_status_at timestamptz,
  kyc_level integer not null default 0,
  -- Nothing uses it.
  kyc_level_at timestamptz,
  churn_score double precision not null default 0,
  ltv_predicted double precision,
  custom_attributes jsonb not null default '{}',
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  -- Whether the player was marked dirty for every segment of its project after it came to ClickHouse. Set by player-mirror.
  is_known_to_segments boolean not null default false,
  -- A player who asked for a pause gets no messages until then.
  cooldown_until timestamptz,
  -- Set by hand: the tier does not rise by itself.
  tier_locked boolean not null default false,
  -- The tier that the player has earned, and that waits for checks to be approved.
  tier_pending_code text,
  kyc_requested_level integer,
  kyc_expires_at timestamptz,
  -- The user who made the last decision; null: a platform, an event, or the end of an approval.
  kyc_decided_by text,
  -- What the platform calls the verification.
  kyc_provider_ref text,
  -- Counts the writes of the KYC columns, which are computed from what was read: compare-and-set.
  kyc_revision integer not null default 0,
  -- An exclusion, a ban or a break is of a person, and so of each of the person's addresses, whichever player of the tenant
  -- is written to. `barred_until` is its end, `infinity` without one; a deleted player was banned if `was_banned`. Columns,
  -- because row-level security lets no index be used for a condition with these functions.
  was_banned boolean not null default false,
  barred_until timestamptz generated always as (case
    when self_excluded or status in ('self_excluded', 'banned') or was_banned then 'infinity'::timestamptz
    else cooldown_until end) stored,
  email_key text generated always as (address_key('email', email)) stored,
  sms_key text generated always as (address_key('sms', phone)) stored,
  push_key text generated always as (address_key('push',
    case when jsonb_typeof(custom_attributes -> 'push_token') = 'string'
      then custom_attributes ->> 'push_token' end)) stored,
  -- Since when the row names nobody.
  erased_at timestamptz,
  -- No foreign key to projects: tenant and project come from a verified API key, and thousands of players are inserted
  -- at once.
  primary key (player_id, tenant_id, project_id)
);
-- Every row satisfies it. `not valid` means that no row was checked when it was added: there was none.
alter table players add constraint players_kyc_status_check
  check (kyc_status in ('none', 'pending', 'approved', 'rejected', 'expired', 'revoked')) not valid;
create index players_by_rare_status on players (tenant_id, project_id, status) where status <> 'active';
-- Finds out whether the recipient of a test message is a player who must not be contacted; there are few of those.
create index players_not_contactable on players (tenant_id, project_id)
  where self_excluded or status in ('self_excluded', 'banned') or cooldown_until is not null;
create unique index players_by_external_id on players (external_id, tenant_id, project_id) where external_id is not null;
create index players_by_email on players (email, tenant_id, project_id) where email is not null;
create index players_by_phone on players (phone, tenant_id, project_id) where phone is not null;
create index players_by_telegram_id on players (telegram_id, tenant_id, project_id) where telegram_id is not null;
create index players_kyc_lapsing on players (kyc_expires_at)
  where kyc_expires_at is not null and kyc_status = 'approved' and deleted_at is null;
-- Players whose verification waits for somebody.
create index players_kyc_pending on players (tenant_id, project_id, created_at desc, player_id desc)
  where kyc_status = 'pending' and deleted_at is null;
create index players_by_push_key on players (push_key, tenant_id, barred_until) where push_key is not null;
create index players_erased on players (player_id, tenant_id, project_id) where erased_at is not null;
-- The search of players reads the next two, too, for one project: it must not look up the players of the tenant's other
-- projects whose addresses begin alike.
create index players_by_email_key on players (email_key, tenant_id, barred_until, project_id) where email_key is not null;
create index players_by_sms_key on players (sms_key, tenant_id, barred_until, project_id) where sms_key is not null;
call protect_tenant_table('players');

-- Amounts are in the smallest unit of the tenant's base currency.
create table player_totals (
  tenant_id uuid not null,
  project_id uuid not null,
  player_id uuid not null,
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  total_deposited bigint not null default 0,
  total_withdrawn bigint not null default 0,
  total_wagered bigint not null default 0,
  total_won bigint not null default 0,
  bet_count bigint not null default 0,
  session_count bigint not null default 0,
  -- Ledger rows of this player that count towards a total but have no rate yet.
  pending_conversions bigint not null default 0,
  updated_at timestamptz not null,
  -- The last transaction that wrote the player (profile or totals); player-mirror reads the rows in this order.
  changed_xid xid8 not null default pg_current_xact_id(),
  -- Event time of the player's last own activity (login, play, payment); `-infinity` when there was none.
  last_active_at timestamptz default '-infinity',
  -- When inactivity took the tier down; null again once the player was active after that.
  tier_demoted_at timestamptz,
  primary key (player_id, tenant_id, project_id)
) with (fillfactor = 80);
create index player_totals_by_change on player_totals (changed_xid, player_id);
create index player_totals_by_last_seen on player_totals (tenant_id, project_id, last_seen_at desc, player_id desc)
  where last_seen_at > '-infinity';
call protect_tenant_table('player_totals');

-- An anonymous_id of a caller belongs to exactly one player.
create table player_identities (
  tenant_id uuid not null,
  project_id uuid not null,
  anonymous_id text not null,
  player_id uuid not null,
  linked_at timestamptz not null,
  primary key (anonymous_id, tenant_id, project_id)
);
create index player_identities_of_player on player_identities (player_id, tenant_id, project_id);
call protect_tenant_table('player_identities');

-- A player that was merged into another one. The row stays: events, callers and ledger rows (which keep the player that
-- claimed them) may have the old id, which stands for `into_player_id`. There are no chains: when `into_player_id` is
-- itself merged, the row gets the new survivor.
create table player_merges (
  tenant_id uuid not null,
  project_id uuid not null,
  player_id uuid not null,
  into_player_id uuid not null,
  merged_at timestamptz not null,
  -- From then on ClickHouse resolves the old id at query time, until its rows have the new id (next column).
  aliased_at timestamptz,
  -- When ClickHouse's rows of the old player were rewritten to the survivor's id.
  rewritten_at timestamptz,
  -- As in player_totals: by it player-mirror finds the old player and removes it from ClickHouse.
  changed_xid xid8 not null default pg_current_xact_id(),
  -- The survivor is erased: the events of the old player are reduced as well, whenever the log is read again.
  is_erased boolean not null default false,
  primary key (player_id, tenant_id, project_id)
);
create index player_merges_by_change on player_merges (changed_xid, player_id);
create index player_merges_in_clickhouse on player_merges (merged_at) where rewritten_at is null;
create index player_merges_by_survivor on player_merges (into_player_id, tenant_id, project_id);
create index player_merges_erased on player_merges (player_id) where is_erased;
call protect_tenant_table('player_merges');

-- The addresses of players that were merged into one with another address: they are of the same person, `player_id`.
-- While a person is erased, what is accepted of the person is still on its way: an exclusion that the fold applies later has
-- to bar the addresses that the player's row does not have any more. They stay here until the erasure is done, and so does
-- the external_id, under which a person registers again.
create table merged_addresses (
  tenant_id uuid not null,
  project_id uuid not null,
  player_id uuid not null,
  channel text not null check (channel in ('email', 'sms', 'push', 'external_id')),
  address_key text not null,
  primary key (address_key, channel, player_id, tenant_id, project_id)
);
create index merged_addresses_of_player on merged_addresses (player_id, tenant_id, project_id);
call protect_tenant_table('merged_addresses');

-- Since when and until when players were excluded or took a break: what a proof that they got nothing starts from. One row
-- per time, written in the transaction that changes the player. `since` is what the event says; the service knew of it from
-- `accepted_at` on, and its gate from `recorded_at` on. The end is `ended_at`, or `ends_at` of a break if that is earlier.
create table player_exclusions (
  tenant_id uuid not null,
  project_id uuid not null,
  exclusion_id uuid not null,
  player_id uuid not null,
  kind text not null check (kind in ('self_exclusion', 'cooldown')),
  since timestamptz not null,
  accepted_at timestamptz not null,
  recorded_at timestamptz not null,
  ends_at timestamptz,
  -- `erasure`: kept when a person was forgotten, it begins anew with the player who registers again. Nothing writes
  -- `before_records`.
  source text not null check (source in ('event', 'operator', 'merge', 'before_records', 'erasure')),
  ingestion_id uuid,
  event_index smallint,
  lifted_at timestamptz,
  ended_at timestamptz,
  end_source text check (end_source in ('event', 'operator', 'merge')),
  end_ingestion_id uuid,
  end_event_index smallint,
  check ((kind = 'cooldown') = (ends_at is not null)),
  check ((ended_at is null) = (end_source is null)),
  primary key (tenant_id, project_id, exclusion_id)
);
create index player_exclusions_of_player on player_exclusions (player_id, tenant_id, project_id);
create index player_exclusions_listed on player_exclusions (tenant_id, project_id, accepted_at desc, exclusion_id desc)
  where accepted_at > '-infinity';
-- Exclusions in force have no end; of those that have one, few are in force: breaks, of which most are over.
create index player_exclusions_open on player_exclusions (tenant_id, project_id, accepted_at desc, exclusion_id desc)
  where accepted_at > '-infinity' and ended_at is null and ends_at is null;
create index player_exclusions_by_end on player_exclusions (tenant_id, project_id, least(ended_at, ends_at))
  where least(ended_at, ends_at) is not null;
call protect_tenant_table('player_exclusions');

-- People who were forgotten: who asked for it, why, and how far it is. A row is made when an admin asks, and is begun when
-- the admin has confirmed with the token. Reasons are written by admins, whom the documentation asks to name nobody in them.
create table erasures (
  tenant_id uuid not null,
  erasure_id uuid not null,
  project_id uuid not null,
  player_id uuid not null,
  status text not null check (status in ('requested', 'running', 'done')),
  reason text not null,
  basis text not null,
  requested_by text not null,
  requested_at timestamptz not null,
  -- SHA-256 of the token; null once it was used.
  token_hash bytea,
  confirm_before timestamptz not null,
  confirmed_by text,
  confirmed_at timestamptz,
  -- What was done, in order: [{"step", "rows", "done_at"}].
  steps jsonb not null default '[]',
  last_error text,
  completed_at timestamptz,
  check ((status = 'requested') = (token_hash is not null)),
  check ((status = 'requested') = (confirmed_at is null)),
  check ((confirmed_at is null) = (confirmed_by is null)),
  check ((status = 'done') = (completed_at is not null)),
  foreign key (tenant_id, project_id) references projects (tenant_id, project_id),
  primary key (tenant_id, erasure_id)
);
create unique index erasures_of_player on erasures (tenant_id, project_id, player_id);
create index erasures_by_age on erasures (tenant_id, requested_at desc, erasure_id desc)
  where requested_at > '-infinity';
create index erasures_open on erasures (confirmed_at) where status = 'running';
call protect_tenant_table('erasures');

-- What protects a person who was forgotten: keyed hashes of the addresses. A player who registers with one of them gets the
-- protection again. `until`: when a break ends. `reason`: of a suppression.
create table kept_protections (
  tenant_id uuid not null,
  address_hash bytea not null,
  protection text not null check (protection in ('self_exclusion', 'ban', 'cooldown', 'suppression')),
  since timestamptz not null,
  until timestamptz,
  reason text,
  check ((protection = 'cooldown') = (until is not null)),
  check ((protection = 'suppression') = (reason is not null)),
  foreign key (tenant_id) references tenants,
  primary key (tenant_id, address_hash, protection)
);
call protect_tenant_table('kept_protections');

-- Copies of a person's data, made on request and kept for 7 days: the file is in chunks, each encrypted. `run_id`: the run
-- of the job whose chunks make the file; those of a run that was interrupted are removed.
create table player_exports (
  tenant_id uuid not null,
  export_id uuid not null,
  project_id uuid not null,
  player_id uuid not null,
  status text not null check (status in ('queued', 'ready', 'failed')),
  requested_by text not null,
  requested_at timestamptz not null,
  completed_at timestamptz,
  expires_at timestamptz not null,
  run_id uuid,
  -- The files in it: [{"name", "rows"}].
  files jsonb not null default '[]',
  bytes bigint not null default 0,
  chunks integer not null default 0,
  last_error text,
  check ((status = 'ready') = (run_id is not null)),
  check ((status = 'queued') = (completed_at is null)),
  foreign key (tenant_id, project_id) references projects (tenant_id, project_id),
  primary key (tenant_id, export_id)
);
create unique index player_exports_queued on player_exports (tenant_id, project_id, player_id) where status = 'queued';
create index player_exports_of_player on player_exports (player_id, tenant_id, project_id);
create index player_exports_expired on player_exports (expires_at);
call protect_tenant_table('player_exports');

create table player_export_chunks (
  tenant_id uuid not null,
  export_id uuid not null,
  run_id uuid not null,
  chunk_no integer not null,
  encrypted bytea not null,
  primary key (tenant_id, export_id, run_id, chunk_no)
);
alter table player_export_chunks alter column encrypted set storage external;
call protect_tenant_table('player_export_chunks');
