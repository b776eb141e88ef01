-- Since when a row waits for its consumer; rows from before this migration count from now on.
alter table fx_rate_changes add column queued_at timestamptz not null default now();
alter table event_corrections add column queued_at timestamptz not null default now();

-- Amounts without a rate, oldest first: ids of ingestion follow time.
create index ledger_pending on ledger (ingestion_id)
  where (amount is not null and base_amount is null) or (payout is not null and base_payout is null);
