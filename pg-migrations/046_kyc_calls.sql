-- Decisions about KYC are read without the submissions between them, of which only the last one matters.
create index kyc_decisions_decided on kyc_decisions (player_id, tenant_id, project_id, occurred_at desc)
  where kind <> 'submitted';
create index kyc_decisions_submitted on kyc_decisions (player_id, tenant_id, project_id, occurred_at desc)
  where kind = 'submitted';

alter table kyc_calls
  -- While an attempt runs: when its claim is over.
  add column claimed_until timestamptz,
  -- A newer call has replaced it while an attempt ran: it is not repeated, and the newer one waits for the attempt's end.
  add column is_superseded boolean not null default false;
create index kyc_calls_of_project on kyc_calls (tenant_id, project_id, next_attempt_at)
  where next_attempt_at is not null;
create index kyc_calls_by_age on kyc_calls (created_at);

-- What was decided is told until the platform takes it. An update that is not true any more is removed, not sent.
update kyc_calls set next_attempt_at = now() where action = 'update' and next_attempt_at is null;
