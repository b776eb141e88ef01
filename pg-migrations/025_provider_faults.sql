-- What a provider said of a message that it did not take, and messages that wait for a provider that is unavailable.

alter table message_sends
  -- The provider's own code and text of the last failure.
  add column provider_code text,
  add column provider_message text,
  -- Until when the message waits for a provider that is unavailable; null: 24 hours after enqueued_at.
  add column give_up_at timestamptz;
-- For POST /v1/campaigns/:id/retry-failed.
create index message_sends_unavailable on message_sends (tenant_id, project_id, campaign_id, send_id)
  where status = 'failed' and error_code = 'PROVIDER_UNAVAILABLE';

-- While it is set, messages that failed with PROVIDER_UNAVAILABLE are queued again; they then wait until this moment.
alter table campaigns add column retry_failed_until timestamptz;
create index campaigns_retrying on campaigns (tenant_id, project_id) where retry_failed_until is not null;

-- What the provider said when it refused the address for good; null: a callback or a link suppressed it.
alter table suppressions add column detail text;
