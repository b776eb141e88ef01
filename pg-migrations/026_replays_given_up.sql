-- When a job of the caller's tenant has used up its attempts; null for one that waits or runs, and where there is none. What
-- such a job was to end is over: nobody waits for it.
create function job_given_up_at(job_key text) returns timestamptz
  language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  return (
    select j.updated_at from graphile_worker._private_jobs j
    where j.key = job_given_up_at.job_key and j.attempts >= j.max_attempts and j.locked_at is null
      and j.payload ->> 'tenant_id' = public.current_tenant_id()::text);
end $$;
revoke all on function job_given_up_at from public;
grant execute on function job_given_up_at to engagement_api, engagement_service;
