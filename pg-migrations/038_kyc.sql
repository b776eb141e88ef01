-- Who verified a player, how far, and until when: every decision of every source, and the status that follows from them.

-- Not validated: every value that the narrower check admitted is in this one, so no row has to be read.
alter table players drop constraint players_kyc_status_check,
  add constraint players_kyc_status_check
    check (kyc_status in ('none', 'pending', 'approved', 'rejected', 'expired', 'revoked')) not valid;

-- Whether somebody chose the tenant's kyc_model. Until then ingested kyc_* events set the status, as they always have.
alter table tenant_configs add column is_kyc_model_chosen boolean not null default false;
update tenant_configs set is_kyc_model_chosen = true where kyc_model <> 'none';

-- kyc_status_at is the time of the last decision. kyc_level_at has no meaning any more; it stays for processes of the
-- version before, which still write it while they are replaced.
alter table players
  add column kyc_requested_level integer,
  add column kyc_expires_at timestamptz,
  -- The user who made the last decision; null: a platform, an event, or the end of an approval.
  add column kyc_decided_by text,
  -- What the platform calls the verification.
  add column kyc_provider_ref text,
  -- Counts the writes of the KYC columns, which are computed from what was read: compare-and-set.
  add column kyc_revision integer not null default 0;
create index players_kyc_lapsing on players (kyc_expires_at)
  where kyc_expires_at is not null and kyc_status = 'approved' and deleted_at is null;

create table kyc_decisions (
  tenant_id uuid not null,
  project_id uuid not null,
  player_id uuid not null,
  decision_id uuid not null,
  kind text not null check (kind in
    ('submitted', 'approved', 'level_upgraded', 'lapsed', 'expired', 'rejected', 'revoked')),
  source text not null check (source in ('api', 'webhook', 'event', 'clock')),
  -- The time by which decisions are ordered, at most 300 s after received_at.
  occurred_at timestamptz not null,
  received_at timestamptz not null,
  level integer,
  expires_at timestamptz,
  -- Whether it counted when it arrived.
  applied boolean not null,
  -- The player's status after it arrived.
  kyc_status text not null,
  decided_by text,
  adapter_slug text,
  reason text,
  -- What the operator asks the player for.
  requirements text[],
  -- The event for the log; null: it is there already, or there is none.
  event text,
  -- Whether the event waits to be appended to the log.
  is_unpublished boolean not null default false,
  primary key (decision_id, tenant_id, project_id)
);
create index kyc_decisions_of_player on kyc_decisions (player_id, tenant_id, project_id, occurred_at desc, decision_id desc);
create index kyc_decisions_approved on kyc_decisions (player_id, tenant_id, project_id, occurred_at desc)
  where kind = 'approved' and level is not null;
create index kyc_decisions_unpublished on kyc_decisions (received_at, decision_id) where is_unpublished;
call protect_tenant_table('kyc_decisions');

-- What events have said so far, as the first decision of each player.
insert into kyc_decisions (tenant_id, project_id, player_id, decision_id, kind, source, occurred_at, received_at, level,
  applied, kyc_status)
select tenant_id, project_id, player_id, gen_random_uuid(),
  case kyc_status when 'none' then 'level_upgraded' when 'pending' then 'submitted' else kyc_status end, 'event',
  coalesce(kyc_status_at, kyc_level_at), coalesce(kyc_status_at, kyc_level_at), kyc_level, true, kyc_status
from players where kyc_status_at is not null or kyc_level_at is not null;

-- Calls of platforms that have not been answered yet; one that was answered is deleted.
create table kyc_calls (
  tenant_id uuid not null,
  project_id uuid not null,
  player_id uuid not null,
  -- The Idempotency-Key of every attempt.
  call_id uuid not null,
  action text not null check (action in ('initiate', 'update')),
  -- The bytes that are sent.
  body text not null,
  -- Begun ones.
  attempts integer not null default 0,
  -- When to try again; while an attempt runs, when its claim is over. Null: given up.
  next_attempt_at timestamptz,
  last_error text,
  created_at timestamptz not null,
  primary key (call_id, tenant_id, project_id)
);
create index kyc_calls_due on kyc_calls (next_attempt_at) where next_attempt_at is not null;
create index kyc_calls_of_player on kyc_calls (player_id, tenant_id, project_id);
create index kyc_calls_old on kyc_calls (created_at) where next_attempt_at is null;
call protect_tenant_table('kyc_calls');
