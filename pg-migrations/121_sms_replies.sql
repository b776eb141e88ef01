-- The replies by which players stopped messages or wanted them again, each applied once: Twilio's signature has no time,
-- so an old START could be replayed after a later STOP. Rows are kept for good, and hold no number and no text.
create table sms_replies (
  tenant_id uuid not null,
  provider_id uuid not null,
  -- The provider's id of the reply.
  message_id text not null,
  wants_messages boolean not null,
  received_at timestamptz not null,
  primary key (tenant_id, provider_id, message_id)
);
call protect_tenant_table('sms_replies');
