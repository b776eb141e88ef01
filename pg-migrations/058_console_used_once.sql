-- What may be used once in signing in to the console and out: the state of a sign-in, the id of a logout token. Only hashes
-- are stored, until what they name has expired. Shared by all API processes; only the service role uses it.
create table console_used_once (
  id_hash bytea primary key check (length(id_hash) = 32),
  expires_at timestamptz not null
);
create index console_used_once_by_expiry on console_used_once (expires_at);

grant select, insert, update, delete on console_used_once to engagement_service;
