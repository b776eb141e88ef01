-- Sessions of the console, and who changed what.

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

-- What may be used once in signing in to the console and out: the state of a sign-in, the id of a logout token. Only hashes
-- are stored, until what they name has expired. Shared by all API processes; only the service role uses it.
create table console_used_once (
  id_hash bytea primary key check (length(id_hash) = 32),
  expires_at timestamptz not null
);
create index console_used_once_by_expiry on console_used_once (expires_at);

grant select, insert, update, delete on console_used_once to engagement_service;

-- The audit log: a row for every change by a session or by the internal secret, written in the same transaction. It shows
-- no values of headers of webhooks, whatever their names.
create table audit_log (
  tenant_id uuid not null references tenants,
  audit_id uuid not null,
  occurred_at timestamptz not null,
  -- The user and the role of the session; both are null for the internal secret.
  user_id text,
  role text,
  -- Null: the resource belongs to the tenant, not to a project.
  project_id uuid,
  action text not null,
  resource_type text not null,
  resource_id text not null,
  -- The fields that differ, or the whole resource when it exists only before or only after the change; then the other
  -- column is null.
  before jsonb,
  after jsonb,
  request_id text not null,
  check ((user_id is null) = (role is null)),
  primary key (tenant_id, audit_id)
);
-- Every row satisfies it. `not valid` means that no row was checked when it was added: there was none.
alter table audit_log add constraint audit_log_role_check
  check (role in ('owner', 'admin', 'editor', 'viewer', 'compliance')) not valid;
create index audit_log_by_time on audit_log (tenant_id, occurred_at desc, audit_id desc);
create index audit_log_by_resource on audit_log (tenant_id, resource_id, occurred_at desc, audit_id desc);
create index audit_log_by_user on audit_log (tenant_id, user_id, occurred_at desc, audit_id desc);
-- An erased address is looked for in the few rows that have one.
create index audit_log_suppressions on audit_log (tenant_id, audit_id) where resource_type = 'suppression';
call protect_tenant_table('audit_log');

-- The audit log is append-only, but for one change: an erasure replaces what a row says about a person by its own id. Who did
-- what to which record, and when, stays. The API role cannot change rows at all.
revoke update, delete on audit_log from engagement_api, engagement_service;
grant update (before, after) on audit_log to engagement_service;

create function is_erased_side(anew jsonb, old jsonb) returns boolean language sql immutable parallel safe
return old is not null and coalesce(anew = jsonb_build_object('erased', anew ->> 'erased')
  and anew ->> 'erased' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', false);

create function refuse_audit_change() returns trigger language plpgsql as $$
begin
  if new.before is distinct from old.before and not is_erased_side(new.before, old.before)
    or new.after is distinct from old.after and not is_erased_side(new.after, old.after)
  then
    raise exception 'rows of the audit log are never changed, except by an erasure';
  end if;
  return new;
end $$;
create trigger audit_log_is_append_only before update on audit_log
  for each row execute function refuse_audit_change();
