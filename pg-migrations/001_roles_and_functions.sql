-- The roles, what protects the data of a tenant, and functions that several rooms use. README.md says how to add a migration.

-- Two group roles. Row-level security restricts the API role to one tenant. The service role (processors, sign-in,
-- provisioning) can access every tenant.
do $$
begin
  if not exists (select from pg_roles where rolname = 'engagement_api') then
    create role engagement_api nologin;
  end if;
  if not exists (select from pg_roles where rolname = 'engagement_service') then
    create role engagement_service nologin;
  end if;
  execute format('grant engagement_api, engagement_service to %I', current_user);
end $$;

grant usage on schema public to engagement_api, engagement_service;

-- The tenant of the running transaction; null (which matches no row) when none is set.
create function current_tenant_id() returns uuid
  language sql stable parallel safe
  return nullif(current_setting('app.tenant_id', true), '')::uuid;

-- Protects a table of tenants' data with row-level security; called once per table, so that all have the same policies.
-- The tenant of a transaction is read once per statement, not once per row. A subquery that depends on no row is executed
-- when its value is first needed, so a statement may set the tenant before it reads the first row.
create procedure protect_tenant_table(target regclass)
  language plpgsql as $$
begin
  execute format('alter table %s enable row level security', target);
  execute format('alter table %s force row level security', target);
  execute format('create policy own_tenant on %s to engagement_api using (tenant_id = (select current_tenant_id()))', target);
  execute format('create policy every_tenant on %s to engagement_service using (true)', target);
  execute format('grant select, insert, update, delete on %s to engagement_api, engagement_service', target);
end $$;

-- Milliseconds since the epoch, the unit of times on the log and in ClickHouse.
create function epoch_ms(moment timestamptz) returns bigint
  language sql immutable parallel safe
  return floor(extract(epoch from moment) * 1000)::bigint;

-- Ids of rows that are inserted in bulk: in order of time where the server supports it, so that rows inserted together
-- are stored close together.
do $$
begin
  if current_setting('server_version_num')::integer >= 180000 then
    create function new_id() returns uuid language sql volatile parallel safe return uuidv7();
  else
    create function new_id() returns uuid language sql volatile parallel safe return gen_random_uuid();
  end if;
end $$;
