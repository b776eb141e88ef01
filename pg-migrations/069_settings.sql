-- Suppressions that people enter, and their list. An id names a suppression in paths, where an address must not be.
alter table suppressions add column suppression_id uuid not null default gen_random_uuid();
alter table suppressions drop constraint suppressions_reason_check,
  add constraint suppressions_reason_check check (reason in ('bounce', 'complaint', 'unsubscribe', 'manual'));
create unique index suppressions_by_id on suppressions (suppression_id);
create index suppressions_by_age on suppressions (tenant_id, created_at desc, suppression_id desc)
  where created_at > '-infinity';

-- When the stores of a tenant were compared last, and in how many places they differed.
create table reconciliations (
  tenant_id uuid primary key references tenants,
  ended_at timestamptz not null,
  differences bigint not null
);
call protect_tenant_table('reconciliations');

-- The jobs of the caller's tenant that have used up their attempts. The tables of graphile-worker belong to the migrating
-- user, so the other roles read them only by this function.
create function jobs_given_up(most integer)
  returns table (task text, attempts integer, last_error text, created_at timestamptz, given_up_at timestamptz)
  language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  return query
    select t.identifier, j.attempts::integer, j.last_error, j.created_at, j.updated_at
    from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
    where j.attempts >= j.max_attempts and j.locked_at is null
      and j.payload ->> 'tenant_id' = public.current_tenant_id()::text
    order by j.updated_at desc limit jobs_given_up.most;
end $$;
revoke all on function jobs_given_up from public;
grant execute on function jobs_given_up to engagement_api;
