-- Sessions of the console: the browser has a random id in a cookie, of which only the hash is stored. They are of a user,
-- not of a tenant: which tenants the user may use is asked at each request. Only the service role reads them.
create table console_sessions (
  id_hash bytea primary key check (length(id_hash) = 32),
  user_id text not null,
  -- How the user is shown; from the identity provider.
  display_name text,
  -- The session at the identity provider, which it names when it ends the session, and the token that asks it to.
  provider_sid text,
  id_token text,
  created_at timestamptz not null,
  last_seen_at timestamptz not null,
  expires_at timestamptz not null
);
create index console_sessions_by_user on console_sessions (user_id);
create index console_sessions_by_expiry on console_sessions (expires_at);
create index console_sessions_by_sid on console_sessions (provider_sid) where provider_sid is not null;

grant select, insert, update, delete on console_sessions to engagement_service;
