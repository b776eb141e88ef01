-- Two kinds of API keys: one for servers, and one that may be public in a page or an app.
alter table api_keys
  -- Keys of before are what every key was: for servers.
  add column kind text not null default 'server',
  -- Where a browser may call from with a client key: scheme, host and port, as its Origin header has them.
  add column allowed_origins text[] not null default '{}',
  -- Null: the key has no end.
  add column expires_at timestamptz,
  -- Of a client key only, encrypted: with it the tenant's servers sign who their users are (user_hash).
  add column client_secret bytea,
  -- When each kind of client used the key last, in milliseconds, by its name. The kinds are few, and fixed by the service.
  add column client_uses jsonb not null default '{}';
alter table api_keys
  add constraint api_keys_kind_check check (kind in ('server', 'client')) not valid,
  add constraint api_keys_client_secret_check check ((client_secret is not null) = (kind = 'client')) not valid,
  add constraint api_keys_allowed_origins_check
    check (kind = 'client' or allowed_origins = '{}'::text[]) not valid,
  add constraint api_keys_client_uses_check check (jsonb_typeof(client_uses) = 'object') not valid;
alter table api_keys validate constraint api_keys_kind_check;
alter table api_keys validate constraint api_keys_client_secret_check;
alter table api_keys validate constraint api_keys_allowed_origins_check;
alter table api_keys validate constraint api_keys_client_uses_check;
