-- Whether a webhook or a grant is due is asked several times a second, without its lane. KYC calls have such an index.
create index webhook_deliveries_next on webhook_deliveries (next_at) where status = 'pending';
create index bonus_grants_next on bonus_grants (next_attempt_at)
  where next_attempt_at is not null and (retry_early_at is null or outcome <> 'unsent');
