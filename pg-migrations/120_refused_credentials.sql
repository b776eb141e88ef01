-- The refusal of the provider's credentials, `{code, message, at}`: what the provider said first, and when. Null: it
-- accepts them, or was not asked since they changed.
alter table messaging_providers add column credentials_refused jsonb;
