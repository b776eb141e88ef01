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
  source text not null check (source in ('event', 'operator', 'merge', 'before_records')),
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
call protect_tenant_table('player_exclusions');

-- Who was excluded before there were records: the row says what the last event said, not when that came. So only what is
-- decided from now on counts against them. Row-level security would hide the rows of all tenants from an owner who is no
-- superuser.
alter table players no force row level security;
alter table player_exclusions no force row level security;
insert into player_exclusions (tenant_id, project_id, exclusion_id, player_id, kind, since, accepted_at, recorded_at,
  source)
select tenant_id, project_id, gen_random_uuid(), player_id, 'self_exclusion', coalesce(self_excluded_at, updated_at),
  coalesce(self_excluded_at, updated_at), now(), 'before_records'
from players
where self_excluded or status = 'self_excluded';
insert into player_exclusions (tenant_id, project_id, exclusion_id, player_id, kind, since, accepted_at, recorded_at,
  ends_at, source)
select tenant_id, project_id, gen_random_uuid(), player_id, 'cooldown', least(updated_at, cooldown_until),
  least(updated_at, cooldown_until), now(), cooldown_until, 'before_records'
from players
where cooldown_until is not null;
alter table players force row level security;
alter table player_exclusions force row level security;

-- Whose a message or a bonus was before its player was merged: the exclusion of one does not make what another got wrong.
alter table message_sends add column merged_from uuid;
-- When the gate let the message pass for the last time.
alter table message_sends add column gated_at timestamptz;
alter table bonus_grants add column merged_from uuid;

-- Messages that were not sent in order to protect their players, the newest first.
create index message_sends_blocked on message_sends (tenant_id, project_id, enqueued_at desc, send_id desc)
  where error_code in ('SKIPPED_SELF_EXCLUDED', 'SKIPPED_COOLDOWN', 'SKIPPED_AT_RISK', 'SKIPPED_BANNED');

-- Players whose verification waits for somebody.
create index players_kyc_pending on players (tenant_id, project_id, created_at desc, player_id desc)
  where kyc_status = 'pending' and deleted_at is null;
